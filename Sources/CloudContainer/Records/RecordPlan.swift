import CloudWire

/// Turns verdicts into rows: everything that a change does to a record, its tag, its stamps and its places in the feeds.
struct RecordPlan {
    var zone: ZoneAddress
    /// The commit's change number: every record of it has it.
    var number: ChangeNumber
    var now: Timestamp
    var stamp: Record.Stamp
    /// The default zone and the public database have no feed, and do not pay for one.
    var hasFeed: Bool
    /// Says which index rows a record has.
    var schema: Schema

    /// A row to put, and the record that it is.
    struct Change {
        var put: RecordPut
        var record: StoredRecord
    }

    func put(_ save: RecordVerdict.Save, named name: String) -> Change {
        let before = save.over
        let live = before.flatMap { $0.isLive ? $0 : nil }
        let modified = rising(after: before)
        let content = RecordContent(
            created: live?.content.created ?? modified, modified: modified, entered: live?.content.entered ?? number, fields: save.fields)
        return put(content, name: name, type: save.type, isTombstone: false, parent: save.parent, over: before)
    }

    func put(deleting record: StoredRecord) -> Change {
        let content = RecordContent(
            created: record.content.created, modified: rising(after: record), entered: record.content.entered, fields: RecordFields())
        return put(content, name: record.row.name, type: record.row.type, isTombstone: true, parent: nil, over: record)
    }

    /// The same record under a new tag, and so at a new place in the feed.
    func put(touching record: StoredRecord) -> Change {
        put(record.content, name: record.row.name, type: record.row.type, isTombstone: false, parent: record.row.parent, over: record)
    }

    /// `modificationDate` rises strictly, whatever the clock does. It rises in whole milliseconds, so that the web sees it too.
    private func rising(after record: StoredRecord?) -> Record.Stamp {
        guard let last = record?.content.modified.timestamp.millisecondsSince1970, stamp.timestamp.millisecondsSince1970 <= last else { return stamp }
        var later = stamp
        later.timestamp = Timestamp(millisecondsSince1970: last + 1)
        return later
    }

    private func put(
        _ content: RecordContent, name: String, type: String, isTombstone: Bool, parent: String?, over before: StoredRecord?
    ) -> Change {
        let body = RecordBody.encode(content, in: zone, name: name, type: type, number: number, isTombstone: isTombstone, parent: parent)
        let row = RecordRow(name: name, type: type, number: number, isTombstone: isTombstone, parent: parent, body: body)
        var put = RecordPut(zone: zone, row: row, leaves: [], enters: [], isNew: before == nil)
        if hasFeed {
            put.leaves = before.map { [FeedPlace(view: .owner, number: $0.row.number)] } ?? []
            put.enters = [
                FeedRow(place: FeedPlace(view: .owner, number: number), entered: content.entered, isDeparture: isTombstone)
            ]
        }
        let links = (before: before?.content.fields.links ?? [], after: content.fields.links)
        put.unlinked = Array(links.before.subtracting(links.after))
        put.linked = Array(links.after.subtracting(links.before))
        let record = StoredRecord(row: row, content: content)
        let rowsBefore = before.map(indexRows) ?? []
        let rowsAfter = indexRows(of: record)
        put.unindexed = rowsBefore.without(rowsAfter)
        put.indexed = rowsAfter.without(rowsBefore)
        return Change(put: put, record: record)
    }

    private func indexRows(of record: StoredRecord) -> [IndexEntry] {
        guard record.isLive, let type = schema.types[record.row.type] else { return [] }
        return IndexRows.entries(of: record, in: type)
    }
}

extension [IndexEntry] {
    /// In their order.
    fileprivate func without(_ others: [IndexEntry]) -> [IndexEntry] {
        if isEmpty || others.isEmpty { return self }
        let others = Set(others)
        return filter { !others.contains($0) }
    }
}
