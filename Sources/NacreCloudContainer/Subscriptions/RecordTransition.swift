package import NacreCloudStorage
package import NacreCloudWire

/// The change that a commit made to one record, as far as subscriptions ask.
package struct RecordTransition: Equatable, Sendable {
    /// Raw values are kept in tasks, and are those of CloudKit's notifications: never change one.
    package enum Reason: UInt8, Hashable, Sendable, CaseIterable {
        case created = 1
        case updated = 2
        case deleted = 3

        package var firesOn: FiresOn {
            switch self {
            case .created: .create
            case .updated: .update
            case .deleted: .delete
            }
        }
    }

    package let reason: Reason
    /// The record as it is now, or as it was before it went. It has at least the fields that subscriptions look at.
    package let record: StoredRecord
    /// Whether something of the record differs from before.
    package let hasChanged: Bool

    package init(reason: Reason, record: StoredRecord, hasChanged: Bool) {
        self.reason = reason
        self.record = record
        self.hasChanged = hasChanged
    }

    /// - Parameter before: the record that the save replaces: live, a tombstone, or nil.
    package init(from before: StoredRecord?, to after: StoredRecord) {
        guard let live = before, live.isThere else {
            self.init(reason: .created, record: after, hasChanged: true)
            return
        }
        let isSame = live.isLive && live.content.fields == after.content.fields && live.row.parent == after.row.parent
        self.init(reason: .updated, record: after, hasChanged: !isSame)
    }

    package init(deleting before: StoredRecord) {
        self.init(reason: .deleted, record: before, hasChanged: !before.isDamaged)
    }

    /// Returns the transition with these fields alone.
    package func only(_ fields: Set<String>, in zone: ZoneAddress) -> RecordTransition {
        var content = record.content
        content.fields = RecordFields(content.fields.entries.filter { fields.contains($0.name) })
        content.formerTypes = []
        content.manifest = nil
        var row = record.row
        row.isTombstone = false
        row.body = RecordBody.encode(
            content, in: zone, name: row.name, type: row.type, number: row.number, isTombstone: false, parent: row.parent)
        return RecordTransition(reason: reason, record: StoredRecord(row: row, content: content), hasChanged: hasChanged)
    }

    // MARK: As a task keeps it

    package func write(to writer: inout ByteWriter) {
        writer.byte(reason.rawValue)
        writer.byte(hasChanged ? 1 : 0)
        writer.string(record.row.name)
        writer.string(record.row.type)
        writer.write(record.row.number)
        writer.byte(record.row.parent == nil ? 0 : 1)
        if let parent = record.row.parent { writer.string(parent) }
        writer.block(record.row.body)
    }

    package init(_ reader: inout ByteReader, in zone: ZoneAddress) throws(MalformedBytes) {
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
    /// The record in the form that filters test.
    package var tested: TestedRecord { TestedRecord { record.value(of: $0) } }
}

/// Decides whether a subscription fires for a change. The subscriber's right to read is checked separately.
///
/// CloudKit: an update fires where the record matches after it. A record that stops matching is not deleted, and fires
/// nothing. On this server: a save that changes nothing fires no query subscription, though the zone's feed moves.
package struct FiringRule {
    package let subscription: Subscription
    /// The prepared filters of a query subscription; nil: its type no longer allows them.
    package let tests: [FilterTest]?

    /// - Parameter once: whether the rule is asked about one change only.
    package init(_ subscription: Subscription, by rule: SubscriptionRule, once: Bool = false) {
        self.subscription = subscription
        guard case .query(let subscribed) = subscription.kind, let shape = try? rule.shape(of: subscribed.query, for: .firing) else {
            tests = nil
            return
        }
        tests = shape.filters.map { FilterTest($0.filter, fields: $0.fields.map(\.name), once: once) }
    }

    /// - Parameter zoneName: the zone of the record.
    package func fires(for transition: RecordTransition, inZoneNamed zoneName: String, of database: DatabaseKey) -> Bool {
        var tested = transition.tested
        return fires(for: transition, &tested, inZoneNamed: zoneName, of: database)
    }

    /// - Parameters:
    ///   - tested: the transition's record. A caller with many subscriptions prepares its lists and words once.
    ///   - zoneName: the zone of the record.
    package func fires(for transition: RecordTransition, _ tested: inout TestedRecord, inZoneNamed zoneName: String, of database: DatabaseKey) -> Bool
    {
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

    /// Whether the subscription fires when zones come or go.
    package var firesForZones: Bool {
        if case .database(nil) = subscription.kind { true } else { false }
    }
}
