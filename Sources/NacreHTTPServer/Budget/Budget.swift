import NacreLocks

/// The owner of bytes or slots, as far as that is known.
package struct Holder: Hashable, Sendable {
    /// How much is known of the caller. Each kind has a part of the budget that no other kind can fill.
    package enum Kind: String, Sendable, CaseIterable {
        /// No credential was looked at yet, or there is none.
        case stranger
        /// A credential that everybody may have, because it lies in an app or a page.
        case guest
        case user
    }

    package var kind: Kind
    package var name: String

    package init(_ kind: Kind, _ name: String) {
        self.kind = kind
        self.name = name
    }
}

/// Bounded units of bytes or slots, with a part for each kind of holder. Thread-safe; one or two dictionary accesses a
/// change. In its part a holder gets at most as much as would still be left for all others. One holder alone has half
/// at most, and there is always room for the next one. See `docs/decisions/requests-turns.md`.
package final class Budget: Sendable {
    /// The most that the holders of one kind may have together.
    package struct Parts: Sendable, Hashable {
        package var stranger: Int
        package var guest: Int
        package var user: Int

        package init(stranger: Int, guest: Int, user: Int) {
            self.stranger = stranger
            self.guest = guest
            self.user = user
        }

        package var sum: Int { stranger + guest + user }

        func of(_ kind: Holder.Kind) -> Int {
            switch kind {
            case .stranger: stranger
            case .guest: guest
            case .user: user
            }
        }
    }

    private struct State {
        var taken: [Holder.Kind: Int] = [:]
        var held: [Holder: Int] = [:]

        mutating func add(_ units: Int, _ holder: Holder) {
            taken[holder.kind, default: 0] += units
            let now = held[holder, default: 0] + units
            held[holder] = now > 0 ? now : nil
        }
    }

    let parts: Parts
    private let state = Locked(State())

    package init(_ parts: Parts) {
        self.parts = parts
    }

    /// Takes units for a holder, or returns false and takes none.
    /// - Parameter own: The units that an answer has already. If nothing else is taken of the part, the answer may take
    ///   any number. nil: the part's bound always holds.
    package func take(_ units: Int, for holder: Holder, besides own: Int? = nil) -> Bool {
        state.withLock { state in
            let taken = state.taken[holder.kind, default: 0]
            guard own == taken || Self.mayTake(units, held: state.held[holder, default: 0], free: parts.of(holder.kind) - taken)
            else { return false }
            state.add(units, holder)
            return true
        }
    }

    /// Counts units that are in use already, whatever is left.
    func count(_ units: Int, for holder: Holder) {
        state.withLock { $0.add(units, holder) }
    }

    /// Gives back units that were taken or counted.
    func give(_ units: Int, for holder: Holder) {
        state.withLock { $0.add(-units, holder) }
    }

    /// Returns the units that a holder has, and the units left in its part.
    func room(of holder: Holder) -> (held: Int, free: Int) {
        state.withLock { ($0.held[holder, default: 0], parts.of(holder.kind) - $0.taken[holder.kind, default: 0]) }
    }

    /// Whether more than half of a part is taken, which shortens the server's patience.
    func isShort(_ kind: Holder.Kind) -> Bool {
        state.withLock { $0.taken[kind, default: 0] * 2 > parts.of(kind) }
    }

    /// The units that all holders have.
    package var taken: Int { state.withLock { $0.taken.values.reduce(0, +) } }

    /// The rule of a share: no holder gets more than is left for all others.
    static func mayTake(_ units: Int, held: Int, free: Int) -> Bool {
        units <= free && held + units <= free
    }
}

/// The budgets of one server: `bodies` from their first byte to the end of their handler, `answers` until they are
/// sent, and `slots` for requests whose handlers work.
package struct Budgets: Sendable {
    package let bodies: Budget
    package let answers: Budget
    package let slots: Budget

    package init(
        bodies: Budget.Parts = ServerLimits.bodyBudget, answers: Budget.Parts = ServerLimits.answerBudget,
        slots: Budget.Parts = ServerLimits.placeBudget
    ) {
        self.bodies = Budget(bodies)
        self.answers = Budget(answers)
        self.slots = Budget(slots)
    }
}
