import CloudContainer
import CloudWire

/// A body's hold on the writer's connection.
final class SQLiteTransaction: SQLiteSnapshot, WriteTransaction {
    func advance(zoneNamed name: String, in database: DatabaseID, operation id: String?, entries: [EntryKey]) throws -> Advance {
        try ask { connection in
            let zone = try connection.use(.zoneAdvance) { statement in
                statement.bind(database.rawValue)
                statement.bind(name)
                let zone = try statement.step() ? statement.zone(in: database, named: name) : nil
                // An UPDATE with RETURNING is done when it has been stepped to its end.
                while try zone != nil && statement.step() {}
                return zone
            }
            return Advance(
                database: try connection.database(database), zone: zone, operation: try id.flatMap { try connection.operation(in: database, $0) },
                entries: try entries.distinct.compactMap { try connection.entry($0) })
        }
    }

    func apply(_ plan: WritePlan) throws {
        try ask { try $0.apply(plan) }
    }

    func leaseTasks(dueAt now: Timestamp, until: Timestamp, limit: Int) throws -> [TaskRow] {
        try ask { connection in
            let due = try connection.use(.tasksDue) { statement in
                statement.bind(now)
                statement.bind(max(limit, 0))
                return try statement.rows { row in
                    let database = DatabaseID(rawValue: row.integer())
                    let kind = try row.known(TaskKind.init(rawValue:), row.integer(), "task kind")
                    let key = TaskKey(database, kind, row.string())
                    let attempts = row.integer() + 1
                    return TaskRow(key: key, payload: row.bytes(), due: until, attempts: attempts)
                }
            }
            for task in due {
                try connection.use(.taskLease) { statement in
                    statement.bind(task.key)
                    statement.bind(until)
                    _ = try statement.step()
                }
            }
            return due
        }
    }

    func reclaim(_ zone: ZoneAddress, limit: Int) throws -> Int {
        try ask { connection in
            guard limit > 0 else { return 0 }
            let records = try connection.use(.recordsToReclaim) { statement in
                statement.bind(zone)
                statement.bind(limit)
                return try statement.rows { (name: $0.string(), number: $0.number()) }
            }
            guard records.count == limit else {
                // The last of the zone: whatever feed rows there are can go with them.
                try connection.remove(records.map(\.name), of: zone)
                try connection.use(.feedOfZoneRemove) { statement in
                    statement.bind(zone)
                    _ = try statement.step()
                }
                let links = try connection.reclaimLinks(of: zone, limit: limit - records.count)
                return try records.count + links + connection.reclaimIndexRows(of: zone, limit: limit - records.count - links)
            }
            try connection.remove(records.map(\.name), of: zone)
            for record in records {
                // In the owner's view a record stands at its own change number.
                try connection.removeFeedRow(zone, FeedPlace(view: .owner, number: record.number), record.name)
            }
            try connection.removeFromShares(records.map(\.name), of: zone)
            return records.count
        }
    }

    func removeExpired(before now: Timestamp, limit: Int) throws -> Int {
        try ask { connection in
            let entries = try connection.use(.entriesExpired) { statement in
                statement.bind(now)
                statement.bind(max(limit, 0))
                return try statement.rows { (database: $0.integer(), kind: $0.integer(), name: $0.string()) }
            }
            for entry in entries {
                try connection.use(.entryRemove) { statement in
                    statement.bind(entry.database)
                    statement.bind(entry.kind)
                    statement.bind(entry.name)
                    _ = try statement.step()
                }
            }
            let operations = try connection.use(.operationsExpired) { statement in
                statement.bind(now)
                statement.bind(max(limit - entries.count, 0))
                return try statement.rows { (database: DatabaseID(rawValue: $0.integer()), id: $0.string()) }
            }
            for operation in operations {
                try connection.removeOperation(in: operation.database, operation.id)
            }
            return entries.count + operations.count
        }
    }

    func trimOperations(in database: DatabaseID, keeping count: Int) throws -> Int {
        try ask { connection in
            let kept = try connection.use(.operationCount) { statement in
                statement.bind(database.rawValue)
                return try statement.step() ? statement.integer() : 0
            }
            guard kept > Int64(max(count, 0)) else { return 0 }
            let oldest = try connection.use(.operationsOldest) { statement in
                statement.bind(database.rawValue)
                statement.bind(kept - Int64(max(count, 0)))
                return try statement.rows { $0.string() }
            }
            for id in oldest {
                try connection.removeOperation(in: database, id)
            }
            return oldest.count
        }
    }
}

extension Connection {
    fileprivate func remove(_ names: [String], of zone: ZoneAddress) throws {
        for name in names {
            try removeRecord(zone, name)
        }
    }

    /// The views of shares have no index by name: they are few and small, and looked through once a chunk.
    fileprivate func removeFromShares(_ names: [String], of zone: ZoneAddress) throws {
        let removed = Set(names.map(NameBytes.init))
        let rows = try use(.feedOfShares) { statement in
            statement.bind(zone)
            return try statement.rows { row in
                let place = FeedPlace(view: FeedView(rawValue: row.integer()), number: row.number())
                return (place: place, name: row.string())
            }
        }
        for row in rows where removed.contains(NameBytes(row.name)) {
            try removeFeedRow(zone, row.place, row.name)
        }
    }

    fileprivate func removeOperation(in database: DatabaseID, _ id: String) throws {
        try use(.operationRemove) { statement in
            statement.bind(database.rawValue)
            statement.bind(id)
            _ = try statement.step()
        }
    }
}

extension PreparedStatement {
    func bind(_ key: TaskKey) {
        bind(key.database.rawValue)
        bind(key.kind.rawValue)
        bind(key.name)
    }
}
