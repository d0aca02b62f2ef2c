import NacreCloudWire

/// Work that users and containers may have done a second, in the unit of `Limits.requestRate`; nil: as much as they like.
package struct Rates: Hashable, Sendable {
    /// Of each user.
    package var userRate: Int?
    /// Of all who use a container, together.
    package var containerRate: Int?

    package init(userRate: Int?, containerRate: Int?) {
        self.userRate = userRate
        self.containerRate = containerRate
    }

    /// What the server has for all containers.
    /// - Parameter requestRate: of a user; nil: nobody is kept to a rate.
    package init(requestRate: Int?) {
        self.init(userRate: requestRate, containerRate: requestRate.map { $0 * Limits.requestRateOfContainer })
    }

    /// Rate of all guests together, who have an API token of a container and no user. It leaves what users need.
    package var guestsRate: Int? { containerRate.map { max(1, $0 / Limits.guestsPartOfRate) } }

    /// Rate of the guests at one address. It leaves what other guests need.
    package var guestRate: Int? { containerRate.map { max(1, $0 / Limits.guestPartOfRate) } }

    /// With what an administrator has set for one container.
    package func with(_ entry: RateEntry) -> Rates {
        Rates(userRate: Self.rate(entry.userRate, userRate), containerRate: Self.rate(entry.containerRate, containerRate))
    }

    private static func rate(_ own: Int?, _ servers: Int?) -> Int? {
        guard let own else { return servers }
        return own > 0 ? own : nil
    }
}

/// What an administrator has set for a container; nil: what the server has for all; 0: as much as they like.
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
    /// What an administrator has set for a container.
    package func rates(of container: String) async throws -> RateEntry {
        try await lookUp(RateEntry.self, container, in: .server) ?? RateEntry()
    }

    /// Says how much work a container and its users may have done. Servers hear of it within the seconds that they remember credentials.
    /// - Returns: what is set now.
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
