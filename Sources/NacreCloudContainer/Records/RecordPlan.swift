package import NacreCloudStorage
package import NacreCloudWire

/// Turns verdicts into rows: everything that a change does to a record, its tag, its stamps and its positions in the
/// feeds.
package struct RecordPlan {
    package var zone: ZoneAddress
    /// The commit's change number, which all its records get.
    package var number: ChangeNumber
    package var now: Timestamp
    package var stamp: Record.Stamp
    /// The zone has a feed. The default zone and the public database have none, and do not pay for one.
    package var hasFeed: Bool
    package var isPublic: Bool
    /// The schema, whose indexes decide which index rows a record has.
    package var schema: Schema
    /// Words of new and replaced texts, as far as they were found before.
    package var words = FoundWords()
    /// The change number up to which the zone's tombstones are purged. Departures up to it are dropped too.
    package var forgotten = ChangeNumber.zero
    /// The last change number of departures that were dropped because a record had no room. Devices before it must
    /// begin again.
    private(set) var forgets = ChangeNumber.zero
    /// Assets that records had before and have no longer.
    package private(set) var released: Set<AssetID> = []
    /// Index rows by record type, as far as they were asked for.
    private var indexRows: [String: IndexRows] = [:]

    package init(zone: ZoneAddress, number: ChangeNumber, now: Timestamp, stamp: Record.Stamp, hasFeed: Bool, isPublic: Bool, schema: Schema) {
        self.zone = zone
        self.number = number
        self.now = now
        self.stamp = stamp
        self.hasFeed = hasFeed
        self.isPublic = isPublic
        self.schema = schema
    }

    /// - Parameters:
    ///   - links: the links that go and come with the save.
    ///   - position: where the record is shared from now on.
    package mutating func put(
        _ save: RecordVerdict.Save, named name: String, links: (gone: [ReferenceLink], come: [ReferenceLink]), at position: ViewAssignment
    ) -> (put: RecordPut, record: StoredRecord) {
        let live = save.over.flatMap { $0.isLive ? $0 : nil }
        let modified = rising(after: save.over)
        let content = RecordContent(
            created: live?.content.created ?? modified, modified: modified, entered: live?.content.entered ?? number, fields: save.fields,
            formerTypes: formerTypes(of: save), sharing: save.sharing, shared: shared(save.over, at: position), manifest: save.manifest)
        let record = stored(content, name: name, type: save.type, isTombstone: false, parent: save.parent)
        var put = put(record, over: save.over)
        put.unlinked = links.gone
        put.linked = links.come
        index(&put, from: live, to: record)
        if let live { released.formUnion(live.content.fields.assetIDs.subtracting(save.fields.assetIDs)) }
        return (put, record)
    }

    package mutating func put(deleting before: StoredRecord) -> RecordPut {
        let modified = rising(after: before)
        let content = RecordContent(
            created: before.isDamaged ? modified : before.content.created, modified: modified,
            entered: before.isDamaged ? number : before.content.entered, fields: RecordFields(), formerTypes: before.content.formerTypes,
            shared: shared(before, at: .hidden))
        let tombstone = stored(content, name: before.row.name, type: before.row.type, isTombstone: true, parent: nil)
        var put = put(tombstone, over: before)
        let links = before.content.fields.bindingReferences.links(parent: before.row.parent, inPublic: isPublic)
        put.unlinked = isPublic ? links.flatMap(\.inPublic) : Array(links)
        index(&put, from: before.isDamaged ? nil : before, to: nil)
        released.formUnion(before.content.fields.assetIDs)
        return put
    }

    /// Replaces a damaged record by a lost one, whose columns are sure, at a new position in the feed: every device
    /// hears of it.
    package func put(losing before: StoredRecord) -> RecordPut {
        let (name, type) = (before.row.name, before.row.type)
        let row = RecordRow(
            name: name, type: type, number: number, isTombstone: false, parent: nil,
            body: RecordBody.lost(in: zone, name: name, type: type, number: number))
        return put(StoredRecord(row, in: zone), over: before)
    }

    /// Puts the same record under a new tag, at a new position in the feed. No index row or link changes.
    package mutating func put(touching before: StoredRecord) -> RecordPut { put(before, at: before.position) }

    /// Puts the same record in another position of its zone's shares.
    package mutating func put(_ before: StoredRecord, at position: ViewAssignment) -> RecordPut {
        var content = before.content
        content.shared = shared(before, at: position)
        return put(stored(content, name: before.row.name, type: before.row.type, isTombstone: false, parent: before.row.parent), over: before)
    }

    /// Puts the same record in another view, under its old tag: the owner's devices do not hear of it.
    package mutating func put(moving before: StoredRecord, to view: FeedView?) -> RecordPut {
        var content = before.content
        content.shared = shared(before, at: ViewAssignment(view: view))
        let row = before.row
        let body = RecordBody.encode(
            content, in: zone, name: row.name, type: row.type, number: row.number, isTombstone: false, parent: row.parent)
        let moved = RecordRow(name: row.name, type: row.type, number: row.number, isTombstone: false, parent: row.parent, body: body)
        var put = RecordPut(zone: zone, row: moved, leaves: [], enters: [], isNew: false)
        count(&put, of: StoredRecord(row: moved, content: content), over: before)
        (put.leaves, put.enters) = (before.content.shared.places.map(\.viewNumber), content.shared.places.map(\.feedRow))
        return put
    }

    /// Returns the record's positions in the views of its zone after this change.
    private mutating func shared(_ before: StoredRecord?, at position: ViewAssignment) -> RecordViews {
        guard let before, !before.content.shared.isEmpty else {
            return position == .hidden ? .none : RecordViews.none.moved(to: position, at: number, from: "", forgotten: forgotten)
        }
        var next = before.content.shared.moved(to: position, at: number, from: before.row.type, forgotten: forgotten)
        forgets = max(forgets, next.trim())
        return next
    }

    /// Puts a share with other permissions under a new tag. No index row or link changes.
    package mutating func put(_ before: StoredRecord, permitting state: ShareState) -> RecordPut {
        var content = before.content
        content.sharing = state
        content.shared = shared(before, at: before.position)
        return put(stored(content, name: before.row.name, type: before.row.type, isTombstone: false, parent: before.row.parent), over: before)
    }

    /// Returns the other types that the name had, in a zone with a feed, where devices may follow them.
    private func formerTypes(of save: RecordVerdict.Save) -> [String] {
        guard hasFeed, let before = save.over else { return [] }
        let known = before.content.formerTypes
        guard !before.isLive else { return known }
        return (known.contains(before.row.type) ? known : known + [before.row.type]).filter { $0 != save.type }
    }

    /// Returns the stamp, with a time that is later than the record's last. `modificationDate` rises strictly, whatever
    /// the clock does. It rises in whole milliseconds, which web clients see too.
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

    /// Returns the record's positions in the feeds of its zone, its owner's first; none where the zone has no feed.
    package static func places(of record: StoredRecord, hasFeed: Bool) -> [FeedRow] {
        guard hasFeed else { return [] }
        let entered = record.isDamaged ? record.row.number : record.content.entered
        let own = FeedRow(position: ViewNumber(view: .owner, number: record.row.number), entered: entered, isDeparture: record.row.isTombstone)
        return [own] + record.content.shared.places.map(\.feedRow)
    }

    private func put(_ record: StoredRecord, over before: StoredRecord?) -> RecordPut {
        var put = RecordPut(zone: zone, row: record.row, leaves: [], enters: [], isNew: before == nil)
        count(&put, of: record, over: before)
        put.leaves = before.map { Self.places(of: $0, hasFeed: hasFeed).map(\.position) } ?? []
        put.enters = Self.places(of: record, hasFeed: hasFeed)
        return put
    }

    private func count(_ put: inout RecordPut, of record: StoredRecord, over before: StoredRecord?) {
        put.replacedBytes = before.map(\.countedBytes) ?? 0
        put.assetBytes = record.assetBytes
    }

    /// - Parameters:
    ///   - before: a live record, or nil, as `after` is.
    private mutating func index(_ put: inout RecordPut, from before: StoredRecord?, to after: StoredRecord?) {
        guard let rows = indexRows(of: put.row.type) else { return }
        let changes = rows.changes(from: before, to: after, words)
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
