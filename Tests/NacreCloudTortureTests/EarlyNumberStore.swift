import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreLocks

/// A store with a classic mistake: change numbers come from one sequence, and are taken before the transaction and
/// not in it. A commit may become visible after one with a higher number, and a reader of that one never sees it.
///
/// To provoke this, a transaction is held back at times, with its number, until a later one is done and has been
/// read.
final class EarlyNumberStore: LayeredStore {
    /// Above every number with which the zones began.
    private static let firstNumber: Int64 = 1 << 20
    private static let heldBackOnceIn: Int64 = 8

    private struct State {
        var last = EarlyNumberStore.firstNumber
        var underway = 0
        var held: CheckedContinuation<Void, Never>?
        /// Whether a write has ended since.
        var isOvertaken = false
    }

    let below: any Store
    private let state = Locked(State())

    init(_ store: any Store) {
        below = store
    }

    func write<Value: Sendable>(_ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>) async throws -> Value {
        let number = state.withLock { state in
            state.last += 1
            state.underway += 1
            return state.last
        }
        if number % Self.heldBackOnceIn == 0 { await holdBack() }
        defer { end() }
        return try await below.write { try body(earlyNumberTransaction($0, number: number)) }
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
        let isOvertaken = state.withLock { $0.isOvertaken }
        defer { if isOvertaken { release() } }
        return try await below.read(body)
    }

    /// Holds a transaction back, only while others write, and only one at a time, so that another one can release it.
    private func holdBack() async {
        await withCheckedContinuation { continuation in
            let isHeld = state.withLock { state in
                guard state.held == nil, state.underway > 1 else { return false }
                state.held = continuation
                state.isOvertaken = false
                return true
            }
            if !isHeld { continuation.resume() }
        }
    }

    private func end() {
        let isAlone = state.withLock { state in
            state.underway -= 1
            if state.held != nil { state.isOvertaken = true }
            return state.underway == 1
        }
        if isAlone { release() }
    }

    private func release() {
        let held = state.withLock { state in
            defer {
                state.held = nil
                state.isOvertaken = false
            }
            return state.held
        }
        held?.resume()
    }
}

/// Replaces the zone's number by the one that was drawn.
private func earlyNumberTransaction(_ inner: any WriteTransaction, number: Int64) -> any WriteTransaction {
    var zone: ZoneRow?
    return bentTransaction(inner) { advance in
        guard var row = advance.zone else { return advance }
        var advance = advance
        advance.zone?.lastSeq = number
        // The zone's own counter becomes the highest number visible in it.
        row.lastSeq = max(row.lastSeq - 1, number)
        zone = row
        return advance
    } planned: { plan in
        var plan = plan
        if let zone, !plan.records.isEmpty { plan.zones.append(zone) }
        return plan
    }
}
