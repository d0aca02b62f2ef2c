import NacreCloudStorage
import NacreCloudWire

/// Applies a plan, in the order of `WritePlan`: removals before additions.
extension Connection {
    func apply(_ plan: WritePlan, run: Int64) throws {
        for row in plan.databases {
            try put(row)
        }
        for change in plan.databaseChanges {
            guard let row = try database(change.database) else { throw StoreError.contradiction("a change of no database") }
            try put(change.applied(to: row))
        }
        for change in plan.zoneChanges {
            guard let row = try zone(change.zone) else { throw StoreError.contradiction("a change of no zone") }
            try put(change.applied(to: row))
        }
        // Put the zones that are not live first, so that a plan may bury a zone and make another of its name.
        for row in plan.zones where row.state != .live {
            try put(row)
        }
        for row in plan.zones where row.state == .live {
            try put(row)
        }
        for address in plan.zonesForgotten {
            for statement in [Statement.zoneForget, .runEndsOfZoneRemove] {
                try use(statement) { statement in
                    statement.bind(address)
                    _ = try statement.step()
                }
            }
        }
        // Use indices here and below: a loop variable would copy the row, which holds a dozen references.
        for index in plan.records.indices {
            try put(plan.records[index])
        }
        try applyReferences(of: plan)
        try applyDerived(of: plan)
        for removal in plan.recordsRemoved {
            try remove(removal)
        }
        for row in plan.operations {
            try put(row)
        }
        try apply(entries: plan.entries, removed: plan.entriesRemoved)
        try apply(tasks: plan.tasks, finished: plan.tasksFinished)
        try place(plan.zonesChanged, growing: plan.growth, run: run)
    }

    private func put(_ row: DatabaseRow) throws {
        try use(.databasePut) { statement in
            statement.bind(row.id.rawValue)
            statement.bind(row.key.container)
            statement.bind(row.key.environment.rawValue)
            statement.bind(row.key.scope.rawValue)
            statement.bind(row.key.owner)
            statement.bind(row.run)
            statement.bind(row.lastSeq)
            statement.bind(row.forgottenSeq)
            statement.bind(row.bytes)
            statement.bind(RowChecksum.of(row))
            _ = try statement.step()
        }
    }

    private func put(_ row: ZoneRow) throws {
        // The statement adds the zone's position in the feed.
        var unplaced = row
        unplaced.feedSeq = 0
        let checksum = RowChecksum.of(unplaced)
        try use(.zonePut) { statement in
            statement.bind(row.address)
            statement.bind(row.name)
            statement.bind(row.state.rawValue)
            statement.bind(row.number)
            statement.bind(row.forgotten)
            statement.bind(row.indexesBelow)
            statement.bind(row.bytes)
            statement.bind(checksum)
            guard let token = row.clientChangeToken else {
                statement.bindNull()
                _ = try statement.step()
                return
            }
            try token.step(statement)
        }
    }

    func put(_ feed: FeedRow, of name: String, in zone: ZoneAddress) throws {
        try use(.feedPut) { statement in
            statement.bind(zone)
            statement.bind(feed.position.view.rawValue)
            statement.bind(feed.position.number)
            statement.bind(name)
            statement.bind(feed.entered)
            statement.bind(feed.isDeparture)
            _ = try statement.step()
        }
    }

    private func put(_ put: RecordPut) throws {
        let row = put.row
        try use(put.isNew ? .recordInsert : .recordPut) { statement in
            statement.bind(put.zone)
            statement.bind(row.name)
            statement.bind(row.type)
            statement.bind(row.number)
            statement.bind(row.isTombstone)
            statement.bind(row.parent)
            try row.body.step(statement)
        }
        for position in put.leaves {
            try removeFeedRow(put.zone, position, row.name)
        }
        for feed in put.enters {
            try self.put(feed, of: row.name, in: put.zone)
        }
    }

    private func remove(_ removal: RecordRemoval) throws {
        try removeRecord(removal.zone, removal.name)
        for position in removal.leaves {
            try removeFeedRow(removal.zone, position, removal.name)
        }
    }

