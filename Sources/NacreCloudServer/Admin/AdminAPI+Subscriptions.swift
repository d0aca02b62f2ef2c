import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudWire
import NacreHTTPServer

/// The subscriptions of a user, and the reasons why they fired or did not.
extension AdminAPI {
    func addSubscriptionRoutes(to router: inout Router) {
        router.post("/admin/1/subscriptions/list", bodyBytesMax: Limits.accountBodyBytes, listSubscriptions)
        router.post("/admin/1/subscriptions/why", bodyBytesMax: Limits.accountBodyBytes, explainNotification)
    }

    /// `POST /admin/1/subscriptions/list`
    @Sendable private func listSubscriptions(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewSubscriptionList.self, of: request)
        let (target, user) = try await subscriber(asked.user, of: asked.container, environment: asked.environment, database: asked.database)
        let found = try await cloud.listSubscriptions(in: target, by: Caller(.user(user)))
        let lines = found.subscriptions.compactMap { result -> AdminMessages.SubscriptionLine? in
            if case .subscription(let subscription) = result { AdminMessages.SubscriptionLine(subscription) } else { nil }
        }
        return try answer(AdminMessages.Subscriptions(subscriptions: lines))
    }

    /// `POST /admin/1/subscriptions/why`
    @Sendable private func explainNotification(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewNotificationQuestion.self, of: request)
        let (target, user) = try await subscriber(
            asked.user, of: asked.container, environment: asked.environment, database: asked.database)
        var owner: String?
        if let named = asked.owner { owner = try await userRecordName(named, in: asked.container, target.environment) }
        let found = try await cloud.explainNotification(
            NotificationQuestion(
                subscriptionID: asked.subscription, recordName: asked.record, zoneName: asked.zone ?? ZoneID.defaultZoneName, owner: owner, user: user
            ),
            in: target)
        return try answer(AdminMessages.NotificationAnswer(found))
    }

    private func subscriber(
        _ user: String, of container: String, environment: String, database: String
    ) async throws -> (DatabaseTarget, user: String) {
        let environment = try Self.environment(environment)
        try await cloud.registry.requireContainer(container)
        guard let scope = DatabaseKey.Scope(rawValue: database), scope != .registry else {
            throw ServerError(.badRequest, "unknown database", field: "database", remedy: "Take public, private or shared.")
        }
        let name = try await userRecordName(user, in: container, environment)
        try await requireUser(name, in: container, environment)
        return (DatabaseTarget(container: container, environment: environment, scope: scope), name)
    }
}

extension AdminMessages.SubscriptionLine {
    fileprivate init(_ subscription: Subscription) {
        switch subscription.kind {
        case .query(let subscribed):
            self.init(id: subscription.subscriptionID, kind: "query", of: subscribed.query.recordType, firesOn: subscribed.firesOn.kind)
            zone = subscribed.zoneID?.zoneName
            if !subscribed.query.filters.isEmpty { filter = subscribed.query.filters.predicate }
            if subscribed.firesOnce { firesOnce = true }
        case .zone(let zoneID, _): self.init(id: subscription.subscriptionID, kind: "zone", of: zoneID.zoneName)
        case .database(let type): self.init(id: subscription.subscriptionID, kind: "database", of: type ?? "")
        }
        notification = subscription.notificationInfo.map(AdminMessages.NotificationForm.init)
    }
}

extension AdminMessages.NotificationForm {
    fileprivate init(_ info: NotificationInfo) {
        self.init(
            title: Self.text(info.title, info.titleLocalizationKey, info.titleLocalizationArgs),
            subtitle: Self.text(info.subtitle, info.subtitleLocalizationKey, info.subtitleLocalizationArgs),
            alert: Self.text(info.alertBody, info.alertLocalizationKey, info.alertLocalizationArgs), sound: info.soundName,
            category: info.category, desiredKeys: info.additionalFields, collapseIDKey: info.collapseIDKey, badge: info.shouldBadge,
            contentAvailable: info.shouldSendContentAvailable, mutableContent: info.shouldSendMutableContent)
    }

    private static func text(_ text: String?, _ key: String?, _ fields: [String]?) -> String? {
        text ?? key.map { key in fields.map { "\(key)(\($0.joined(separator: ", ")))" } ?? key }
    }
}

extension AdminMessages.NotificationAnswer {
    fileprivate init(_ found: NotificationExplanation) {
        self.init(
            fires: found.fires,
            steps: found.steps.map { AdminMessages.NotificationStep(name: $0.name, isPassed: $0.isPassed, text: $0.text) },
            devices: found.devices.map { device in
                AdminMessages.NotifiedDevice(
                    name: device.name, isAuthor: device.isAuthor, way: device.way, log: device.lines.map(AdminMessages.PushLogLine.init),
                    logBegins: device.logBegins?.millisecondsSince1970)
            })
    }
}

extension AdminMessages.PushLogLine {
    fileprivate init(_ line: PushLogLine) {
        self.init(
            time: line.time.millisecondsSince1970, event: "\(line.event)", number: line.number, subscription: line.subscriptionID,
            record: line.recordName, said: line.said)
    }
}
