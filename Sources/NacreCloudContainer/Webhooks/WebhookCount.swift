package import NacreCloudStorage
import NacreCloudWire

/// A number of a feed's changes, and the bytes that they take as they are kept.
package struct WebhookExtent: Hashable, Sendable {
    package var changes: Int64
    package var bytes: Int64

    package init(changes: Int64 = 0, bytes: Int64 = 0) {
        (self.changes, self.bytes) = (changes, bytes)
    }

    /// The most that is kept of a feed.
    package static let mostKept = WebhookExtent(changes: Int64(Limits.webhookChangesKept), bytes: Int64(Limits.webhookBytesKept))

    static func + (one: WebhookExtent, other: WebhookExtent) -> WebhookExtent {
        WebhookExtent(changes: one.changes &+ other.changes, bytes: one.bytes &+ other.bytes)
    }

    func write(to writer: inout ByteWriter) {
        writer.signed(changes)
        writer.signed(bytes)
    }

    init(_ reader: inout ByteReader) throws(MalformedBytes) {
        self.init(changes: try reader.signed(), bytes: try reader.signed())
    }
}

/// The count of a feed's changes from its beginning on. Each row has the count of the changes before it, so that a gap
/// shows wherever rows are missing. Commits change the count under the zone's lock.
struct WebhookCount: Hashable, Sendable {
    var zoneName: String
    /// All changes so far.
    var end = WebhookExtent()
    /// The changes before the oldest kept one. Fewer, if rows have expired since the count was last too large.
    var oldest = WebhookExtent()
    /// Whether the zone is gone, and why. Nothing comes after its changes.
    var zoneState = ZoneRow.State.live

    private static let version: UInt8 = 1
    /// On this server: the oldest rows that are read together, and those that a commit drops at most. A commit with
    /// more than half as many rows drops twice as many as it adds.
    private static let (rowsTogether, rowsDropped) = (4, 16)
    /// Bytes that a commit adds for each row that it may drop beyond these. The oldest rows may be far smaller than the
    /// new ones: a feed exceeds its bytes by as many KB as it has rows, at most.
    private static let bytesForDrop: Int64 = 1024

    init(zoneName: String) {
        self.zoneName = zoneName
    }

    init(_ row: EntryRow) throws(StoreError) {
        do throws(MalformedBytes) {
            var reader = ByteReader(row.value)
            guard try reader.byte() == Self.version else { throw MalformedBytes() }
            zoneName = try reader.string()
            end = try WebhookExtent(&reader)
            oldest = try WebhookExtent(&reader)
            guard let state = ZoneRow.State(rawValue: Int64(try reader.byte())) else { throw MalformedBytes() }
            zoneState = state
        } catch {
            throw StoreError(.corrupt, "The count of a webhook's changes is malformed")
        }
    }

    func row(of feed: WebhookFeed) -> EntryRow {
        var writer = ByteWriter()
        writer.byte(Self.version)
        writer.string(zoneName)
        end.write(to: &writer)
        oldest.write(to: &writer)
        writer.byte(UInt8(clamping: zoneState.rawValue))
        return EntryRow(key: feed.countKey, value: writer.bytes)
    }

    /// Whether more is kept than may be.
    func exceeds(_ most: WebhookExtent) -> Bool { end.changes - oldest.changes > most.changes || end.bytes - oldest.bytes > most.bytes }

    /// Takes the oldest rows of a feed out of the count while it is too large. A commit drops a bounded number of rows;
    /// later commits drop the rest.
    /// - Parameters:
    ///   - start: the end before the rows that this commit adds.
    ///   - added: the number of these rows.
    /// - Returns: the keys of the rows that go.
    mutating func drop(
        from feed: WebhookFeed, start: WebhookExtent, added: Int, keeping most: WebhookExtent, _ transaction: any ReadTransaction
    ) throws -> [EntryKey] {
        var dropped: [EntryKey] = []
        let rowsMost = max(Self.rowsDropped, 2 * added, Int((end.bytes &- start.bytes) / Self.bytesForDrop))
        while exceeds(most), dropped.count < rowsMost {
            let last = dropped.last?.key ?? feed.key(of: nil)
            let rows = try transaction.entries(in: feed.zone.database, .webhookChange, after: last, limit: Self.rowsTogether)
                .filter { feed.place(of: $0.key.key) != nil }
            guard !rows.isEmpty else {
                // The rows of this commit alone are left.
                oldest = start
                break
            }
            for row in rows {
                // A damaged row goes too: it must not refuse saves, and the count of the next row shows the gap.
                let span = try? WebhookChanges.span(of: row)
                oldest = span?.before ?? oldest
                guard exceeds(most) else { return dropped }
                oldest = span?.after ?? oldest
                dropped.append(row.key)
            }
        }
        return dropped
    }
}

/// A point in a feed. A receiver has all changes before it, or was told that they are lost.
package struct WebhookPoint: Hashable, Sendable {
    /// The place of the last row before the point; nil: there is none.
    package var place: WebhookPlace?
    /// The number of changes before the point, from the feed's beginning on.
    package var changes: Int64

    package init(place: WebhookPlace? = nil, changes: Int64 = 0) {
        (self.place, self.changes) = (place, changes)
    }

    func write(to writer: inout ByteWriter) {
        writer.byte(place == nil ? 0 : 1)
        place?.write(to: &writer)
        writer.signed(changes)
    }

    init(_ reader: inout ByteReader) throws(MalformedBytes) {
        place = try reader.byte() == 1 ? try WebhookPlace(&reader) : nil
        changes = try reader.signed()
    }
}

extension ReadTransaction {
    /// Returns the counts of feeds of one zone. An unreadable one is absent: its feed then begins anew.
    func counts(of feeds: [WebhookFeed]) throws -> [String: WebhookCount] {
        guard let database = feeds.first?.zone.database else { return [:] }
        let rows = try entries(in: database, .webhookCount, keys: feeds.map(\.name))
        return Dictionary(
            rows.compactMap { row in (try? WebhookCount(row)).map { (row.key.key, $0) } }, uniquingKeysWith: { first, _ in first })
    }

    /// Whether a webhook is to be told that the zone of a feed is gone.
    package func isEnding(_ feed: WebhookFeed) throws -> Bool { try (counts(of: [feed])[feed.name]?.zoneState ?? .live) != .live }

    /// Returns the number of a feed's changes behind a point that are not kept any more. Expired rows count as kept
    /// until they are removed.
    package func lost(in feed: WebhookFeed, behind point: WebhookPoint) throws -> Int64 {
        let row = try entries(in: feed.zone.database, .webhookChange, after: feed.key(of: point.place), limit: 1).first
        if let row, feed.place(of: row.key.key) != nil {
            return max(((try? WebhookChanges.span(of: row))?.before.changes ?? 0) - point.changes, 0)
        }
        return max((try counts(of: [feed])[feed.name]?.end.changes ?? 0) - point.changes, 0)
    }
}
