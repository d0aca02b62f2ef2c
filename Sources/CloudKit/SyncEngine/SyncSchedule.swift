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

    /// The end of a fetch or a send.
    enum Ending: Equatable, Sendable {
        /// Something was done, or there was nothing to do.
        case success
        /// A send in which every change failed for good, and after which something is pending: the app has added it
        /// again.
        case fruitless
        /// A failure that may pass: of the network, or of a server that may ask for seconds to wait.
        case retry(after: Double?, isNetwork: Bool)
        /// The app cancelled it: the rest is done later.
        case cancelled

        init(_ error: CKError?, isFruitless: Bool) {
            let passing = error?.each.filter(\.mayPass) ?? []
            if error?.each.contains(where: { $0.code == .operationCancelled }) ?? false {
                self = .cancelled
            } else if !passing.isEmpty {
                self = .retry(after: passing.compactMap(\.retryAfterSeconds).max(), isNetwork: passing.allSatisfy(\.isOfNetwork))
            } else {
                self = error != nil && isFruitless ? .fruitless : .success
            }
        }
    }

    private struct Work: Equatable, Sendable {
        var isWanted = false
        /// The end of the pause that the server asked for.
        var askedUntil = 0.0
        /// The end of the engine's own pause.
        var pausedUntil = 0.0
        var failures = 0
        /// The sends in a row in which every change failed for good.
        var fruitless = 0
        /// Whether the engine's own pause follows a failure of the network.
        var waitsForNetwork = false

        var notBefore: Double { max(askedUntil, pausedUntil) }

        mutating func end(_ ending: Ending, byHand: Bool, now: Double, spread: Double) {
            switch ending {
            case .success: self = Work(isWanted: isWanted)
            case .cancelled where byHand: break
            case .cancelled:
                isWanted = true
                pausedUntil = max(pausedUntil, now + Self.pause(0, spread))
            case .fruitless where byHand: break
            // Changes that were added again are sent at once the first time: most conflicts are solved by that.
            case .fruitless:
                pausedUntil = fruitless == 0 ? 0 : now + Self.pause(fruitless - 1, spread)
                waitsForNetwork = false
                fruitless += 1
            case .retry(let after, let isNetwork):
                fruitless = 0
                isWanted = true
                if let after { askedUntil = now + after }
                if byHand && failures > 0 { break }
                // A failure of another kind begins with the first pause: the server was reached since, or no longer is.
                if isNetwork != waitsForNetwork { failures = 0 }
                pausedUntil = now + Self.pause(failures, spread)
                waitsForNetwork = isNetwork
                failures += 1
            }
        }

        /// - Parameter doublings: the pause is twice the first one so many times.
        private static func pause(_ doublings: Int, _ spread: Double) -> Double {
            var pause = firstPause
            for _ in 0..<doublings where pause < longestPause { pause *= 2 }
            return min(pause, longestPause) * (0.75 + 0.25 * spread)
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

    /// Notes that work has ended. An end that is no failure of the network, and no cancellation, shows that the server
    /// can be reached.
    ///
    /// - Parameters:
    ///   - byHand: whether the app asked for it. Such a failure does not make the engine's pauses longer.
    ///   - spread: a random number from 0 up to 1, which keeps many clients from returning at once.
    mutating func end(_ done: Due, _ ending: Ending, byHand: Bool = false, now: Double, spread: Double) {
        if done.fetch { fetching.end(ending, byHand: byHand, now: now, spread: spread) }
        if done.send { sending.end(ending, byHand: byHand, now: now, spread: spread) }
        switch ending {
        case .retry(_, isNetwork: true), .cancelled: break
        case .success, .fruitless, .retry: retryNetwork()
        }
    }

    /// Ends pauses after failures of the network, because the server can be reached, or may be by now.
    mutating func retryNetwork() {
        if fetching.waitsForNetwork { fetching.pausedUntil = 0 }
        if sending.waitsForNetwork { sending.pausedUntil = 0 }
    }

    /// Ends all pauses, because conditions have changed and failed work may succeed now.
    mutating func retryNow() {
        (fetching.askedUntil, fetching.pausedUntil) = (0, 0)
        (sending.askedUntil, sending.pausedUntil) = (0, 0)
    }
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

    /// Whether it is unknown if the server can be reached.
    var isOfNetwork: Bool { code == .networkFailure || code == .networkUnavailable || code == .serverResponseLost }

    /// Returns whether a change that failed with this error is still pending.
    ///
    /// - Parameter endedAll: whether the error is that of the whole request, not of this change.
    func leavesPending(endedAll: Bool) -> Bool {
        mayPass || code == .operationCancelled || (endedAll && code.endsOperation)
    }

    /// The errors of the items if this is a partial failure; otherwise this error alone.
    var each: [CKError] { partialErrorsByItemID.map { $0.values.compactMap { $0 as? CKError } } ?? [self] }
}
