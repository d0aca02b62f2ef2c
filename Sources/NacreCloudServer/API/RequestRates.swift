package import NacreCloudAccounts
package import NacreCloudContainer
import NacreCloudStorage
package import NacreCloudWire
import NacreHTTPServer
import NacreLocks
import NacreTelemetry

/// Keeps each payer within a rate of work. Addresses, users, containers and the callers with only an API token of a
/// container have a bucket each. Buckets are keyed only by values that have been looked up. Thread-safe; one lock for
/// each call.
package final class RequestRates: Sendable {
    /// A payer: the callers whose work is counted together.
    package struct Payer: Hashable {
        enum Kind: Int, CaseIterable {
            case user
            /// An address, except this machine's own: a proxy there stands for all clients.
            case address
            /// An address, for callers with an API token of a container and no user.
            case guest
            /// All guests of a container together.
            case guests
            case container
        }

        var kind: Kind
        var container = ""
        var name = ""
        /// Cost that is allowed each second. It does not count for equality.
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

    /// Buckets of one kind that are kept. On this server: 10 MB.
    private static let bucketsMax = 50_000

    /// Cost that one user is allowed each second; nil: only containers with a rate of their own have one.
    private let perSecond: Int?
    private let clock: ServerClock
    private let overload: OverloadLog
    /// The rates that administrators have set, by container.
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

    /// Rates that limit no caller.
    static let off = RequestRates(perSecond: nil, clock: .system)

    /// The payers of a request before its sender is known.
    package func payers(of address: String) -> [Payer] {
        guard let perSecond, Self.isKept(address) else { return [] }
        return [Payer(kind: .address, name: address, rate: perSecond * Limits.requestRateOfAddress)]
    }

    private static func isKept(_ address: String) -> Bool { !address.isEmpty && !IPAddress.isLoopback(address) }

    /// The rates set for a container, at most a few seconds old.
    package func entry(of container: String, in registry: Registry) async throws -> RateEntry {
        try await entries.value(container, at: clock.now()) { try await registry.rates(of: container) } ?? RateEntry()
    }

    /// Further payers once the sender is known, by the rates of the container. A user pays for itself, and not for the
    /// API token that came with it.
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

    /// - Throws: `THROTTLED` with the seconds to wait, if a payer has used more than its rate.
    package func require(_ payers: [Payer]) throws(ServerError) {
        guard !payers.isEmpty else { return }
        let now = clock.now()
        let pause = buckets.withLock { buckets in
            payers.compactMap { buckets[$0.kind.rawValue].pause(of: $0, Self.rate(of: $0), at: now) }.max()
        }
        guard let pause else { return }
        overload.report(.rates)
        throw .tooManyRequests(seconds: pause)
    }

    /// Charges a cost to each of the payers.
    package func take(_ cost: Int, from payers: [Payer]) {
        guard !payers.isEmpty else { return }
        let now = clock.now()
        buckets.withLock { buckets in
            for payer in payers { buckets[payer.kind.rawValue].take(cost, from: payer, at: now, rate: Self.rate) }
        }
    }

    /// Runs `body` within the rate of the request's address, and charges its cost to that.
    /// - Throws: `THROTTLED` as `require`.
    func within(_ request: HTTPRequest, _ body: () async throws -> HTTPResponse) async throws -> HTTPResponse {
        let payers = payers(of: IPAddress.customer(request.clientAddress))
        try require(payers)
        let meter = WorkMeter.current ?? WorkMeter(requestID: request.id, operation: request.route ?? "")
        defer { take(meter.takeUnpaid(), from: payers) }
        let response = try await WorkMeter.$current.withValue(meter) { try await body() }
        meter.count(response, to: request)
        return response
    }

    /// Charges a user for work done after its requests. Charges nothing if the rate cannot be read.
    func take(_ cost: Int, from appUser: AppUser, in registry: Registry) async {
        guard cost > 0, !appUser.userRecordName.isEmpty, let own = try? await entry(of: appUser.container, in: registry) else { return }
        let target = DatabaseTarget(container: appUser.container, environment: appUser.environment, scope: .private)
        take(cost, from: payers(of: Caller(.user(appUser.userRecordName)), at: "", in: target, own))
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
