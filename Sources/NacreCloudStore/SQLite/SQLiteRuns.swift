import NacreCloudStorage

/// The runs of changes, and the ends of earlier runs.
extension Connection {
    /// Returns the last number of each of `runs` in `place`.
    func ends(of runs: [Int64], in place: FeedAddress) throws -> [ChangeNumber] {
        try Set(runs).compactMap { run in
            try use(.runEndByRun) { statement in
                statement.bind(place)
                statement.bind(run)
                return try statement.step() ? statement.number() : nil
            }
        }
    }

    /// Prepares a feed, whose newest change was `before`, for its next change in `run`.
    /// - Returns: Whether the feed enters the run with it. Then the end of the run before is kept.
    private func ends(_ before: ChangeNumber, in place: FeedAddress, by run: Int64) throws -> Bool {
        guard before.run != run else { return false }
        try use(.runEndPut) { statement in
            statement.bind(place)
            statement.bind(before)
            _ = try statement.step()
        }
        try use(.runEndsTrim) { statement in
            statement.bind(place)
            statement.bind(Run.endsKept)
            _ = try statement.step()
        }
        return true
    }

    // A row is read and then updated: SQLite makes a table for `UPDATE … RETURNING`, which costs more than both.

    /// Takes the next change number of a live zone, in `run`.
    func advance(zoneNamed name: String, in database: DatabaseID, run: Int64) throws -> ZoneRow? {
        guard var zone = try zones(in: database, named: [name]).first else { return nil }
        try use(.zoneAdvance) { statement in
            statement.bind(zone.address)
            _ = try statement.step()
        }
        let before = zone.number
        zone.lastSeq &+= 1
        if try ends(before, in: .zone(zone.address), by: run) {
            zone.run = run
            try use(.zoneEntersRun) { statement in
                statement.bind(zone.address)
                statement.bind(run)
                statement.bind(RowChecksum.of(zone))
                _ = try statement.step()
            }
        }
        return zone
    }

    /// Takes the next position in a database's feed of zones, in `run`. Returns nil if the database does not exist.
    /// - Parameter bytes: The growth of its records.
    func advanceFeed(of database: DatabaseID, growingBy bytes: Int64, run: Int64) throws -> Int64? {
        let found = try use(.databaseNumber) { statement in
            statement.bind(database.rawValue)
            return try statement.step() ? statement.number() : nil
        }
        guard let before = found else { return nil }
        try use(.databaseAdvance) { statement in
            statement.bind(database.rawValue)
            statement.bind(bytes)
            _ = try statement.step()
        }
        if try ends(before, in: .database(database), by: run), var row = try self.database(database) {
            row.run = run
            try use(.databaseEntersRun) { statement in
                statement.bind(database.rawValue)
                statement.bind(run)
                statement.bind(RowChecksum.of(row))
                _ = try statement.step()
            }
        }
        return before.seq &+ 1
    }
}

extension PreparedStatement {
    fileprivate func bind(_ place: FeedAddress) {
        switch place {
        case .zone(let zone):
            bind(zone)
        case .database(let database):
            bind(database.rawValue)
            bind(Int64(-1))
        }
    }
}
