/// The numbers of runs. Each opening of a store is a run: whatever it writes is numbered by it.
///
/// A copy of the data that is put back is opened anew, and so what it writes from then on never bears the number of something that was lost:
/// change tokens, change tags and cursors of the lost state name numbers that are not in its history. See `docs/decisions/every-opening-is-a-run.md`.
package enum Run {
    /// Before every opening.
    package static let none: Int64 = 0
    /// Of data from before runs were counted.
    package static let first: Int64 = 1

    /// Ends of runs that are kept of each zone and each database: older tokens expire. On this server: so many starts between two of which
    /// the zone was changed.
    package static let endsKept = 256

    private static let randomBits: Int64 = 32

    /// The number of an opening: above every run that the data knows, and not to be guessed by another opening of a copy of it.
    ///
    /// Two openings of one copy get the same number once in 2³². Openings are counted up to 2³¹; one a second lasts 68 years.
    /// - Parameter last: the newest run that the data knows.
    package static func number(after last: Int64, random: UInt64) -> Int64 {
        ((last >> randomBits) + 1) << randomBits | Int64(random >> 32)
    }
}

/// What has change numbers of its own.
package enum NumberedPlace: Hashable, Sendable {
    /// By its feed of zones.
    case database(DatabaseID)
    case zone(ZoneAddress)
}

extension ReadTransaction {
    /// Whether `number` is in the history that is kept: nothing that was seen at it was lost since, as by a copy that was put back.
    ///
    /// Costs a call of the store where the number is of an earlier run.
    func knows(_ number: ChangeNumber, of zone: ZoneRow) throws -> Bool {
        try knows(number, of: .zone(zone.address), at: zone.number)
    }

    /// The same for a place in a database's feed of zones.
    func knows(_ number: ChangeNumber, of database: DatabaseRow) throws -> Bool {
        try knows(number, of: .database(database.id), at: database.number)
    }

    private func knows(_ number: ChangeNumber, of place: NumberedPlace, at newest: ChangeNumber) throws -> Bool {
        if number == .zero { return true }
        if number.run == newest.run { return number.seq <= newest.seq }
        return try ends(of: [number.run], in: place).contains { number.seq <= $0.seq }
    }
}
