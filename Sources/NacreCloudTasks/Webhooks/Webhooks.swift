import NacreCloudAccounts
package import NacreCloudContainer
package import NacreCloudStorage
package import NacreCloudWire

/// A webhook as an administrator sees it.
package struct ListedWebhook: Hashable, Sendable {
    package enum State: String, Hashable, Sendable {
        /// Everything is acknowledged, or is being delivered.
        case active
        /// Changes were dropped before the receiver had them, and it is to be told so.
        case behind
        /// The receiver did not acknowledge, and is asked again by itself.
        case retrying
        /// The receiver did not acknowledge for too long. Nothing is delivered until an administrator resumes it.
        case parked
    }

    package var webhook: Webhook
    package var state: State
    /// The receiver's last answer; empty: nothing was delivered yet.
    package var said: String
    package var time: Timestamp?
    /// The number of changes that were dropped, of which the receiver is to be told; of `zonesLookedAt` zones at most.
    package var lost: Int64
    /// The time of the oldest change that the receiver has not acknowledged; nil: it has all.
    package var since: Timestamp?

    /// On this server: zones with waiting deliveries whose losses are counted, of each webhook.
    static let zonesLookedAt = 100
}

/// Webhooks of a container's environment. Each call is one transaction, or says how many.
extension Cloud {
    /// Deletes a webhook. A delivery under way may still arrive. Its tasks end, parked ones too, and remove what is
    /// kept for it. Of a private database without a task the count and the position of each zone stay.
    package func deleteWebhook(_ id: String, in container: String, _ environment: DatabaseKey.Environment) async throws -> Webhook {
        let webhook = try await schemas.removeWebhook(id, from: container, environment)
        _ = try await resumeWebhook(id)
        let database = try await databaseID(DatabaseKey(container: container, environment: environment, scope: .public, owner: ""))
        let now = clock()
        try await store.write { transaction in
            let counts = try transaction.entries(in: database, .webhookCount, after: id + " ", limit: Limits.resultsPerPage)
            let feeds = counts.compactMap { WebhookFeed(TaskKey(database, .deliverWebhook, $0.key.key)) }.filter { $0.webhook == id }
            var plan = WritePlan()
            try plan.wake(feeds, at: now, transaction)
            try transaction.apply(plan)
            return .commit(())
        }
        return webhook
    }

    /// Lists the webhooks of an environment with their states, in the order of their IDs. Two transactions.
    package func listWebhooks(in container: String, _ environment: DatabaseKey.Environment) async throws -> [ListedWebhook] {
        try await registry.requireContainer(container)
        let webhooks = try await schemas.schema(of: container, environment).webhooks.values.sorted { $0.id < $1.id }
        if webhooks.isEmpty { return [] }
        let database = try await databaseID(DatabaseKey(container: container, environment: environment, scope: .public, owner: ""))
        return try await store.read { transaction in
            let (parked, waiting) = (try transaction.webhookTasks(areParked: true), try transaction.webhookTasks(areParked: false))
            let oldest = try transaction.oldestUntold(of: webhooks.flatMap { (parked[$0.id] ?? []) + (waiting[$0.id] ?? []) })
            return try webhooks.map { webhook in
                let own = (parked[webhook.id] ?? []) + (waiting[webhook.id] ?? [])
                let positions = try Set([database] + own.map(\.database)).flatMap { try transaction.positions(of: webhook.id, in: $0) }
                // A refusal comes first, then the latest answer.
                let last = positions.filter { $0.time != nil }.max {
                    ($0.isTaken ? 0 : 1, $0.time?.secondsSince2001 ?? 0) < ($1.isTaken ? 0 : 1, $1.time?.secondsSince2001 ?? 0)
                }
                let lost = try own.prefix(ListedWebhook.zonesLookedAt).compactMap(WebhookFeed.init).reduce(0) { sum, feed in
                    sum + (try transaction.lost(in: feed, behind: try transaction.position(of: feed).point))
                }
                let state: ListedWebhook.State =
                    if parked[webhook.id] != nil {
                        .parked
                    } else if lost > 0 {
                        .behind
                    } else {
                        own.isEmpty || last?.isTaken ?? true ? .active : .retrying
                    }
                return ListedWebhook(webhook: webhook, state: state, said: last?.said ?? "", time: last?.time, lost: lost, since: oldest[webhook.id])
            }
        }
    }

    /// Returns the seconds since the oldest change that the receiver of each webhook has not acknowledged, by the IDs
    /// of the webhooks, of all containers. Those that have all are absent.
    package func webhookLags() async throws -> [String: Double] {
        let now = clock()
        let oldest = try await store.read { transaction in
            let tasks = [try transaction.webhookTasks(areParked: true), try transaction.webhookTasks(areParked: false)]
            return try transaction.oldestUntold(of: tasks.flatMap { $0.values.joined() })
        }
        return oldest.mapValues { max(now.secondsSince2001 - $0.secondsSince2001, 0) }
    }

