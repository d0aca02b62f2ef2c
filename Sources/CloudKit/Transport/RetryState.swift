/// Decides whether a request that failed is sent again: a value without a clock, randomness or I/O.
///
/// A change carries an operation ID over its attempts, so the server applies it once however often it arrives. That makes it safe to ask
/// again when an answer got lost; what it does not allow is to tell the app "it failed" when the server may have done it.
struct RetryState: Equatable, Sendable {
    /// How an attempt ended without an answer to work with.
    enum Ending: Equatable, Sendable {
        /// Nothing reached the server.
        case notSent
        /// The server may have got it.
        case answerLost
        /// The server says "later"; seconds, if it says when.
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
        /// The bytes of a file: sending or fetching them again does no harm, and is cheaper than giving up what stands on them.
        case transfer
    }

    /// Repetitions of a change whose answer got lost, for an app that does not want to wait. Ours: together about five seconds.
    static let promptRepetitions = 3
    /// The first pause; each later one is four times as long. Seconds.
    static let firstPromptPause = 0.25
    /// The first pause of an app that can wait; each later one is twice as long. Seconds.
    static let firstPatientPause = 1.0
    static let longestPause = 60.0
    /// A "later" beyond this is not waited for inside an operation. Seconds.
    static let longestBusyWait = 10.0

    let kind: Kind
    let patience: Patience
    /// An answer got lost before: the change may have been made; of a transfer: it was under way.
    private(set) var mayBeMade = false
    private var repetitions = 0

    init(kind: Kind, patience: Patience) {
        self.kind = kind
        self.patience = patience
    }

    /// - Parameters:
    ///   - elapsed: seconds since the first attempt began.
    ///   - spread: 0 up to 1, random, so that many clients do not come back at once.
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
        let isOutOfTime = patience.resourceTimeout.map { elapsed + pause >= $0 } ?? false
        if isOutOfTime || limit.map({ repetitions >= $0 }) ?? false {
            return mayBeMade && kind == .change ? .failAsLost(retryAfter: least > 0 ? least : nil) : .fail
        }
        repetitions += 1
        return .retry(after: pause)
    }

    private func pause(_ spread: Double) -> Double {
        let (first, factor) = patience.retriesNetworkErrors ? (Self.firstPatientPause, 2.0) : (Self.firstPromptPause, 4.0)
        var pause = first
        for _ in 0..<repetitions where pause < Self.longestPause { pause *= factor }
        return min(pause, Self.longestPause) * (0.75 + 0.25 * spread)
    }
}

/// How long an operation waits, and whether it rides out a bad network.
struct Patience: Equatable, Sendable {
    /// Seconds without data after which one attempt is given up.
    var requestTimeout: Double
    /// Seconds for the whole, repetitions included; nil: no limit.
    var resourceTimeout: Double?
    var retriesNetworkErrors: Bool
    /// Whether its requests stand back while others are under way.
    var isDiscretionary = false
}
