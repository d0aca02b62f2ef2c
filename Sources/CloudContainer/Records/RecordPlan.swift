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
    /// By record type, as far as they were asked for.
    private var indexRows: [String: IndexRows] = [:]

    init(zone: ZoneAddress, number: ChangeNumber, now: Timestamp, stamp: Record.Stamp, hasFeed: Bool, schema: Schema) {
        self.zone = zone
        self.number = number
        self.now = now
        self.stamp = stamp
        self.hasFeed = hasFeed
        self.schema = schema
    }

    mutating func put(_ save: RecordVerdict.Save, named name: String) -> (put: RecordPut, record: StoredRecord) {
        let live = save.over.flatMap { $0.isLive ? $0 : nil }
        let modified = rising(after: save.over)
        let content = RecordContent(
            created: live?.content.created ?? modified, modified: modified, entered: live?.content.entered ?? number, fields: save.fields)
        let record = stored(content, name: name, type: save.type, isTombstone: false, parent: save.parent)
        var put = put(record, over: save.over)
        link(&put, from: live?.content.fields.bindingReferences ?? [], to: save.references)
        index(&put, from: live, to: record)
        return (put, record)
    }

    mutating func put(deleting before: StoredRecord) -> RecordPut {
        let content = RecordContent(
            created: before.content.created, modified: rising(after: before), entered: before.content.entered, fields: RecordFields())
        let tombstone = stored(content, name: before.row.name, type: before.row.type, isTombstone: true, parent: nil)
        var put = put(tombstone, over: before)
        link(&put, from: before.content.fields.bindingReferences, to: [])
        index(&put, from: before, to: nil)
        return put
    }

    /// The same record under a new tag, and so at a new place in the feed: nothing by which it is found changes.
    func put(touching before: StoredRecord) -> RecordPut {
        put(stored(before.content, name: before.row.name, type: before.row.type, isTombstone: false, parent: before.row.parent), over: before)
    }

    /// `modificationDate` rises strictly, whatever the clock does. It rises in whole milliseconds, so that the web sees it too.
    private func rising(after record: StoredRecord?) -> Record.Stamp {
        guard let last = record?.content.modified.timestamp.millisecondsSince1970, stamp.timestamp.millisecondsSince1970 <= last else { return stamp }
        var later = stamp
        later.timestamp = Timestamp(millisecondsSince1970: last + 1)
        return later
    }

    private func stored(_ content: RecordContent, name: String, type: String, isTombstone: Bool, parent: String?) -> StoredRecord {
        let body = RecordBody.encode(content, in: zone, name: name, type: type, number: number, isTombstone: isTombstone, parent: parent)
        return StoredRecord(
            row: RecordRow(name: name, type: type, number: number, isTombstone: isTombstone, parent: parent, body: body), content: content)
    }

    private func put(_ record: StoredRecord, over before: StoredRecord?) -> RecordPut {
        var put = RecordPut(zone: zone, row: record.row, leaves: [], enters: [], isNew: before == nil)
        if hasFeed {
            put.leaves = before.map { [FeedPlace(view: .owner, number: $0.row.number)] } ?? []
            put.enters = [
                FeedRow(place: FeedPlace(view: .owner, number: number), entered: record.content.entered, isDeparture: record.row.isTombstone)
            ]
        }
        return put
    }

    private func link(_ put: inout RecordPut, from before: [BindingReference], to after: [BindingReference]) {
        if before.isEmpty && after.isEmpty { return }
        let links = (before: before.links, after: after.links)
        put.unlinked = Array(links.before.subtracting(links.after))
        put.linked = Array(links.after.subtracting(links.before))
    }

    /// - Parameters:
    ///   - before: live, or nil. So is `after`.
    private mutating func index(_ put: inout RecordPut, from before: StoredRecord?, to after: StoredRecord?) {
        guard let rows = indexRows(of: put.row.type) else { return }
        let changes = rows.changes(from: before, to: after)
        put.unindexed = changes.gone
        put.indexed = changes.come
    }

    private mutating func indexRows(of type: String) -> IndexRows? {
        if let known = indexRows[type] { return known }
        guard let definition = schema.types[type] else { return nil }
        let rows = IndexRows(definition)
        indexRows[type] = rows
        return rows
    }
}
