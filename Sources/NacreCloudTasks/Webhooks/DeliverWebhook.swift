import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

/// The task that tells a webhook of the changes in one zone, a delivery each chunk. There is one task for each webhook
/// and zone. It ends when the receiver has acknowledged everything, and a commit leaves it anew.
///
/// The position moves in the transaction after the receiver's 2xx. A worker that dies before it delivers the same
/// changes again: each comes at least once, in the order of the zone's commits. With several servers over one store
/// the task's lease lets one of them deliver at a time; a receiver has `Limits.webhookSeconds`, a sixth of a lease.
///
/// A receiver that does not acknowledge fails the task: it pauses longer each time, at least for as long as the
/// receiver asks, and is parked in the end. A receiver that is gone parks the task at once.
struct DeliverWebhook: TaskHandler {
    private var state: WebhookTask

    init(_ task: TaskRow) throws {
        state = try WebhookTask(task)
    }

    var payload: [UInt8] { state.payload }

    private struct Found: Sendable {
        var webhook: Webhook
        var position: WebhookPosition
        var page: WebhookPage
    }

    mutating func chunk(_ leased: LeasedTask) async throws -> Bool {
        let (cloud, now) = (leased.cloud, leased.cloud.clock())
        guard let feed = WebhookFeed(leased.key) else { throw leased.task.malformed }
        guard let sender = cloud.senders.webhooks, let key = try await cloud.store.read({ try $0.databases([feed.zone.database]).first?.key }),
            var found = try await Self.find(feed, of: key, at: now, cloud)
        else { return try await Self.end(feed, leased) }
        if found.page.isTold {
            let delivery = try cloud.delivery(of: found.page, to: found.webhook, feed, in: key, isReset: found.position.isReset)
            let report = await sender.send(delivery.json, to: found.webhook)
            // A worker that is to end leaves the task to the next one; nothing is wrong with the receiver.
            if !report.isTaken { try Task.checkCancellation() }
            WorkMeter.current?.add(rows: found.page.changes.count)
            found.position.note(report, at: cloud.clock())
            guard report.isTaken else {
                try await Self.keep(found.position, of: feed, leased)
                throw WebhookRefusal(webhook: feed.webhook, report: report)
            }
            found.position.isReset = false
        }
        found.position.point = found.page.point
        return try await settle(found.position, of: feed, isLast: found.page.zoneDeleted != nil, leased)
    }

    private static func find(_ feed: WebhookFeed, of key: DatabaseKey, at now: Timestamp, _ cloud: Cloud) async throws -> Found? {
        try await cloud.schemas.read(of: key.container, key.environment) { known, transaction in
            guard let webhook = known.schema.webhooks[feed.webhook] else { return nil }
            let position = try transaction.position(of: feed)
            let page = try WebhookPage(of: webhook, in: feed, of: key, after: position.point, by: known.schema, at: now, transaction)
            return Found(webhook: webhook, position: position, page: page)
        }
    }

    /// Moves the position. Ends the task where nothing stands behind it: a later commit leaves the task anew.
    /// - Parameter isLast: the receiver knows that the zone is gone; its changes expire.
    /// - Returns: whether there is more.
    private mutating func settle(_ position: WebhookPosition, of feed: WebhookFeed, isLast: Bool, _ leased: LeasedTask) async throws -> Bool {
        let since = state.since
        let rest: WebhookTask? = try await leased.cloud.store.write { transaction in
            try leased.requireLease(transaction)
            let next = try transaction.nextChange(in: feed, behind: position.point.place)
            let isDone = try isLast || !next.isThere && !transaction.isEnding(feed)
            var plan = WritePlan()
            if isLast { plan.entriesRemoved = feed.placeKeys } else { plan.entries = [position.row(feed.positionKey)] }
            let rest = isDone ? nil : WebhookTask(since: next.time ?? since)
            if let rest { plan.tasks = [leased.rest(rest.payload)] } else { plan.tasksFinished = [leased.key] }
            try transaction.apply(plan)
            return .commit(rest)
        }
        state = rest ?? state
        return rest != nil
    }

    private static func keep(_ position: WebhookPosition, of feed: WebhookFeed, _ leased: LeasedTask) async throws {
        try await leased.cloud.store.write { transaction in
            try leased.requireLease(transaction)
            try transaction.put([position.row(feed.positionKey)])
            return .commit(())
        }
    }

    /// Removes what is left of a webhook that was deleted, or that this server cannot deliver to.
    /// - Returns: whether there is more.
    private static func end(_ feed: WebhookFeed, _ leased: LeasedTask) async throws -> Bool {
        try await leased.cloud.store.write { transaction in
            try leased.requireLease(transaction)
            let (keys, areAll) = try transaction.oldestChanges(in: feed)
            var plan = WritePlan()
            plan.entriesRemoved = keys
            if areAll {
                plan.entriesRemoved += feed.placeKeys
                plan.tasksFinished = [leased.key]
            }
            try transaction.apply(plan)
            return .commit(plan.tasksFinished.isEmpty)
        }
    }

    static func remade(_ row: TaskRow, at now: Timestamp, zone: (ZoneAddress) throws -> ZoneRow?) throws -> TaskRow? {
        WebhookFeed(row.key).map { WebhookTask(since: now).row(of: $0, due: now) }
    }
}
