package import NacreCloudStorage
package import NacreCloudWire

/// The body of a delivery, and the answer to a receiver that pulls.
package struct WebhookDelivery: Sendable {
    package var webhook: Webhook
    /// The database of the changes.
    package var database: DatabaseKey
    package var zoneName: String
    /// The number of the zone: a zone that is made anew under its name has another one.
    package var zone: Int64
    package var changes: [RecordTransition]
    /// The cursor behind the changes, sealed.
    package var cursor: String
    /// Whether what the receiver has of the zone counts no more: it reads the zone anew, and goes on behind the cursor.
    package var isReset: Bool
    /// The number of changes before these that are lost, as far as it is known.
    package var lost: Int64
    /// The reason why the zone was deleted, after these changes; nil: it was not.
    package var zoneDeleted: ZoneDeletionReason?
    package var moreComing: Bool
    /// Whether an administrator tries the webhook out.
    package var isTest: Bool

    package init(
        webhook: Webhook, database: DatabaseKey, zoneName: String = ZoneID.defaultZoneName, zone: Int64 = 0,
        changes: [RecordTransition] = [], cursor: String, isReset: Bool = false, lost: Int64 = 0, zoneDeleted: ZoneDeletionReason? = nil,
        moreComing: Bool = false, isTest: Bool = false
    ) {
        (self.webhook, self.database, self.zoneName, self.changes) = (webhook, database, zoneName, changes)
        (self.zone, self.cursor, self.isReset, self.lost, self.zoneDeleted) = (zone, cursor, isReset, lost, zoneDeleted)
        (self.moreComing, self.isTest) = (moreComing, isTest)
    }

    package var json: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.write("webhook", webhook.id)
        writer.write("container", database.container)
        writer.write("environment", database.environment.rawValue)
        writer.write("database", database.scope.rawValue)
        writer.write("zoneID", database.zoneID(zoneName), asAnswer: true)
        writer.write("zoneInstance", String(UInt64(bitPattern: zone), radix: 16))
        writer.write("cursor", cursor)
        if isReset { writer.write("reset", true) }
        if lost > 0 { writer.write("lost", lost) }
        if let zoneDeleted { writer.write("zoneDeleted", zoneDeleted.rawValue) }
        if isTest { writer.write("test", true) }
        writer.write("moreComing", moreComing)
        writer.key("changes")
        writer.beginArray()
        for change in changes { write(change, to: &writer) }
        writer.endArray()
        writer.endObject()
        return writer.finish()
    }

    private func write(_ change: RecordTransition, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.write("reason", "\(change.reason)")
        writer.write("recordName", change.record.row.name)
        writer.write("recordType", change.record.row.type)
        if change.reason != .deleted {
            writer.write("recordChangeTag", ChangeTag.text(change.record.row.number))
            webhook.sent(of: change).write(to: &writer, form: ValueForm(details: false, numbersAsStrings: false, isAnswer: true))
        }
        writer.endObject()
    }
}
