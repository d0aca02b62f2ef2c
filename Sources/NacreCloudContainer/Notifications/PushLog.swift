package import NacreCloudStorage
package import NacreCloudWire

/// An event in the course of a notification to a device.
package struct PushLogLine: Hashable, Sendable {
    /// Raw values are kept: never change one.
    package enum Event: UInt8, Hashable, Sendable, CaseIterable {
        /// The notification waits for the device.
        case queued = 1
        /// A later notification has taken its place.
        case coalesced = 2
        /// The queue was full: a notification to fetch everything replaced it and all that waited.
        case everything = 3
        /// A push service has taken it.
        case sent = 4
        /// A push service has asked to wait, or did not answer.
        case postponed = 5
        /// A push service will never take it.
        case refused = 6
        /// A push service does not know the device any more.
        case addressEnded = 7
    }

    package var time: Timestamp
    package var event: Event
    /// The notification's number in the device's queue.
    package var number: Int64
    /// Empty for a notification to fetch everything.
    package var subscriptionID: String
    /// The record of a query subscription's notification; empty for others.
    package var recordName: String
    /// The push service's answer, for example `410 Unregistered`.
    package var said: String
}

/// The rows of a device's push log, a ring of `Limits.pushLogRowsPerDevice` rows. A notification that waits has no
/// line: its `queued` line is written when it leaves the queue.
package enum PushLog {
    private static let version: UInt8 = 1

    private static func key(_ device: String, _ place: Int64) -> String { "\(device) \(HexText.encode(UInt64(place)))" }

    /// Returns the lines in as few rows as possible.
    /// - Parameter count: the number of rows that the device has had.
    package static func rows(_ lines: [PushLogLine], of device: String, count: Int64, in database: DatabaseID, at now: Timestamp) -> [EntryRow] {
        var rows: [EntryRow] = []
        var rest = lines[...]
        while !rest.isEmpty { rows.append(row(&rest, of: device, count: count + Int64(rows.count), in: database, at: now)) }
        return rows
    }

    /// Returns a row of as many lines as it has room for, and removes them from `lines`.
    private static func row(
        _ lines: inout ArraySlice<PushLogLine>, of device: String, count: Int64, in database: DatabaseID, at now: Timestamp
    ) -> EntryRow {
        var writer = ByteWriter()
        writer.byte(version)
        while writer.bytes.count < Limits.pushLogBytes, let line = lines.popFirst() {
            writer.double(line.time.secondsSince2001)
            writer.byte(line.event.rawValue)
            writer.signed(line.number)
            writer.string(line.subscriptionID)
            writer.string(line.recordName)
            writer.string(line.said)
        }
        let place = count % Int64(Limits.pushLogRowsPerDevice)
        return EntryRow(key: EntryKey(database, .pushLog, key(device, place)), value: writer.bytes, expires: now + Limits.pushLogSeconds)
    }

    /// Returns the time when a row was written, which is after the events of its lines.
    package static func time(of row: EntryRow) -> Timestamp? { row.expires.map { $0 + -Limits.pushLogSeconds } }

    package static func lines(of row: EntryRow) throws(StoreError) -> [PushLogLine] {
        do {
            var reader = ByteReader(row.value)
            guard try reader.byte() == version else { throw MalformedBytes() }
            var lines: [PushLogLine] = []
            while !reader.isAtEnd {
                let time = Timestamp(secondsSince2001: try reader.double())
                guard let event = PushLogLine.Event(rawValue: try reader.byte()) else { throw MalformedBytes() }
                lines.append(
                    PushLogLine(
                        time: time, event: event, number: try reader.signed(), subscriptionID: try reader.string(),
                        recordName: try reader.string(), said: try reader.string()))
            }
            return lines
        } catch {
            throw StoreError(.corrupt, "A push log is malformed")
        }
    }
}

extension ReadTransaction {
    /// Returns the rows of a device's push log, in no order.
    package func pushLogRows(of device: String, in database: DatabaseID) throws -> [EntryRow] {
        let prefix = "\(device) "
        return try entries(in: database, .pushLog, after: prefix, limit: Limits.pushLogRowsPerDevice)
            .filter { $0.key.key.utf8.starts(with: prefix.utf8) }
    }
}
