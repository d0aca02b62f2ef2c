/// When an engine fetches and sends by itself: a value without a clock or randomness. Seconds are those of the clock that is passed in.
struct SyncSchedule: Equatable, Sendable {
    /// What is to be done.
    struct Due: Equatable, Sendable {
        var fetch = false
        var send = false
    }

    enum Decision: Equatable, Sendable {
        case run(Due)
        case wait(Double)
        case idle
    }

    /// The first pause after a failure that may pass, and the longest; each is twice the one before. Ours.
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

    /// - Parameters:
    /// - mayPass: it failed, and is tried again.
    /// - retryAfter: seconds that the server asks for.
    /// - spread: 0 up to 1, random, so that many clients do not come back at once.
    mutating func end(_ done: Due, mayPass: Bool, retryAfter: Double? = nil, now: Double, spread: Double) {
        if done.fetch { fetching.end(mayPass: mayPass, retryAfter: retryAfter, now: now, spread: spread) }
        if done.send { sending.end(mayPass: mayPass, retryAfter: retryAfter, now: now, spread: spread) }
    }

    /// Something is different: what failed may work now.
    mutating func retryNow() { (fetching.notBefore, sending.notBefore) = (0, 0) }
}

extension CKError {
    /// CloudKit: what `CKSyncEngine` tries again by itself. On this server also where the answer got lost, since a repeated change is done once or
    /// is a conflict, and where the account's administrator does not allow it now.
    var mayPass: Bool {
        switch code {
        case .notAuthenticated, .accountTemporarilyUnavailable, .networkFailure, .networkUnavailable, .requestRateLimited, .serviceUnavailable,
            .zoneBusy,
            .serverResponseLost, .managedAccountRestricted:
            true
        default: false
        }
    }

    /// Whether a change that failed with it is still pending.
    ///
    /// - Parameter endedAll: it is the error of the whole request, and not of this change.
    func leavesPending(endedAll: Bool) -> Bool {
        mayPass || code == .operationCancelled || (endedAll && code.endsOperation)
    }

    /// The errors of the items where it stands for several, or else this one.
    var each: [CKError] { partialErrorsByItemID.map { $0.values.compactMap { $0 as? CKError } } ?? [self] }
}
