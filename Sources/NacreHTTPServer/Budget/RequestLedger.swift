import NacreLocks
import NacreTelemetry

/// The bytes of memory that one request takes, and its slot among the requests whose handlers work. All go back when
/// the request ends, however it ends. Thread-safe. Bodies and answers up to `ServerLimits.uncountedBytesMax` are not
/// counted: they are smaller than their connection.
package final class RequestLedger: Sendable {
    private enum Slot {
        /// The request has no slot: it was refused one, has not come to it, or is over.
        case none
        case held
        /// Given back while the request only waits.
        case lent
    }

    /// A wait during which the server does no work for the request.
    package enum Wait: Hashable, Sendable {
        /// The request waits for another client's change. The wait ends with the server.
        case change
        /// The request waits for its client: for the rest of the body, or for the reading of the answer. The request
        /// itself is under way.
        case client
    }

    private struct State {
        var holder: Holder
        var slot = Slot.none
        var body = 0
        var answer = 0
        var isBodyOver = false
        var isAnswerOver = false
        var isOverdue = false
    }

    private let budgets: Budgets?
    private let overload: OverloadLog
    private let state: Locked<State>
    /// Called on any thread when the request begins to wait, and with nil when it goes on.
    private let onWait: @Sendable (Wait?) -> Void

    init(_ budgets: Budgets?, _ holder: Holder, _ overload: OverloadLog = .silent, onWait: @escaping @Sendable (Wait?) -> Void = { _ in }) {
        self.budgets = budgets
        self.overload = overload
        self.onWait = onWait
        state = Locked(State(holder: holder))
    }

    /// Takes a slot for the handler, or returns false.
    func hasTakenSlot() -> Bool {
        guard let budgets else { return true }
        let isTaken = state.withLock { state in
            guard budgets.slots.take(1, for: state.holder) else { return false }
            state.slot = .held
            return true
        }
        if !isTaken { overload.report(.requests) }
        return isTaken
    }

    /// Moves the request's bytes and slot to the share of its holder, once the holder is known.
    /// - Throws: 503 with `Retry-After` if the holder has too much there already, or does not read its answers.
    package func belong(to holder: Holder) throws {
        guard let budgets else { return state.withLock { $0.holder = holder } }
        let lacking = state.withLock { state -> Overload? in
            guard state.holder != holder else { return nil }
            let places = state.slot == .held ? 1 : 0
            guard places == 0 || budgets.slots.take(places, for: holder) else { return .requests }
            guard state.body == 0 || budgets.bodies.take(state.body, for: holder) else {
                if places > 0 { budgets.slots.give(places, for: holder) }
                return .bodies
            }
            if places > 0 { budgets.slots.give(places, for: state.holder) }
            if state.body > 0 { budgets.bodies.give(state.body, for: state.holder) }
            state.holder = holder
            return nil
        }
        if let lacking { throw refused(lacking) }
        let (held, free) = budgets.answers.room(of: holder)
        if held > 0, held >= free { throw refused(.answers) }
    }

    /// How much is known of the caller.
    var kind: Holder.Kind { state.withLock { $0.holder.kind } }

    /// The name of the signed-in caller's share of memory, and therefore of the user; nil for other callers.
    package var userName: String? {
        state.withLock { $0.holder.kind == .user ? $0.holder.name : nil }
    }

    /// Marks the handler as overdue: it took too long and is cancelled. Returns false if it was marked before.
    func becomeOverdue() -> Bool {
        state.withLock { state in
            defer { state.isOverdue = true }
            return !state.isOverdue
        }
    }

    var isOverdue: Bool { state.withLock { $0.isOverdue } }

    /// Takes bytes for the body before they are read.
    /// - Throws: 503 with `Retry-After` if the budget has no room.
    func takeBody(_ bytes: Int) throws {
        guard hasTakenBody(bytes) else { throw refused(.bodies) }
    }

    /// Takes bytes for the body, or returns false.
    func hasTakenBody(_ bytes: Int) -> Bool {
        guard let budgets, bytes > ServerLimits.uncountedBytesMax else { return true }
        return state.withLock { state in
            guard !state.isBodyOver, budgets.bodies.take(bytes, for: state.holder) else { return state.isBodyOver }
            state.body += bytes
            return true
        }
    }

    /// Checks that there is room for an answer. Call it before a large answer is made.
    /// - Throws: 503 with `Retry-After` if unread answers fill the holder's share.
    package func requireAnswerRoom() throws {
        guard let budgets else { return }
        let (held, free) = budgets.answers.room(of: state.withLock { $0.holder })
        if held >= free { throw refused(.answers) }
    }

    /// Takes room for an answer that is about to be made, as much as it can need. `countAnswer` gives back the rest. An
    /// answer that is larger than the whole budget can be made if it is alone.
    /// - Throws: 503 with `Retry-After` if unread or unfinished answers leave the holder too little room.
    package func takeAnswer(_ bytes: Int) throws {
        guard let budgets, bytes > ServerLimits.uncountedBytesMax else { return }
        let isTaken = state.withLock { state in
            guard !state.isAnswerOver, bytes > state.answer else { return true }
            guard budgets.answers.take(bytes - state.answer, for: state.holder, besides: state.answer) else { return false }
            state.answer = bytes
            return true
        }
        guard isTaken else { throw refused(.answers) }
    }

    /// Sets the bytes of the answer in memory after it was made, compressed or sent in part. They exist already, so
    /// they are counted whatever is left.
    package func countAnswer(_ bytes: Int) {
        guard let budgets else { return }
        let bytes = bytes > ServerLimits.uncountedBytesMax ? bytes : 0
        state.withLock { state in
            guard !state.isAnswerOver, bytes != state.answer else { return }
            budgets.answers.count(bytes - state.answer, for: state.holder)
            state.answer = bytes
        }
    }

    /// Whether answers to this kind of holder are short of room.
    var isShort: Bool {
        guard let budgets else { return false }
        return budgets.answers.isShort(state.withLock { $0.holder.kind })
    }

    /// Runs a body that only waits. Meanwhile the request has no slot among those under way, whose number is bounded.
    /// Afterwards it has one again, whatever is left: no request is refused in the middle.
    package func whileWaiting<Value>(for wait: Wait = .change, _ body: () async throws -> Value) async rethrows -> Value {
        guard lendSlot() else { return try await body() }
        onWait(wait)
        defer {
            takeSlotBack()
            onWait(nil)
        }
        return try await body()
    }

    /// - Returns: true if this is the outermost wait; a wait inside another one changes nothing.
    private func lendSlot() -> Bool {
        state.withLock { state in
            guard state.slot != .lent else { return false }
            if state.slot == .held { budgets?.slots.give(1, for: state.holder) }
            state.slot = .lent
            return true
        }
    }

    private func takeSlotBack() {
        state.withLock { state in
            guard state.slot == .lent else { return }
            budgets?.slots.count(1, for: state.holder)
            state.slot = .held
        }
    }

    /// Gives back the body and the slot, because the handler is done.
    func endWork() {
        let (holder, bytes, hadSlot) = state.withLock { state in
            defer { (state.body, state.isBodyOver, state.slot) = (0, true, .none) }
            return (state.holder, state.body, state.slot == .held)
        }
        if bytes > 0 { budgets?.bodies.give(bytes, for: holder) }
        if hadSlot { budgets?.slots.give(1, for: holder) }
    }

    /// Gives back the answer's bytes: it is sent, or its client is gone.
    func endAnswer() {
        let (holder, bytes) = state.withLock { state in
            defer { (state.answer, state.isAnswerOver) = (0, true) }
            return (state.holder, state.answer)
        }
        if bytes > 0 { budgets?.answers.give(bytes, for: holder) }
    }

    private func refused(_ kind: Overload) -> HTTPError {
        overload.report(kind)
        return .busy
    }
}
