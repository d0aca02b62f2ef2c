/// The numbers of runs. Each opening of a store is a run, and everything that it writes has its number.
///
/// A restored copy of the data is a new opening. What it writes therefore never has the number of something that was
/// lost with the newer data. Change tokens, change tags and cursors of the lost state name numbers that are not in its
/// history. See `docs/decisions/store-runs.md`.
package enum Run {
    /// The number before every opening.
    package static let none: Int64 = 0
    /// The number of data from before runs were counted.
    package static let first: Int64 = 1

    /// The ends of runs that are kept of each zone and each database. Older tokens expire. On this server: 256,
    /// counting only the runs in which the zone was changed.
    package static let endsKept = 256

    private static let randomBits: Int64 = 32

    /// Returns the number of an opening: above every run in the data, and random, so that another opening of a copy has
    /// a different one.
    ///
    /// Two openings of one copy get the same number once in 2³². Openings are counted up to 2³¹; one a second lasts 68
    /// years.
    /// - Parameter last: the newest run in the data.
    package static func number(after last: Int64, random: UInt64) -> Int64 {
        ((last >> randomBits) + 1) << randomBits | Int64(random >> 32)
    }
}

/// A zone or a database, each of which has change numbers of its own.
package enum FeedAddress: Hashable, Sendable {
    /// The database's feed of zones.
    case database(DatabaseID)
    case zone(ZoneAddress)
}

extension ReadTransaction {
    /// Whether `number` is in the history that is kept. If it is, nothing seen at that number was lost since, for
    /// example with a restored copy.
    ///
    /// Costs a call of the store if the number is of an earlier run.
    package func knows(_ number: ChangeNumber, of zone: ZoneRow) throws -> Bool {
        try knows(number, of: .zone(zone.address), at: zone.number)
    }

    /// Whether `number` is in the kept history of a database's feed of zones.
    package func knows(_ number: ChangeNumber, of database: DatabaseRow) throws -> Bool {
        try knows(number, of: .database(database.id), at: database.number)
    }

    private func knows(_ number: ChangeNumber, of place: FeedAddress, at newest: ChangeNumber) throws -> Bool {
        if number == .zero { return true }
        if number.run == newest.run { return number.seq <= newest.seq }
        return try ends(of: [number.run], in: place).contains { number.seq <= $0.seq }
    }
}
