import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// The point up to which a webhook's receiver has acknowledged a feed, and what it said last.
package struct WebhookPosition: Hashable, Sendable {
    package var point = WebhookPoint()
    /// Whether the next delivery tells that the feed begins anew, because none was acknowledged before it.
    package var isReset = true
    package var said = ""
    /// Whether the last delivery was acknowledged.
    package var isTaken = true
    /// The time of the last delivery; nil: there was none.
    package var time: Timestamp?

    private static let version: UInt8 = 2

    package init() {}

    package init(_ row: EntryRow) throws(StoreError) {
        do throws(MalformedBytes) {
            var reader = ByteReader(row.value)
            guard try reader.byte() == Self.version else { throw MalformedBytes() }
            isReset = try reader.byte() == 1
            point = try WebhookPoint(&reader)
            isTaken = try reader.byte() == 1
            said = try reader.string()
            time = try reader.byte() == 1 ? Timestamp(secondsSince2001: try reader.double()) : nil
        } catch {
            throw StoreError(.corrupt, "The position of a webhook is malformed")
        }
    }

    package func row(_ key: EntryKey) -> EntryRow {
        var writer = ByteWriter()
        writer.byte(Self.version)
        writer.byte(isReset ? 1 : 0)
        point.write(to: &writer)
        writer.byte(isTaken ? 1 : 0)
        writer.string(said)
        writer.byte(time == nil ? 0 : 1)
        if let time { writer.double(time.secondsSince2001) }
        return EntryRow(key: key, value: writer.bytes)
    }

    package mutating func note(_ report: WebhookReport, at now: Timestamp) {
        (said, isTaken, time) = (report.said, report.isTaken, now)
    }
}

/// The content of a cursor, which receivers see sealed: a point in a feed, up to which its holder has everything.
package struct WebhookCursor: Hashable, Sendable {
    package var feed: WebhookFeed
    package var point: WebhookPoint

    private static let version: UInt8 = 4

    package init(feed: WebhookFeed, point: WebhookPoint) {
        (self.feed, self.point) = (feed, point)
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.byte(Self.version)
        writer.string(feed.webhook)
        writer.signed(feed.zone.database.rawValue)
        writer.signed(feed.zone.zone)
        point.write(to: &writer)
        return writer.bytes
    }

    /// Returns nil for bytes that are no cursor.
    package init?(_ bytes: [UInt8]) {
        do throws(MalformedBytes) {
            var reader = ByteReader(bytes)
            guard try reader.byte() == Self.version else { return nil }
            let (webhook, database, zone) = (try reader.string(), try reader.signed(), try reader.signed())
            point = try WebhookPoint(&reader)
            feed = WebhookFeed(webhook: webhook, zone: ZoneAddress(database: DatabaseID(rawValue: database), zone: zone))
            guard reader.isAtEnd else { return nil }
        } catch {
            return nil
        }
    }
}

extension WebhookCursor {
    /// Whether the cursor is of this zone as it is, and not from a future that was lost with an older copy of the data.
    package func isGood(for feed: WebhookFeed, _ zone: ZoneRow?, _ transaction: any ReadTransaction) throws -> Bool {
        guard self.feed == feed else { return false }
        guard let place = point.place, let zone else { return true }
        return try transaction.knows(place.number, of: zone)
    }
}

/// The next changes of a feed that a webhook is told of.
package struct WebhookPage: Sendable {
    package private(set) var changes: [RecordTransition] = []
    /// The point where the page ends.
    package private(set) var point: WebhookPoint
    /// The number of changes that are lost between the point where the page begins and its changes; nil: none. It is 0
    /// if the number is unknown.
    package private(set) var lost: Int64?
    /// The reason why the zone was deleted, where nothing comes after the page; nil: it was not.
    package private(set) var zoneDeleted: ZoneDeletionReason?
    /// The time of the commit at the end; nil: nothing was read.
    package private(set) var time: Timestamp?
    package private(set) var zoneName = ZoneID.defaultZoneName
    package private(set) var moreComing = false

    /// Whether there is anything to tell.
    package var isTold: Bool { !changes.isEmpty || lost != nil || zoneDeleted != nil }

    /// On this server: rows that are read together, and rows that a page looks at, at most.
    private static let (rowsTogether, rowsOfPage) = (8, 64)

    /// Reads on from a point; nil: from the oldest kept change. A page ends at `Limits.changesPerDelivery` changes or
    /// `Limits.deliveryBytes`, and before changes that are lost.
    package init(
        of webhook: Webhook, in feed: WebhookFeed, of key: DatabaseKey, after start: WebhookPoint?, by schema: Schema, at now: Timestamp,
        _ transaction: any ReadTransaction
    ) throws {
        point = start ?? WebhookPoint()
        try read(feed, of: key, by: webhook.rule(in: key, by: schema), isBound: start != nil, at: now, transaction)
        guard !moreComing, let count = try transaction.counts(of: [feed])[feed.name] else { return }
        zoneDeleted = count.zoneState.deletion
        if time != nil { return }
        if start != nil, count.end.changes != point.changes { lost = max(count.end.changes - point.changes, 0) }
        (point.changes, zoneName) = (count.end.changes, count.zoneName)
    }

    /// - Parameter isBound: the first change must follow on the point; otherwise changes are lost.
    private mutating func read(
        _ feed: WebhookFeed, of key: DatabaseKey, by rule: FiringRule?, isBound: Bool, at now: Timestamp, _ transaction: any ReadTransaction
    ) throws {
        var (last, bytes, rows) = (feed.key(of: point.place), 0, 0)
        while true {
            let found = try transaction.entries(in: feed.zone.database, .webhookChange, after: last, limit: Self.rowsTogether)
            for row in found {
                guard let place = feed.place(of: row.key.key) else { return }
                if changes.count >= Limits.changesPerDelivery || bytes >= Limits.deliveryBytes || rows >= Self.rowsOfPage {
                    moreComing = true
                    return
                }
                rows += 1
                last = row.key.key
                guard row.isLiving(at: now) else {
                    point.place = place
                    continue
                }
                let kept = try? WebhookChanges(row, in: feed.zone)
                let follows = kept?.before.changes == point.changes
                // The page ends before changes that are lost, which the next one tells.
                if time != nil, !follows {
                    moreComing = true
                    return
                }
                guard let kept else {
                    // A damaged row does not end the feed: its changes are lost, as the counts behind it show.
                    point.place = place
                    continue
                }
                if isBound, !follows { lost = max(kept.before.changes - point.changes, 0) }
                point = WebhookPoint(place: place, changes: kept.before.changes &+ Int64(kept.transitions.count))
                (time, zoneName) = (kept.time, kept.zoneName)
                bytes += row.value.count
                changes += kept.transitions.filter { rule?.fires(for: $0, inZoneNamed: kept.zoneName, of: key) ?? true }
            }
            if found.count < Self.rowsTogether { return }
        }
    }
}

extension Webhook {
    /// Returns the rule of its filters; nil: it has none, and is told of each change that was kept for it.
    ///
    /// The rule is that of query subscriptions: an update is told where the record matches after it.
    fileprivate func rule(in key: DatabaseKey, by schema: Schema) -> FiringRule? {
        guard let query, let asked = try? RecordsQueryRequest(json: Array(query.utf8)) else { return nil }
        let subscribed = SubscribedQuery(query: asked.query, firesOn: [.create, .update, .delete])
        return FiringRule(
            Subscription(subscriptionID: id, kind: .query(subscribed)),
            by: SubscriptionRule(database: key, schema: schema, caller: .administrator))
    }
}
