package import NacreCloudStorage
package import NacreCloudWire

/// A notification that waits for a device. Each is an entry, in the order of their numbers.
package struct QueuedNotification: Hashable, Sendable {
    /// The number in the device's queue, which counts up.
    package var number: Int64
    /// The bytes that the device gets.
    package var json: [UInt8]
    /// The IDs of the change and the subscription.
    package var identity: String
    /// The key of notifications of which only the last waits; empty: none.
    package var coalescing: String
    package var collapseID: String
    package var priority: UInt8
    /// The time after which the notification is of no use.
    package var expires = Timestamp(secondsSince2001: 0)

    /// The time when it was put into the queue.
    package var queued: Timestamp { expires + -Limits.notificationSeconds }

    /// Whether it tells the device to fetch everything.
    package var tellsEverything: Bool { subscriptionID.isEmpty }

    /// Empty for a notification to fetch everything.
    package var subscriptionID: String
    /// The record of a query subscription's notification; empty for others.
    package var recordName: String

    private static let version: UInt8 = 2

    package static func key(_ device: String, _ number: Int64) -> String {
        let digits = String(number)
        return "\(device) " + String(repeating: "0", count: max(0, 19 - digits.count)) + digits
    }

    package static func identity(of payload: Payload) -> String { "\(payload.id ?? "") \(payload.subscriptionID ?? "")" }

    /// Makes a notification without its bytes.
    package init(_ queued: QueuedPayload, number: Int64) {
        let payload = queued.payload
        self.number = number
        json = []
        identity = Self.identity(of: payload)
        coalescing = payload.coalescing ?? ""
        collapseID = payload.collapseID ?? ""
        priority = payload.priority.rawValue
        subscriptionID = payload.subscriptionID ?? ""
        recordName = payload.recordName ?? ""
    }

    /// Returns the line of the push log for an event of the notification.
    /// - Parameter said: the push service's answer.
    package func line(_ event: PushLogLine.Event, at time: Timestamp, said: String = "") -> PushLogLine {
        PushLogLine(time: time, event: event, number: number, subscriptionID: subscriptionID, recordName: recordName, said: said)
    }

    package func row(of device: String, in database: DatabaseID, at now: Timestamp) -> EntryRow {
        var writer = ByteWriter()
        writer.byte(Self.version)
        writer.signed(number)
        writer.byte(priority)
        writer.string(identity)
        writer.string(coalescing)
        writer.string(collapseID)
        writer.block(json)
        writer.string(subscriptionID)
        writer.string(recordName)
        return EntryRow(
            key: EntryKey(database, .notification, Self.key(device, number)), value: writer.bytes, expires: now + Limits.notificationSeconds)
    }

    package init(_ row: EntryRow) throws(StoreError) {
        do {
            var reader = ByteReader(row.value)
            guard try reader.byte() == Self.version else { throw MalformedBytes() }
            number = try reader.signed()
            priority = try reader.byte()
            identity = try reader.string()
            coalescing = try reader.string()
            collapseID = try reader.string()
            json = try reader.block()
            subscriptionID = try reader.string()
            recordName = try reader.string()
            if let expires = row.expires { self.expires = expires }
        } catch {
            throw StoreError(.corrupt, "A notification is malformed")
        }
    }
}

/// A payload in the form that queues take. Its bytes are made once for all devices of a user, without the parts that do
/// not fit, before the transaction that queues it.
package struct QueuedPayload: Sendable {
    private struct Form: Sendable {
        let payload: Payload
        /// nil: the bytes differ by device, because the payload counts a badge.
        let bytes: [UInt8]?

        init(_ payload: Payload, room: Int) {
            self.payload = payload.fitted(into: room)
            bytes = payload.countsBadge ? nil : self.payload.json(badge: 0)
        }
    }

    package let payload: Payload
    private let whole: Form
    /// The form for browsers, which have less room; nil: the same as `whole`.
    private let narrow: Form?

    package init(_ payload: Payload) {
        self.payload = payload
        whole = Form(payload, room: Limits.payloadBytes)
        let count = (whole.bytes ?? whole.payload.json(badge: .max)).count
        narrow = count > Limits.webPushPayloadBytes ? Form(payload, room: Limits.webPushPayloadBytes) : nil
    }

    /// - Parameter room: bytes that the device's push service takes.
    package func json(badge: Int64, room: Int) -> [UInt8] {
        let form = room < Limits.payloadBytes ? narrow ?? whole : whole
        return form.bytes ?? form.payload.json(badge: badge)
    }

    /// Whether the payload replaces waiting notifications with the same key.
    package var replacesOthers: Bool { payload.coalescing != nil || payload.collapseID != nil }

    package var scope: DatabaseKey.Scope { payload.scope }

    /// The number of its bytes; `Limits.payloadBytes` where they differ by device.
    package var bytesAtMost: Int { whole.bytes?.count ?? Limits.payloadBytes }
}
