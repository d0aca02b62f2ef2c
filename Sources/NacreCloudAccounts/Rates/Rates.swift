package import NacreCloudStorage
import NacreCloudWire

/// Limits of work per second for users and containers, in the unit of `Limits.requestRate`; nil: unlimited.
package struct Rates: Hashable, Sendable {
    /// The rate of each user.
    package var userRate: Int?
    /// The rate of all callers of a container together.
    package var containerRate: Int?

    package init(userRate: Int?, containerRate: Int?) {
        self.userRate = userRate
        self.containerRate = containerRate
    }

    /// The server's rates for all containers.
    /// - Parameter requestRate: The rate of a user; nil: unlimited.
    package init(requestRate: Int?) {
        self.init(userRate: requestRate, containerRate: requestRate.map { $0 * Limits.requestRateOfContainer })
    }

    /// The rate of all guests of a container, who have an API token and no user. The rest is left for users.
    package var guestsRate: Int? { containerRate.map { max(1, $0 / Limits.guestsPartOfRate) } }

    /// The rate of the guests at one address. The rest is left for other guests.
    package var guestRate: Int? { containerRate.map { max(1, $0 / Limits.guestPartOfRate) } }

    /// Returns the rates with an administrator's values for one container.
    package func with(_ entry: RateEntry) -> Rates {
        Rates(userRate: Self.rate(entry.userRate, userRate), containerRate: Self.rate(entry.containerRate, containerRate))
    }

    private static func rate(_ own: Int?, _ servers: Int?) -> Int? {
        guard let own else { return servers }
        return own > 0 ? own : nil
    }
}

/// An administrator's rates for a container; nil: the server's default; 0: unlimited.
package struct RateEntry: RegistryEntry {
    package static let kind = EntryKind.rate
    package var userRate: Int?
    package var containerRate: Int?

    package init(userRate: Int? = nil, containerRate: Int? = nil) {
        self.userRate = userRate
        self.containerRate = containerRate
    }

    fileprivate var fault: ServerError? {
        for (field, rate) in [("userRate", userRate), ("containerRate", containerRate)]
        where rate.map({ !(0...Limits.ratePerSecond).contains($0) }) == true {
            return .badValue(field, "not a number of units a second", remedy: "Give 0 for no rate, or a number up to \(Limits.ratePerSecond).")
        }
        return nil
    }
}

extension Registry {
    /// An administrator's rates for a container.
    package func rates(of container: String) async throws -> RateEntry {
        try await lookUp(RateEntry.self, container, in: .server) ?? RateEntry()
    }

    /// Changes the rates of a container and its users. Servers notice once the rates that they remember expire, within
    /// the seconds for which they remember credentials.
    /// - Returns: The entry now.
    package func setRates(of container: String, _ change: @escaping @Sendable (inout RateEntry) -> Void) async throws -> RateEntry {
        try await requireContainer(container)
        return try await write(.server) { database, now, transaction in
            let before = try transaction.entry(RateEntry.self, container, in: database, at: now) ?? RateEntry()
            var after = before
            change(&after)
            if let fault = after.fault { throw fault }
            if after == before { return .rollback(after) }
            if after == RateEntry() {
                try transaction.remove([EntryKey(database, .rate, container)])
            } else {
                try transaction.put([try after.row(container, in: database)])
            }
            return .commit(after)
        }
    }
}
