package import NacreCloudStorage
package import NacreCloudWire

/// The changes of one zone that one webhook is told of, in their order. The public database and default zones have no
/// feed of changes, so commits keep these rows for webhooks alone.
package struct WebhookFeed: Hashable, Sendable {
    package var webhook: String
    package var zone: ZoneAddress

    package init(webhook: String, zone: ZoneAddress) {
        (self.webhook, self.zone) = (webhook, zone)
    }

    /// Reads the name of a task; nil for another text.
    package init?(_ task: TaskKey) {
        let parts = task.name.split(separator: " ")
        guard task.kind == .deliverWebhook, parts.count == 2, let zone = UInt64(parts[1], radix: 16) else { return nil }
        self.init(webhook: String(parts[0]), zone: ZoneAddress(database: task.database, zone: Int64(bitPattern: zone)))
    }

    /// The name of its task and of its position. Names of one webhook begin with its ID and a space.
    package var name: String { "\(webhook) \(HexText.encode(UInt64(bitPattern: zone.zone)))" }

    package var taskKey: TaskKey { TaskKey(zone.database, .deliverWebhook, name) }

    package var positionKey: EntryKey { EntryKey(zone.database, .webhookPosition, name) }

    var countKey: EntryKey { EntryKey(zone.database, .webhookCount, name) }

    /// The keys of what is kept of a feed beside its changes.
    package var placeKeys: [EntryKey] { [positionKey, countKey] }

    /// The key of a place's row, and without a place the key before all rows.
    func key(of place: WebhookPlace?) -> String { "\(name) \(place?.text ?? "")" }

    /// The place of a row; nil for a row of another feed.
    func place(of key: String) -> WebhookPlace? {
        let prefix = self.key(of: nil)
        return key.hasPrefix(prefix) ? WebhookPlace(text: key.dropFirst(prefix.count)) : nil
    }
}

/// A place among a webhook's changes of a zone: a commit, and a part of its changes.
package struct WebhookPlace: Hashable, Sendable {
    package var number: ChangeNumber
    package var part: Int64

    package init(number: ChangeNumber, part: Int64) {
        (self.number, self.part) = (number, part)
    }

    /// Sorts by its bytes as places follow each other. Runs and counts are never negative.
    var text: String { [number.run, number.seq, part].map { HexText.encode(UInt64(bitPattern: $0)) }.joined() }

    init?(text: Substring) {
        let digits = Array(text.utf8)
        guard digits.count == 48 else { return nil }
        let numbers = stride(from: 0, to: 48, by: 16).compactMap {
            UInt64(String(decoding: digits[$0..<$0 + 16], as: UTF8.self), radix: 16).map(Int64.init(bitPattern:))
        }
        guard numbers.count == 3 else { return nil }
        self.init(number: ChangeNumber(run: numbers[0], seq: numbers[1]), part: numbers[2])
    }

    func write(to writer: inout ByteWriter) {
        writer.write(number)
        writer.signed(part)
    }

    init(_ reader: inout ByteReader) throws(MalformedBytes) {
        self.init(number: try reader.changeNumber(), part: try reader.signed())
    }
}

/// A row of a webhook's feed: some changes of a commit.
struct WebhookChanges: Sendable {
    var time: Timestamp
    var zoneName: String
    /// The feed's changes before this row.
    var before = WebhookExtent()
    var transitions: [RecordTransition] = []

    private static let version: UInt8 = 2
    /// On this server: rows that are read and removed together. Each may have some 64 KB.
    static let rowsRemoved = 32

    func row(at place: WebhookPlace, of feed: WebhookFeed) -> EntryRow {
        var writer = ByteWriter()
        writer.byte(Self.version)
        before.write(to: &writer)
        writer.number(UInt64(transitions.count))
        writer.double(time.secondsSince2001)
        writer.string(zoneName)
        for transition in transitions { transition.write(to: &writer) }
        return EntryRow(
            key: EntryKey(feed.zone.database, .webhookChange, feed.key(of: place)), value: writer.bytes,
            expires: time + Limits.webhookChangeSeconds)
    }

    init(time: Timestamp, zoneName: String) {
        (self.time, self.zoneName) = (time, zoneName)
    }

