package import NacreCloudWire

/// What became of a notification on its way to a device.
package struct PushLogLine: Hashable, Sendable {
    /// Numbers are kept: never change one.
    package enum Event: UInt8, Hashable, Sendable, CaseIterable {
        /// It waits for the device.
        case queued = 1
        /// A later one has taken its place.
        case coalesced = 2
        /// There was no room: with all that waited it became a word to fetch everything.
        case everything = 3
        /// A push service has taken it.
        case sent = 4
        /// A push service has asked for patience, or did not answer.
        case postponed = 5
        /// A push service will never take it.
        case refused = 6
        /// A push service knows the device no more.
        case addressEnded = 7
    }

    package var time: Timestamp
    package var event: Event
    /// In the device's queue.
    package var number: Int64
    /// Empty for the word to fetch everything.
    package var subscriptionID: String
    /// Of a query subscription.
    package var recordName: String
    /// By a push service, such as `410 Unregistered`.
    package var said: String
}

/// Rows of a device's push log, in so many places that are used one after the other. What waits is its own log: that it was queued is said when it goes.
enum PushLog {
    private static let version: UInt8 = 1

    private static func key(_ device: String, _ place: Int64) -> String { "\(device) \(HexText.encode(UInt64(place)))" }

    /// As few as they fit into.
    /// - Parameter count: of the rows that the device has had.
    static func rows(_ lines: [PushLogLine], of device: String, count: Int64, in database: DatabaseID, at now: Timestamp) -> [EntryRow] {
        var rows: [EntryRow] = []
        var rest = lines[...]
        while !rest.isEmpty { rows.append(row(&rest, of: device, count: count + Int64(rows.count), in: database, at: now)) }
        return rows
    }

    /// Takes as many lines as one has room for.
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

    /// When a row was written, after what its lines tell of.
    static func time(of row: EntryRow) -> Timestamp? { row.expires.map { $0 + -Limits.pushLogSeconds } }

    static func lines(of row: EntryRow) throws(StoreError) -> [PushLogLine] {
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
    /// The rows of a device's push log, in no order.
    func pushLogRows(of device: String, in database: DatabaseID) throws -> [EntryRow] {
        let prefix = "\(device) "
        return try entries(in: database, .pushLog, after: prefix, limit: Limits.pushLogRowsPerDevice)
            .filter { $0.key.key.utf8.starts(with: prefix.utf8) }
    }
}