    /// Puts the parked tasks of a webhook back. A transaction for each.
    /// - Returns: how many there were.
    package func resumeWebhook(_ id: String) async throws -> Int {
        let parked = try await store.read { try $0.webhookTasks(areParked: true)[id] ?? [] }
        var count = 0
        for key in parked where try await retryTask(key) { count += 1 }
        return count
    }

    /// Sends a delivery without changes, and returns what the receiver says. Neither counts nor moves anything.
    package func testWebhook(_ id: String, in container: String, _ environment: DatabaseKey.Environment) async throws -> WebhookReport {
        let webhook = try await webhook(id, in: container, environment)
        guard let sender = senders.webhooks else { throw ServerError.internalError }
        let key = DatabaseKey(container: container, environment: environment, scope: .public, owner: "")
        return await sender.send(WebhookDelivery(webhook: webhook, database: key, cursor: "", isTest: true).json, to: webhook)
    }

    /// Returns the changes of the public database behind a cursor, for a receiver that pulls. Moves nothing.
    /// - Parameter cursor: the cursor of a delivery or of an answer; nil: the oldest kept change comes first.
    package func pullWebhook(_ webhook: Webhook, in container: String, _ environment: DatabaseKey.Environment, after cursor: String?) async throws
        -> WebhookDelivery
    {
        let last = try webhookCursor(cursor, of: webhook)
        let key = DatabaseKey(container: container, environment: environment, scope: .public, owner: "")
        let database = try await databaseID(key)
        let now = clock()
        let (feed, isReset, page) = try await schemas.read(of: container, environment, met: key) { known, transaction in
            // A webhook that was deleted meanwhile is told of nothing more.
            guard known.schema.webhooks[webhook.id] == webhook else { throw ServerError.noWebhook }
            let zone = try transaction.zones(in: database, named: [ZoneID.defaultZoneName]).first
            let feed = WebhookFeed(webhook: webhook.id, zone: zone?.address ?? ZoneAddress(database: database, zone: 0))
            let isReset = try last.map { try !$0.isGood(for: feed, zone, transaction) } ?? true
            let point = isReset ? nil : last?.point
            return (feed, isReset, try WebhookPage(of: webhook, in: feed, of: key, after: point, by: known.schema, at: now, transaction))
        }
        WorkMeter.current?.add(rows: page.changes.count)
        return try delivery(of: page, to: webhook, feed, in: key, isReset: isReset)
    }

    /// - Parameter isReset: whether the feed begins anew for the receiver, also without a loss.
    func delivery(
        of page: WebhookPage, to webhook: Webhook, _ feed: WebhookFeed, in key: DatabaseKey, isReset: Bool
    ) throws -> WebhookDelivery {
        WebhookDelivery(
            webhook: webhook, database: key, zoneName: page.zoneName, zone: feed.zone.zone, changes: page.changes,
            cursor: try tokens.seal(WebhookCursor(feed: feed, point: page.point).bytes), isReset: isReset || page.lost != nil,
            lost: page.lost ?? 0, zoneDeleted: page.zoneDeleted, moreComing: page.moreComing)
    }
}

extension ReadTransaction {
    /// On this server: tasks of webhooks that an administrator's request looks at.
    private static var tasksLookedAt: Int { 10_000 }

    /// Returns the keys of the tasks of webhooks, by the IDs of the webhooks.
    fileprivate func webhookTasks(areParked: Bool) throws -> [String: [TaskKey]] {
        let parked = TaskRow.parked
        let found =
            areParked
            ? try tasks(of: [.deliverWebhook], dueAfter: parked + -1, through: parked, limit: Self.tasksLookedAt)
            : try tasks(of: [.deliverWebhook], dueThrough: parked + -1, limit: Self.tasksLookedAt)
        return Dictionary(grouping: found.map(\.key)) { WebhookFeed($0)?.webhook ?? "" }
    }

    /// On this server: tasks of webhooks that are read for the times of their changes, the parked ones first.
    private static var tasksRead: Int { 1000 }

    /// Returns the time of the oldest change that the receiver of each webhook has not acknowledged, by the IDs of the
    /// webhooks.
    fileprivate func oldestUntold(of tasks: [TaskKey]) throws -> [String: Timestamp] {
        var oldest: [String: Timestamp] = [:]
        for (database, keys) in Dictionary(grouping: tasks.prefix(Self.tasksRead), by: \.database) {
            for task in try webhookTasks(in: database, limit: keys.count) {
                guard let webhook = WebhookFeed(task.key)?.webhook, let since = try? WebhookTask(task).since else { continue }
                oldest[webhook] = min(oldest[webhook] ?? since, since)
            }
        }
        return oldest
    }

    fileprivate func positions(of webhook: String, in database: DatabaseID) throws -> [WebhookPosition] {
        let prefix = "\(webhook) "
        return try entries(in: database, .webhookPosition, after: prefix, limit: Limits.resultsPerPage).filter { $0.key.key.hasPrefix(prefix) }
            .compactMap { try? WebhookPosition($0) }
    }
}