    init(_ row: EntryRow, in zone: ZoneAddress) throws(StoreError) {
        do throws(MalformedBytes) {
            var reader = ByteReader(row.value)
            let (before, count) = try Self.begin(&reader)
            self.init(time: Timestamp(secondsSince2001: try reader.double()), zoneName: try reader.string())
            self.before = before
            for _ in 0..<count { transitions.append(try RecordTransition(&reader, in: zone)) }
        } catch {
            throw Self.malformed
        }
    }

    /// Returns the time of the commit of a row's changes.
    static func time(of row: EntryRow) -> Timestamp? {
        var reader = ByteReader(row.value)
        guard (try? begin(&reader)) != nil, let seconds = try? reader.double() else { return nil }
        return Timestamp(secondsSince2001: seconds)
    }

    /// Returns the feed's changes before a row, and with it.
    static func span(of row: EntryRow) throws(StoreError) -> (before: WebhookExtent, after: WebhookExtent) {
        do throws(MalformedBytes) {
            var reader = ByteReader(row.value)
            let (before, count) = try begin(&reader)
            return (before, before + WebhookExtent(changes: Int64(count), bytes: Int64(row.value.count)))
        } catch {
            throw malformed
        }
    }

    private static func begin(_ reader: inout ByteReader) throws(MalformedBytes) -> (before: WebhookExtent, count: Int) {
        guard try reader.byte() == version else { throw MalformedBytes() }
        return (try WebhookExtent(&reader), try reader.count())
    }

    private static let malformed = StoreError(.corrupt, "A change that is kept for a webhook is malformed")
}

extension WritePlan {
    /// On this server: bounds of a row, so that a delivery reads little more than it sends.
    private static let (changesOfRow, bytesOfRow) = (50, 64 * 1024)

    /// Keeps changes of a commit for webhooks, and wakes the task of each that has none. Drops the oldest rows of a
    /// full feed. Costs two calls of the store where a webhook is told, and more for each full feed. Call it under
    /// the zone's lock.
    /// - Parameter most: the most that is kept of a feed.
    /// - Returns: the number of rows that are written and dropped.
    mutating func add(
        _ transitions: [RecordTransition], in zone: ZoneRow, for webhooks: [Webhook], keeping most: WebhookExtent, at now: Timestamp,
        _ transaction: any WriteTransaction
    ) throws -> Int {
        let told = webhooks.map {
            (feed: WebhookFeed(webhook: $0.id, zone: zone.address), parts: Self.parts(transitions, in: zone, for: $0, at: now))
        }
        .filter { !$0.parts.isEmpty }
        if told.isEmpty { return 0 }
        let counts = try transaction.counts(of: told.map(\.feed))
        var rows = 0
        for (feed, parts) in told {
            var count = counts[feed.name] ?? WebhookCount(zoneName: zone.name)
            let start = count.end
            for (index, var part) in parts.enumerated() {
                part.before = count.end
                let row = part.row(at: WebhookPlace(number: zone.number, part: Int64(index)), of: feed)
                count.end = count.end + WebhookExtent(changes: Int64(part.transitions.count), bytes: Int64(row.value.count))
                entries.append(row)
            }
            let dropped = try count.drop(from: feed, start: start, added: parts.count, keeping: most, transaction)
            entriesRemoved += dropped
            entries.append(count.row(of: feed))
            rows += parts.count + dropped.count
        }
        try wake(told.map(\.feed), at: now, transaction)
        return rows
    }

    /// Has webhooks told that a zone is gone, after its changes. Costs two calls of the store where there are webhooks.
    /// Call it under the zone's lock.
    /// - Parameter state: the reason why it goes.
    mutating func add(
        endOf zone: ZoneRow, as state: ZoneRow.State, for webhooks: [Webhook], at now: Timestamp, _ transaction: any WriteTransaction
    ) throws {
        if webhooks.isEmpty { return }
        let feeds = webhooks.map { WebhookFeed(webhook: $0.id, zone: zone.address) }
        let counts = try transaction.counts(of: feeds)
        for feed in feeds {
            var count = counts[feed.name] ?? WebhookCount(zoneName: zone.name)
            count.zoneState = state
            entries.append(count.row(of: feed))
        }
        try wake(feeds, at: now, transaction)
    }

