import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudWire
import NacreHTTPServer

/// Keys by which Apple's push services know the apps of a container. No answer contains a private key.
extension AdminAPI {
    func addPushRoutes(to router: inout Router) {
        router.get("/admin/1/push/apns", pushKeys)
        router.post("/admin/1/push/apns/set", bodyBytesMax: Limits.accountBodyBytes, setPushKey)
        router.post("/admin/1/push/apns/remove", bodyBytesMax: Limits.accountBodyBytes, removePushKey)
    }

    /// `GET /admin/1/push/apns?container=…`
    @Sendable private func pushKeys(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        guard let container = request.query("container") else { throw ServerError.missingQuery("container") }
        try await cloud.registry.requireContainer(container)
        var keys: [AdminMessages.PushKey] = []
        for environment in APNsEnvironment.allCases {
            if let entry = try await cloud.registry.pushKey(of: container, environment) { keys.append(AdminMessages.PushKey(entry)) }
        }
        return try answer(AdminMessages.PushKeys(keys: keys))
    }

    /// `POST /admin/1/push/apns/set`
    @Sendable private func setPushKey(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewPushKey.self, of: request)
        let entry = try PushKeyEntry(
            container: asked.container, environment: try Self.pushEnvironment(asked.environment), key: asked.key, keyID: asked.keyID,
            teamID: asked.teamID, topic: asked.topic, sealer: authenticator.sealer, at: cloud.now)
        try await cloud.registry.setPushKey(entry)
        return try answer(AdminMessages.PushKey(entry))
    }

    /// `POST /admin/1/push/apns/remove`
    @Sendable private func removePushKey(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewPushKeyRemoval.self, of: request)
        guard let entry = try await cloud.registry.removePushKey(of: asked.container, try Self.pushEnvironment(asked.environment)) else {
            throw ServerError(
                .notFound, "there is no such key", field: "environment",
                remedy: "nacre push apns show --container \(asked.container) tells which there are.")
        }
        return try answer(AdminMessages.PushKey(entry))
    }

    private static func pushEnvironment(_ text: String) throws -> APNsEnvironment {
        guard let environment = APNsEnvironment(rawValue: text) else {
            throw ServerError(.badRequest, "unknown environment", field: "environment", remedy: "Take development or production.")
        }
        return environment
    }
}

extension AdminMessages.PushKey {
    fileprivate init(_ entry: PushKeyEntry) {
        self.init(
            environment: entry.environment, keyID: entry.keyID, teamID: entry.teamID, topic: entry.topic,
            created: Timestamp(secondsSince2001: entry.created).millisecondsSince1970)
    }
}
