/// The numbers of runs. A run is a fact of the data: everything that is written in it has its number.
///
/// A restored copy of the data is in a new run. What is written there therefore never has the number of something that
/// was lost with the newer data. Change tokens, change tags and cursors of the lost state name numbers that are not in
/// its history. An engine for one process begins a run with each opening; one that several servers have open keeps a
/// `KeptRun`. See `docs/decisions/store-runs.md`.
package enum Run {
    /// The number before every opening.
    package static let none: Int64 = 0
    /// The number of data from before runs were counted.
    package static let first: Int64 = 1

    /// The ends of runs that are kept of each zone and each database. Older tokens expire. On this server: 256,
    /// counting only the runs in which the zone was changed.
    package static let endsKept = 256

    private static let randomBits: Int64 = 32

    /// Returns the number of a new run: above every run in the data, and random, so that the next run of another copy
    /// has a different one.
    ///
    /// The next runs of two copies get the same number once in 2³². Runs are counted up to 2³¹; one a second lasts 68
    /// years.
    /// - Parameter last: the newest run in the data.
    package static func number(after last: Int64, random: UInt64) -> Int64 {
        ((last >> randomBits) + 1) << randomBits | Int64(random >> 32)
    }
}

/// The run of data that several servers have open, with the history to which it belongs. It is a row of the data.
///
/// A server that opens the data, and each new connection of it, asks which history they are in. If it is the kept one,
/// the server writes in the kept run: a zone that servers write in turn stays in one run, and its numbers rise in the
/// order of the commits. Otherwise the data were put back, or a server of the database took over that had not all of
/// them: the new run is kept, before anything is written in it.
package struct KeptRun: Hashable, Sendable {
    package var number: Int64
    /// The name of the history, which no other state has that may have lost something: on PostgreSQL its system
    /// identifier, its timeline and the file of the table that keeps the run.
    package var history: String

    package init(number: Int64, history: String) {
        (self.number, self.history) = (number, history)
    }

    /// Returns the run of data that are in `history`.
    /// - Parameter kept: the run that they keep; nil: they are new.
    package static func current(_ kept: KeptRun?, in history: String, random: UInt64) -> KeptRun {
        if let kept, kept.history == history { return kept }
        return KeptRun(number: Run.number(after: kept?.number ?? Run.none, random: random), history: history)
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
