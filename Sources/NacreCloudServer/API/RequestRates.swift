import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer
import NacreLocks
import NacreTelemetry

/// Keeps everybody who asks within a rate of work: addresses, API tokens, users and containers have a bucket each. Thread-safe; one lock a question.
final class RequestRates: Sendable {
    /// Whose work is counted together.
    struct Payer: Hashable {
        enum Kind: Int, CaseIterable {
            case user
            /// Not of this machine itself: a proxy there is everybody.
            case address
            case apiToken
            case container

            /// A rate is so many times that of a user. On this server.
            var factor: Int {
                switch self {
                case .user: 1
                case .address: Limits.requestRateOfAddress
                case .apiToken: Limits.requestRateOfAPIToken
                case .container: Limits.requestRateOfContainer
                }
            }
        }

        var kind: Kind
        var container = ""
        var name: String
    }

    /// Buckets of one kind that are remembered; those that are full again go first, then all. On this server: 10 MB.
    private static let bucketsMax = 50_000

    /// Costs a second of one user; nil: nobody is kept to a rate.
    private let perSecond: Int?
    private let clock: ServerClock
    private let overload: OverloadLog
    private let buckets = Locked([[Payer: TokenBucket]](repeating: [:], count: Payer.Kind.allCases.count))

    init(perSecond: Int?, clock: ServerClock, overload: OverloadLog = .silent) {
        self.perSecond = perSecond
        self.clock = clock
        self.overload = overload
    }

    /// Nobody is kept to a rate.
    static let off = RequestRates(perSecond: nil, clock: .system)

    /// Whose work a request is before its sender is known.
    func payers(of request: HTTPRequest, address: String) -> [Payer] {
        guard perSecond != nil else { return [] }
        var payers: [Payer] = []
        if !address.isEmpty, !IPAddress.isLoopback(address) { payers.append(Payer(kind: .address, name: address)) }
        if let token = request.query("ckAPIToken"), !token.isEmpty { payers.append(Payer(kind: .apiToken, name: token)) }
        return payers
    }

    /// Whose work it is besides, once its sender is known.
    func payers(of caller: Caller, in target: DatabaseTarget) -> [Payer] {
        guard perSecond != nil else { return [] }
        let container = Payer(kind: .container, name: target.container)
        guard let user = caller.userRecordName else { return [container] }
        return [Payer(kind: .user, container: target.container, name: user), container]
    }

    /// - Throws: `THROTTLED` with the seconds to wait, where one of them has had more than its rate.
    func require(_ payers: [Payer]) throws(ServerError) {
        guard let perSecond, !payers.isEmpty else { return }
        let now = clock.now()
        let pause = buckets.withLock { buckets in
            payers.compactMap { payer in
                buckets[payer.kind.rawValue][payer]?.pause(Self.rate(payer.kind, perSecond), at: now)
            }.max()
        }
        guard let pause else { return }
        overload.tell(.rates)
        throw .tooManyRequests(seconds: pause)
    }

    /// Takes the cost of what was done from all of them.
    func take(_ cost: Int, from payers: [Payer]) {
        guard let perSecond, !payers.isEmpty else { return }
        let now = clock.now()
        buckets.withLock { buckets in
            for payer in payers {
                let rate = Self.rate(payer.kind, perSecond)
                let place = payer.kind.rawValue
                if buckets[place].count >= Self.bucketsMax, buckets[place][payer] == nil { Self.forget(&buckets[place], rate, now) }
                buckets[place][payer, default: TokenBucket(full: rate, at: now)].take(cost, rate, at: now)
            }
        }
    }

    private static func forget(_ buckets: inout [Payer: TokenBucket], _ rate: TokenBucket.Rate, _ now: Timestamp) {
        buckets = buckets.filter { entry in
            var bucket = entry.value
            return !bucket.isFull(rate, at: now)
        }
        if buckets.count > bucketsMax / 2 { buckets.removeAll() }
    }

    private static func rate(_ kind: Payer.Kind, _ perSecond: Int) -> TokenBucket.Rate {
        let perSecond = Double(perSecond * kind.factor)
        return TokenBucket.Rate(perSecond: perSecond, most: perSecond * Limits.requestBurstSeconds)
    }
}

extension ServerError {
    static func tooManyRequests(seconds: Int) -> ServerError {
        ServerError(
            .throttled, "too many requests", remedy: "Wait for as many seconds as retryAfter says; ask for more at a time, and less often.",
            retryAfter: seconds)
    }
}