    func removeRecord(_ zone: ZoneAddress, _ name: String) throws {
        try use(.recordRemove) { statement in
            statement.bind(zone)
            statement.bind(name)
            _ = try statement.step()
        }
    }

    func removeFeedRow(_ zone: ZoneAddress, _ position: ViewNumber, _ name: String) throws {
        try use(.feedRemove) { statement in
            statement.bind(zone)
            statement.bind(position.view.rawValue)
            statement.bind(position.number)
            statement.bind(name)
            _ = try statement.step()
        }
    }

    private func put(_ row: OperationRow) throws {
        try use(.operationPut) { statement in
            statement.bind(row.database.rawValue)
            statement.bind(row.id)
            statement.bind(row.caller)
            statement.bind(row.expires)
            try row.digest.withUnsafeBufferPointer { digest in
                statement.bind(borrowed: digest)
                try row.result.step(statement)
            }
        }
    }

    private func apply(entries: [EntryRow], removed: [EntryKey]) throws {
        for key in removed {
            knownEntries.forget(key)
            try use(.entryRemove) { statement in
                statement.bind(key.database.rawValue)
                statement.bind(key.kind.rawValue)
                statement.bind(key.key)
                _ = try statement.step()
            }
        }
        for row in entries {
            knownEntries.forget(row.key)
            try use(.entryPut) { statement in
                statement.bind(row.key.database.rawValue)
                statement.bind(row.key.kind.rawValue)
                statement.bind(row.key.key)
                try row.value.withUnsafeBufferPointer { value in
                    statement.bind(borrowed: value)
                    statement.bind(row.expires)
                    statement.bind(RowChecksum.of(row))
                    _ = try statement.step()
                }
            }
        }
    }

    private func apply(tasks: [TaskRow], finished: [TaskKey]) throws {
        for key in finished {
            try use(.taskRemove) { statement in
                statement.bind(key)
                _ = try statement.step()
            }
        }
        for row in tasks {
            try use(.taskPut) { statement in
                statement.bind(row.key)
                statement.bind(row.due)
                statement.bind(row.attempts)
                try row.payload.step(statement)
            }
        }
    }

    /// Gives the changed zones their position in the database's feed, and adds the growth of their records: one
    /// statement for each row.
    private func place(_ changed: [ZoneAddress], growing growth: [ZoneAddress: Int64], run: Int64) throws {
        var ofZones = growth
        var ofDatabases: [DatabaseID: Int64] = [:]
        for (address, bytes) in growth { ofDatabases[address.database, default: 0] += bytes }
        for database in Set(changed.map(\.database)) {
            let seq = try advanceFeed(of: database, growingBy: ofDatabases.removeValue(forKey: database) ?? 0, run: run)
            guard let seq else { throw StoreError.contradiction("a changed zone of no database") }
            for address in changed where address.database == database {
                let before = changedRows
                try use(.zonePlace) { statement in
                    statement.bind(address)
                    statement.bind(seq)
                    statement.bind(ofZones.removeValue(forKey: address) ?? 0)
                    _ = try statement.step()
                }
                guard changedRows > before else { throw StoreError.contradiction("a place in the feed for no zone") }
            }
        }
        for (address, bytes) in ofZones {
            try use(.zoneGrow) { statement in
                statement.bind(address)
                statement.bind(bytes)
                _ = try statement.step()
            }
        }
        for (database, bytes) in ofDatabases {
            try use(.databaseGrow) { statement in
                statement.bind(database.rawValue)
                statement.bind(bytes)
                _ = try statement.step()
            }
        }
    }
}

extension [UInt8] {
    /// Binds the bytes without a copy as the statement's last parameter, and runs it.
    fileprivate func step(_ statement: PreparedStatement) throws {
        try withUnsafeBufferPointer { bytes in
            statement.bind(borrowed: bytes)
            _ = try statement.step()
        }
    }
}
