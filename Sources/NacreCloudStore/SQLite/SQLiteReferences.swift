import NacreCloudStorage

/// Applies a plan's links and index rows: removals before additions.
extension Connection {
    func applyReferences(of plan: WritePlan) throws {
        for index in plan.records.indices {
            try takeAway(plan.records[index])
        }
        for index in plan.records.indices {
            try bring(plan.records[index])
        }
        for index in plan.records.indices {
            let put = plan.records[index]
            try changeIndexRows(of: put.row.name, in: put.zone, gone: put.unindexed, come: put.indexed)
        }
        for put in plan.indexed {
            try changeIndexRows(of: put.name, in: put.zone, gone: [], come: put.indexed)
        }
    }

    private func takeAway(_ put: RecordPut) throws {
        for link in put.unlinked {
            try change(.linkRemove, put.zone, link, put.row.name)
        }
    }

    private func bring(_ put: RecordPut) throws {
        for link in put.linked {
            try change(.linkPut, put.zone, link, put.row.name)
        }
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

    func change(_ statement: Statement, _ index: ZoneIndex, _ key: UnsafeBufferPointer<UInt8>, _ name: String, id: Int64? = nil) throws {
        try use(statement) { statement in
            statement.bind(index)
            statement.bind(borrowed: key)
            statement.bind(name)
            if let id { statement.bind(id) }
            _ = try statement.step()
        }
    }

    /// Removes up to `limit` links of a zone. Returns their number.
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
}
