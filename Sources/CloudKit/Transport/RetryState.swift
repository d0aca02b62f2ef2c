/// Decides whether a failed request is sent again. A value without a clock, randomness or I/O.
///
/// A change carries an operation ID over its attempts, and the server applies it once, however often it arrives. A
/// retry after a lost answer is therefore safe. But the app must not be told "it failed" when the server may have done
/// it.
struct RetryState: Equatable, Sendable {
    /// The end of an attempt without a usable answer.
    enum Ending: Equatable, Sendable {
        /// Nothing reached the server.
        case notSent
        /// The server may have got the request.
        case answerLost
        /// The server asks to try later, after the seconds if it gives them.
        case busy(retryAfter: Double?)
        case cancelled
    }

    enum Decision: Equatable, Sendable {
        case retry(after: Double)
        /// Ends with the error of the last attempt.
        case fail
        /// Ends with `serverResponseLost`: the change may have been made.
        case failAsLost(retryAfter: Double?)
    }

    enum Kind: Equatable, Sendable {
        case read
        case change
        /// The bytes of a file. Repeating a transfer does no harm, and is cheaper than failing the records that need
        /// it.
        case transfer
    }

    /// Retries of a change whose answer got lost, for an app that does not want to wait. Own choice: together about
    /// five seconds.
    static let promptRepetitions = 3
    /// Seconds of the first pause; each later one is four times as long.
    static let firstPromptPause = 0.25
    /// Seconds of the first pause of an app that can wait; each later one is twice as long.
    static let firstPatientPause = 1.0
    static let longestPause = 60.0
    /// The least seconds that an attempt gets, even when its time has run out.
    static let shortestAttempt = 0.1
    /// The seconds that a cut pause leaves to the last attempt, if the request timeout is not shorter.
    static let lastAttempt = 1.0
    /// The most seconds that an operation waits because the server asks for it.
    static let longestBusyWait = 10.0

    let kind: Kind
    let patience: Patience
    /// Whether an answer got lost before. A change may then have been made; a transfer was under way.
    private(set) var mayBeMade = false
    private var repetitions = 0
    /// Whether the last pause was cut, so that the time is used up by now.
    private var isLast = false

    init(kind: Kind, patience: Patience) {
        self.kind = kind
        self.patience = patience
    }

    /// - Parameters:
    ///   - elapsed: seconds since the first attempt began.
    ///   - spread: a random number from 0 up to 1, which keeps many clients from returning at once.
    mutating func decide(after ending: Ending, elapsed: Double, spread: Double) -> Decision {
        switch ending {
        case .cancelled: return .fail
        case .answerLost where kind != .read:
            mayBeMade = true
            return again(within: patience.retriesNetworkErrors ? nil : Self.promptRepetitions, elapsed: elapsed, spread: spread)
        case .notSent where mayBeMade:
            return again(within: patience.retriesNetworkErrors ? nil : Self.promptRepetitions, elapsed: elapsed, spread: spread)
        case .notSent, .answerLost:
            return patience.retriesNetworkErrors ? again(within: nil, elapsed: elapsed, spread: spread) : .fail
        case .busy(let retryAfter) where mayBeMade || kind == .transfer:
            if let retryAfter, retryAfter > Self.longestBusyWait { return kind == .change ? .failAsLost(retryAfter: retryAfter) : .fail }
            return again(within: Self.promptRepetitions, atLeast: retryAfter ?? 0, elapsed: elapsed, spread: spread)
        case .busy: return .fail
        }
    }

    private mutating func again(within limit: Int?, atLeast least: Double = 0, elapsed: Double, spread: Double) -> Decision {
        let pause = max(least, pause(spread))
        let left = patience.resourceTimeout.map { max($0 - elapsed - min(Self.lastAttempt, patience.requestTimeout), 0) } ?? .infinity
        if isLast || left == 0 || left < least || limit.map({ repetitions >= $0 }) ?? false {
            return mayBeMade && kind == .change ? .failAsLost(retryAfter: least > 0 ? least : nil) : .fail
        }
        repetitions += 1
        isLast = left < pause
        return .retry(after: min(pause, left))
    }

    private func pause(_ spread: Double) -> Double {
        let (first, factor) = patience.retriesNetworkErrors ? (Self.firstPatientPause, 2.0) : (Self.firstPromptPause, 4.0)
        var pause = first
        for _ in 0..<repetitions where pause < Self.longestPause { pause *= factor }
        return min(pause, Self.longestPause) * (0.75 + 0.25 * spread)
    }
}

/// The timeouts of an operation, and whether it retries network errors.
struct Patience: Equatable, Sendable {
    /// Seconds without data after which an attempt fails.
    var requestTimeout: Double
    /// Seconds for the whole request, retries included; nil for no limit.
    var resourceTimeout: Double?
    var retriesNetworkErrors: Bool
    /// Whether requests wait while non-discretionary ones are under way.
    var isDiscretionary = false
}
