import NacreCloudContainer

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
            try putIndexRows(put.zone, put.entries, put.name)
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
        try putIndexRows(put.zone, put.indexed, put.row.name)
    }

    func change(_ statement: Statement, _ zone: ZoneAddress, _ link: ReferenceLink, _ name: String) throws {
        try change(statement, zone, link.target, kind: link.kind.rawValue, name)
    }

    func change(_ statement: Statement, _ zone: ZoneAddress, _ target: String, kind: Int64, _ name: String) throws {
        try use(statement) { statement in
            statement.bind(zone)
            statement.bind(target)
            statement.bind(kind)
            statement.bind(name)
            _ = try statement.step()
        }
    }

    /// Puts rows that lead to the record's row.
    func putIndexRows(_ zone: ZoneAddress, _ entries: [IndexEntry], _ name: String) throws {
        guard !entries.isEmpty else { return }
        // Asked for by name, new or not: its page was just written. An upsert that returns it costs many times as much.
        let id = try recordID(in: zone, named: name) ?? 0
        for entry in entries {
            try change(.indexPut, zone, entry, name, id: id)
        }
    }

    private func recordID(in zone: ZoneAddress, named name: String) throws -> Int64? {
        try use(.recordID) { statement in
            statement.bind(zone)
            statement.bind(name)
            return try statement.step() ? statement.integer() : nil
        }
    }

    func change(_ statement: Statement, _ zone: ZoneAddress, _ entry: IndexEntry, _ name: String, id: Int64? = nil) throws {
        try use(statement) { statement in
            statement.bind(zone)
            statement.bind(entry.index.rawValue)
            try entry.key.withUnsafeBufferPointer { key in
                statement.bind(borrowed: key)
                statement.bind(name)
                if let id { statement.bind(id) }
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
