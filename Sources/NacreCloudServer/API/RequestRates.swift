package import NacreCloudContainer
package import NacreCloudWire
import NacreHTTPServer
import NacreLocks
import NacreTelemetry

/// Keeps everybody who asks within a rate of work: addresses, users, containers and those who have only an API token of one have a bucket each.
/// Nothing that nobody has looked up is the key of one. Thread-safe; one lock a question.
package final class RequestRates: Sendable {
    /// Whose work is counted together.
    package struct Payer: Hashable {
        enum Kind: Int, CaseIterable {
            case user
            /// Not of this machine itself: a proxy there is everybody.
            case address
            /// An address, among those who have an API token of a container and no user.
            case guest
            /// All of those.
            case guests
            case container
        }

        var kind: Kind
        var container = ""
        var name = ""
        /// Costs a second. It is the same payer whatever is set.
        var rate: Int

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
    package func payers(of address: String) -> [Payer] {
        guard let perSecond, Self.isKept(address) else { return [] }
        return [Payer(kind: .address, name: address, rate: perSecond * Limits.requestRateOfAddress)]
    }

    private static func isKept(_ address: String) -> Bool { !address.isEmpty && !IPAddress.isLoopback(address) }

    /// What is set for a container, as it was within the last seconds.
    package func entry(of container: String, in registry: Registry) async throws -> RateEntry {
        try await entries.value(container, at: clock.now()) { try await registry.rates(of: container) } ?? RateEntry()
    }

    /// Whose work it is besides, once its sender is known, by what is set for the container: a user's own, and not that of the API token that came with it.
    package func payers(of caller: Caller, at address: String, in target: DatabaseTarget, _ own: RateEntry) -> [Payer] {
        let rates = Rates(requestRate: perSecond).with(own)
        func payer(_ kind: Payer.Kind, _ name: String, _ rate: Int?) -> Payer? {
            rate.map { Payer(kind: kind, container: target.container, name: name, rate: $0) }
        }
        let container = payer(.container, "", rates.containerRate)
        if let name = caller.userRecordName { return [payer(.user, name, rates.userRate), container].compactMap(\.self) }
        let guest = Self.isKept(address) ? payer(.guest, address, rates.guestRate) : nil
        return [guest, payer(.guests, "", rates.guestsRate), container].compactMap(\.self)
    }

    /// - Throws: `THROTTLED` with the seconds to wait, where one of them has had more than its rate.
    package func require(_ payers: [Payer]) throws(ServerError) {
        guard !payers.isEmpty else { return }
        let now = clock.now()
        let pause = buckets.withLock { buckets in
            payers.compactMap { buckets[$0.kind.rawValue].pause(of: $0, Self.rate(of: $0), at: now) }.max()
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
            for payer in payers { buckets[payer.kind.rawValue].take(cost, from: payer, at: now, rate: Self.rate) }
        }
    }

    /// Takes the cost of what was done for a user after its requests; of nobody where no rate can be found.
    func take(_ cost: Int, from place: AccountPlace, in registry: Registry) async {
        guard cost > 0, !place.userRecordName.isEmpty, let own = try? await entry(of: place.container, in: registry) else { return }
        let target = DatabaseTarget(container: place.container, environment: place.environment, scope: .private)
        take(cost, from: payers(of: Caller(.user(place.userRecordName)), at: "", in: target, own))
    }

    private static func rate(of payer: Payer) -> TokenBucket.Rate {
        TokenBucket.Rate(perSecond: Double(payer.rate), most: Double(payer.rate) * Limits.requestBurstSeconds)
    }
}

extension ServerError {
    static func tooManyRequests(seconds: Int) -> ServerError {
        ServerError(
            .throttled, "too many requests", remedy: "Wait for as many seconds as retryAfter says; ask for more at a time, and less often.",
            retryAfter: seconds)
    }
}