    /// Leaves a task for each feed that has none. A task that waits keeps its attempts and its pause: the lock makes
    /// its last look see this commit.
    package mutating func wake(_ feeds: [WebhookFeed], at now: Timestamp, _ transaction: any WriteTransaction) throws {
        let woken = feeds.map { WebhookTask(since: now).row(of: $0, due: now) }
        let known = Set(try transaction.tasks(locking: woken.map(\.key)).map(\.key))
        tasks += woken.filter { !known.contains($0.key) }
    }

    /// Returns the changes of a commit that a webhook is told of, a part for each row.
    private static func parts(_ transitions: [RecordTransition], in zone: ZoneRow, for webhook: Webhook, at now: Timestamp) -> [WebhookChanges] {
        var (parts, bytes) = ([WebhookChanges](), Int.max)
        for transition in transitions {
            guard let kept = webhook.kept(transition, in: zone.address) else { continue }
            if bytes >= bytesOfRow || parts.last.map({ $0.transitions.count >= changesOfRow }) ?? true {
                parts.append(WebhookChanges(time: now, zoneName: zone.name))
                bytes = 0
            }
            parts[parts.count - 1].transitions.append(kept)
            bytes += kept.record.row.body.count
        }
        return parts
    }
}

/// The state of a webhook's task in the outbox.
package struct WebhookTask: Hashable, Sendable {
    /// The time of the oldest change that the receiver has not acknowledged.
    package var since: Timestamp

    private static let version: UInt8 = 1

    package init(since: Timestamp) {
        self.since = since
    }

    package init(_ task: TaskRow) throws {
        var reader = ByteReader(task.payload)
        guard (try? reader.byte()) == Self.version, let seconds = try? reader.double() else { throw task.malformed }
        since = Timestamp(secondsSince2001: seconds)
    }

    package var payload: [UInt8] {
        var writer = ByteWriter()
        writer.byte(Self.version)
        writer.double(since.secondsSince2001)
        return writer.bytes
    }

    package func row(of feed: WebhookFeed, due: Timestamp) -> TaskRow { TaskRow(key: feed.taskKey, payload: payload, due: due) }
}

extension ReadTransaction {
    package func position(of feed: WebhookFeed) throws -> WebhookPosition {
        let key = feed.positionKey
        // With an unreadable position the feed begins anew, and the receiver is told so.
        return try entries(in: key.database, key.kind, keys: [key.key]).first.flatMap { try? WebhookPosition($0) } ?? WebhookPosition()
    }

    /// Returns the keys of the first changes of a feed, and whether they are all.
    package func oldestChanges(in feed: WebhookFeed) throws -> (keys: [EntryKey], areAll: Bool) {
        let rows = try rows(of: feed, behind: nil, limit: WebhookChanges.rowsRemoved)
        return (rows.map(\.key), rows.count < WebhookChanges.rowsRemoved)
    }

    /// Returns whether a feed has changes behind a place, and the time of the first of them; nil: its row is damaged.
    package func nextChange(in feed: WebhookFeed, behind place: WebhookPlace?) throws -> (isThere: Bool, time: Timestamp?) {
        let row = try rows(of: feed, behind: place, limit: 1).first
        return (row != nil, row.flatMap(WebhookChanges.time))
    }

    private func rows(of feed: WebhookFeed, behind place: WebhookPlace?, limit: Int) throws -> [EntryRow] {
        try entries(in: feed.zone.database, .webhookChange, after: feed.key(of: place), limit: limit).filter { feed.place(of: $0.key.key) != nil }
    }

    /// Returns the tasks of webhooks in a database, waiting and parked ones, in the order of their names.
    package func webhookTasks(in database: DatabaseID, limit: Int) throws -> [TaskRow] {
        let before = RowKey.database(database, .number(TaskKind.deliverWebhook.rawValue), .text(""))
        return try rows(of: .tasks, after: before, limit: limit).compactMap { row in
            guard case .task(let task) = row.value, task.key.database == database, task.key.kind == .deliverWebhook else { return nil }
            return task
        }
    }
}

extension WriteTransaction {
    /// Forgets changes that are kept for webhooks, some at a time. Counts and positions stay: receivers are told that
    /// changes are lost.
    /// - Returns: whether there were any.
    func forgetWebhookChanges(of database: DatabaseID) throws -> Bool {
        var plan = WritePlan()
        plan.entriesRemoved = try entries(in: database, .webhookChange, after: nil, limit: WebhookChanges.rowsRemoved).map(\.key)
        if plan.entriesRemoved.isEmpty { return false }
        try apply(plan)
        return true
    }
}
