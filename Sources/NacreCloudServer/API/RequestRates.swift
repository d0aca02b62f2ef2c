package import NacreCloudContainer
package import NacreCloudWire
package import NacreHTTPServer
import NacreLocks
import NacreTelemetry

/// Keeps everybody who asks within a rate of work: addresses, API tokens, users and containers have a bucket each. Thread-safe; one lock a question.
package final class RequestRates: Sendable {
    /// Whose work is counted together.
    package struct Payer: Hashable {
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
        /// Costs a second that are set for its container; nil: the server's. It is the same payer whatever is set.
        var own: Int?

        package static func == (left: Payer, right: Payer) -> Bool {
            left.kind == right.kind && left.container == right.container && left.name == right.name
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(kind)
            hasher.combine(container)
            hasher.combine(name)
        }
    }

    /// Buckets of one kind that are remembered. On this server: 10 MB.
    private static let bucketsMax = 50_000

    /// Costs a second of one user; nil: nobody is kept to a rate but those for whom one is set.
    private let perSecond: Int?
    private let clock: ServerClock
    private let overload: OverloadLog
    /// What administrators have set, by container.
    private let entries = Remembered<String, RateEntry>()
    private let buckets = Locked([TokenBuckets<Payer>](repeating: TokenBuckets(most: bucketsMax), count: Payer.Kind.allCases.count))

    package convenience init(perSecond: Int?, clock: ServerClock) {
        self.init(perSecond: perSecond, clock: clock, overload: .silent)
    }

    init(perSecond: Int?, clock: ServerClock, overload: OverloadLog) {
        self.perSecond = perSecond
        self.clock = clock
        self.overload = overload
    }

    /// Nobody is kept to a rate.
    static let off = RequestRates(perSecond: nil, clock: .system)

    /// Whose work a request is before its sender is known.
    package func payers(of request: HTTPRequest, address: String) -> [Payer] {
        guard perSecond != nil else { return [] }
        var payers: [Payer] = []
        if !address.isEmpty, !IPAddress.isLoopback(address) { payers.append(Payer(kind: .address, name: address)) }
        if let token = request.query("ckAPIToken"), !token.isEmpty { payers.append(Payer(kind: .apiToken, name: token)) }
        return payers
    }

    /// What is set for a container, as it was within the last seconds.
    package func entry(of container: String, in registry: Registry) async throws -> RateEntry {
        try await entries.value(container, at: clock.now()) { try await registry.rates(of: container) } ?? RateEntry()
    }

    /// Whose work it is besides, once its sender is known, by what is set for the container.
    package func payers(of caller: Caller, in target: DatabaseTarget, _ own: RateEntry) -> [Payer] {
        let rates = Rates(requestRate: perSecond).with(own)
        let container = rates.containerRate.map { Payer(kind: .container, name: target.container, own: $0) }
        guard let name = caller.userRecordName else { return [container].compactMap(\.self) }
        let user = rates.userRate.map { Payer(kind: .user, container: target.container, name: name, own: $0) }
        return [user, container].compactMap(\.self)
    }

    /// - Throws: `THROTTLED` with the seconds to wait, where one of them has had more than its rate.
    package func require(_ payers: [Payer]) throws(ServerError) {
        guard !payers.isEmpty else { return }
        let now = clock.now()
        let pause = buckets.withLock { buckets in
            payers.compactMap { payer in
                rate(of: payer).flatMap { buckets[payer.kind.rawValue].pause(of: payer, $0, at: now) }
            }.max()
        }
        guard let pause else { return }
        overload.tell(.rates)
        throw .tooManyRequests(seconds: pause)
    }

    /// Takes the cost of what was done from all of them.
    package func take(_ cost: Int, from payers: [Payer]) {
        guard !payers.isEmpty else { return }
        let now = clock.now()
        buckets.withLock { buckets in
            for payer in payers { buckets[payer.kind.rawValue].take(cost, from: payer, at: now, rate: rate) }
        }
    }

    /// Takes the cost of what was done for a user after its requests; of nobody where no rate can be found.
    func take(_ cost: Int, from place: AccountPlace, in registry: Registry) async {
        guard cost > 0, !place.userRecordName.isEmpty, let own = try? await entry(of: place.container, in: registry) else { return }
        let target = DatabaseTarget(container: place.container, environment: place.environment, scope: .private)
        take(cost, from: payers(of: Caller(.user(place.userRecordName)), in: target, own))
    }

    /// nil: as much as they like.
    private func rate(of payer: Payer) -> TokenBucket.Rate? {
        guard let perSecond = payer.own ?? perSecond.map({ $0 * payer.kind.factor }) else { return nil }
        return TokenBucket.Rate(perSecond: Double(perSecond), most: Double(perSecond) * Limits.requestBurstSeconds)
    }
}

extension ServerError {
    static func tooManyRequests(seconds: Int) -> ServerError {
        ServerError(
            .throttled, "too many requests", remedy: "Wait for as many seconds as retryAfter says; ask for more at a time, and less often.",
            retryAfter: seconds)
    }
}
