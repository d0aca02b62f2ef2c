/// Decides when an engine fetches and sends by itself. A value without a clock or randomness; seconds are those of the
/// clock that is passed in.
struct SyncSchedule: Equatable, Sendable {
    /// The work to do.
    struct Due: Equatable, Sendable {
        var fetch = false
        var send = false
    }

    enum Decision: Equatable, Sendable {
        case run(Due)
        case wait(Double)
        case idle
    }

    /// Seconds of the first pause after a failure that may pass, and of the longest. Each pause is twice the one
    /// before. Own choice.
    static let firstPause = 1.0
    static let longestPause = 300.0

    private struct Work: Equatable, Sendable {
        var isWanted = false
        var notBefore = 0.0
        var failures = 0

        mutating func end(mayPass: Bool, retryAfter: Double?, now: Double, spread: Double) {
            guard mayPass else {
                (notBefore, failures) = (0, 0)
                return
            }
            var pause = firstPause
            for _ in 0..<failures where pause < longestPause { pause *= 2 }
            failures += 1
            isWanted = true
            notBefore = now + max(retryAfter ?? 0, min(pause, longestPause) * (0.75 + 0.25 * spread))
        }
    }

    private var fetching = Work()
    private var sending = Work()

    mutating func want(_ due: Due) {
        fetching.isWanted = fetching.isWanted || due.fetch
        sending.isWanted = sending.isWanted || due.send
    }

    func decide(now: Double) -> Decision {
        let wanted = [fetching, sending].filter(\.isWanted)
        guard let first = wanted.map(\.notBefore).min() else { return .idle }
        if now < first { return .wait(first - now) }
        return .run(Due(fetch: fetching.isWanted && fetching.notBefore <= now, send: sending.isWanted && sending.notBefore <= now))
    }

    mutating func begin(_ due: Due) {
        if due.fetch { fetching.isWanted = false }
        if due.send { sending.isWanted = false }
    }

    /// Notes that work has ended.
    ///
    /// - Parameters:
    ///   - mayPass: whether it failed and is to be retried.
    ///   - retryAfter: seconds that the server asks for.
    ///   - spread: a random number from 0 up to 1, which keeps many clients from returning at once.
    mutating func end(_ done: Due, mayPass: Bool, retryAfter: Double? = nil, now: Double, spread: Double) {
        if done.fetch { fetching.end(mayPass: mayPass, retryAfter: retryAfter, now: now, spread: spread) }
        if done.send { sending.end(mayPass: mayPass, retryAfter: retryAfter, now: now, spread: spread) }
    }

    /// Ends all pauses, because conditions have changed and failed work may succeed now.
    mutating func retryNow() { (fetching.notBefore, sending.notBefore) = (0, 0) }
}

extension CKError {
    /// Whether a retry may succeed. CloudKit: the errors that `CKSyncEngine` retries by itself. On this server also a
    /// lost answer, since a repeated change is done once or is a conflict, and a refusal by the account's
    /// administrator.
    var mayPass: Bool {
        switch code {
        case .notAuthenticated, .accountTemporarilyUnavailable, .networkFailure, .networkUnavailable, .requestRateLimited, .serviceUnavailable,
            .zoneBusy,
            .serverResponseLost, .managedAccountRestricted:
            true
        default: false
        }
    }

    /// Returns whether a change that failed with this error is still pending.
    ///
    /// - Parameter endedAll: whether the error is that of the whole request, not of this change.
    func leavesPending(endedAll: Bool) -> Bool {
        mayPass || code == .operationCancelled || (endedAll && code.endsOperation)
    }

    /// The errors of the items if this is a partial failure; otherwise this error alone.
    var each: [CKError] { partialErrorsByItemID.map { $0.values.compactMap { $0 as? CKError } } ?? [self] }
}
