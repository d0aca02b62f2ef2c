import CloudContainer

/// Putting a plan's links and index rows: what goes is taken away before what comes is put.
extension Connection {
    func applyReferences(of plan: WritePlan) throws {
        for place in plan.records.indices {
            try takeAway(plan.records[place])
        }
        for place in plan.records.indices {
            try bring(plan.records[place])
        }
        for put in plan.indexed {
            for entry in put.entries {
                try change(.indexPut, put.zone, entry, put.name)
            }
        }
    }

    private func takeAway(_ put: RecordPut) throws {
        for link in put.unlinked {
            try change(.linkRemove, put.zone, link, put.row.name)
        }
        for entry in put.unindexed {
            try change(.indexRemove, put.zone, entry, put.row.name)
        }
    }

    private func bring(_ put: RecordPut) throws {
        for link in put.linked {
            try change(.linkPut, put.zone, link, put.row.name)
        }
        for entry in put.indexed {
            try change(.indexPut, put.zone, entry, put.row.name)
        }
    }

    private func change(_ statement: Statement, _ zone: ZoneAddress, _ link: ReferenceLink, _ name: String) throws {
        try use(statement) { statement in
            statement.bind(zone)
            statement.bind(link.target)
            statement.bind(link.kind.rawValue)
            statement.bind(name)
            _ = try statement.step()
        }
    }

    private func change(_ statement: Statement, _ zone: ZoneAddress, _ entry: IndexEntry, _ name: String) throws {
        try use(statement) { statement in
            statement.bind(zone)
            statement.bind(entry.index.rawValue)
            try entry.key.withUnsafeBufferPointer { key in
                statement.bind(borrowed: key)
                statement.bind(name)
                _ = try statement.step()
            }
        }
    }

    /// Removes up to `limit` links of a zone. Returns how many.
    func reclaimLinks(of zone: ZoneAddress, limit: Int) throws -> Int {
        let rows = try use(.linksToReclaim) { statement in
            statement.bind(zone)
            statement.bind(limit)
            return try statement.rows { row in
                let target = row.string()
                let kind = try row.known(ReferenceLink.Kind.init(rawValue:), row.integer(), "kind of link")
                return (link: ReferenceLink(target: target, kind: kind), name: row.string())
            }
        }
        for row in rows {
            try change(.linkRemove, zone, row.link, row.name)
        }
        return rows.count
    }

    /// Removes up to `limit` index rows of a zone. Returns how many.
    func reclaimIndexRows(of zone: ZoneAddress, limit: Int) throws -> Int {
        let rows = try use(.indexToReclaim) { statement in
            statement.bind(zone)
            statement.bind(limit)
            return try statement.rows { row in
                let index = IndexID(rawValue: row.integer())
                return (entry: IndexEntry(index: index, key: row.bytes()), name: row.string())
            }
        }
        for row in rows {
            try change(.indexRemove, zone, row.entry, row.name)
        }
        return rows.count
    }
}
