import NacreCloudWire

/// What a commit did to one record, as far as subscriptions ask.
struct RecordTransition: Equatable, Sendable {
    /// Numbers are kept in tasks, and those that CloudKit's notifications have: never change one.
    enum Reason: UInt8, Hashable, Sendable, CaseIterable {
        case created = 1
        case updated = 2
        case deleted = 3

        var firesOn: FiresOn {
            switch self {
            case .created: .create
            case .updated: .update
            case .deleted: .delete
            }
        }
    }

    let reason: Reason
    /// As it is now, or as it was before it went. Of its fields those that subscriptions look at.
    let record: StoredRecord
    /// Something of it is another than before.
    let hasChanged: Bool

    init(reason: Reason, record: StoredRecord, hasChanged: Bool) {
        self.reason = reason
        self.record = record
        self.hasChanged = hasChanged
    }

    /// - Parameter before: what the save replaces: a live record, a tombstone, or nothing.
    init(from before: StoredRecord?, to after: StoredRecord) {
        guard let live = before, live.isThere else {
            self.init(reason: .created, record: after, hasChanged: true)
            return
        }
        let isSame = live.isLive && live.content.fields == after.content.fields && live.row.parent == after.row.parent
        self.init(reason: .updated, record: after, hasChanged: !isSame)
    }

    init(deleting before: StoredRecord) {
        self.init(reason: .deleted, record: before, hasChanged: !before.isDamaged)
    }

    /// The same with these fields alone.
    func only(_ fields: Set<String>, in zone: ZoneAddress) -> RecordTransition {
        var content = record.content
        content.fields = RecordFields(content.fields.entries.filter { fields.contains($0.name) })
        content.formerTypes = []
        var row = record.row
        row.isTombstone = false
        row.body = RecordBody.encode(
            content, in: zone, name: row.name, type: row.type, number: row.number, isTombstone: false, parent: row.parent)
        return RecordTransition(reason: reason, record: StoredRecord(row: row, content: content), hasChanged: hasChanged)
    }

    // MARK: As a task keeps it

    func write(to writer: inout ByteWriter) {
        writer.byte(reason.rawValue)
        writer.byte(hasChanged ? 1 : 0)
        writer.string(record.row.name)
        writer.string(record.row.type)
        writer.write(record.row.number)
        writer.byte(record.row.parent == nil ? 0 : 1)
        if let parent = record.row.parent { writer.string(parent) }
        writer.block(record.row.body)
    }

    init(_ reader: inout ByteReader, in zone: ZoneAddress) throws(MalformedBytes) {
        guard let reason = Reason(rawValue: try reader.byte()) else { throw MalformedBytes() }
        let hasChanged = try reader.byte() == 1
        let name = try reader.string()
        let type = try reader.string()
        let number = try reader.changeNumber()
        let parent = try reader.byte() == 1 ? try reader.string() : nil
        let row = RecordRow(name: name, type: type, number: number, isTombstone: false, parent: parent, body: try reader.block())
        self.init(reason: reason, record: StoredRecord(row, in: zone), hasChanged: hasChanged)
    }
}

extension RecordTransition {
    /// Its record, as filters look at it.
    var tested: TestedRecord { TestedRecord { record.value(of: $0) } }
}

/// Whether a subscription tells a device of a change. What the subscriber may read is asked besides.
///
/// CloudKit: an update fires where the record matches after it; a record that leaves what a query finds is not deleted, and nothing tells of it. On
/// this server a save that changed nothing of a record fires no query subscription; the feed of its zone has moved all the same.
struct FiringRule {
    let subscription: Subscription
    /// Of a query subscription: its filters, made ready. nil: its type does not allow them any more.
    let tests: [FilterTest]?

    /// - Parameter once: it is asked of one change.
    init(_ subscription: Subscription, by rule: SubscriptionRule, once: Bool = false) {
        self.subscription = subscription
        guard case .query(let subscribed) = subscription.kind, let shape = try? rule.shape(of: subscribed.query, for: .firing) else {
            tests = nil
            return
        }
        tests = shape.filters.map { FilterTest($0.filter, fields: $0.fields.map(\.name), once: once) }
    }

    /// - Parameter zoneName: where the record is.
    func fires(for transition: RecordTransition, inZoneNamed zoneName: String, of database: DatabaseKey) -> Bool {
        var tested = transition.tested
        return fires(for: transition, &tested, inZoneNamed: zoneName, of: database)
    }

    /// - Parameters:
    ///   - tested: the transition's record. Those who ask of many subscriptions have its lists and words made ready once for all.
    ///   - zoneName: where the record is.
    func fires(for transition: RecordTransition, _ tested: inout TestedRecord, inZoneNamed zoneName: String, of database: DatabaseKey) -> Bool {
        switch subscription.kind {
        case .query(let subscribed):
            guard let tests, transition.hasChanged, !transition.record.isDamaged, subscribed.firesOn.contains(transition.reason.firesOn),
                transition.record.row.type == subscribed.query.recordType, subscribed.zoneID.map({ $0.zoneName == zoneName }) ?? true
            else { return false }
            return tests.allSatisfy { (try? $0.passes(&tested)) ?? false }
        case .zone(let zoneID, let recordType):
            guard zoneID.zoneName == zoneName, database.hasFeed(inZoneNamed: zoneName) else { return false }
            return recordType.map { $0 == transition.record.row.type } ?? true
        case .database(let recordType):
            guard database.hasFeed(inZoneNamed: zoneName) else { return false }
            return recordType.map { $0 == transition.record.row.type } ?? true
        }
    }

    /// Whether it tells that zones came or went.
    var firesForZones: Bool {
        if case .database(nil) = subscription.kind { true } else { false }
    }
}
