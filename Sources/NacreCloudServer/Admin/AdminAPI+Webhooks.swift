import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudWire
import NacreHTTPServer

/// Webhooks of a container's environment. A secret is in the answer to its creation alone.
extension AdminAPI {
    func addWebhookRoutes(to router: inout Router) {
        router.get("/admin/1/webhooks", listWebhooks)
        router.post("/admin/1/webhooks", bodyBytesMax: Self.webhookBodyBytes, createWebhook)
        router.post("/admin/1/webhooks/delete", bodyBytesMax: Limits.accountBodyBytes, deleteWebhook)
        router.post("/admin/1/webhooks/test", bodyBytesMax: Limits.accountBodyBytes, testWebhook)
        router.post("/admin/1/webhooks/resume", bodyBytesMax: Limits.accountBodyBytes, resumeWebhook)
    }

    /// Bytes of a body with a query, whose quotes are escaped.
    private static let webhookBodyBytes = Limits.accountBodyBytes + 2 * Limits.webhookQueryBytes

    /// `GET /admin/1/webhooks?container=…&environment=…`
    @Sendable private func listWebhooks(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        guard let container = request.query("container") else { throw ServerError.missingQuery("container") }
        guard let environment = request.query("environment") else { throw ServerError.missingQuery("environment") }
        let found = try await cloud.listWebhooks(in: container, try Self.environment(environment))
        return try answer(AdminMessages.Webhooks(webhooks: found.map(AdminMessages.WebhookLine.init)))
    }

    /// `POST /admin/1/webhooks`
    @Sendable private func createWebhook(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewWebhook.self, of: request, bytesMax: Self.webhookBodyBytes)
        if IdempotentRequest.current != nil { throw ServerError.answerIsShownOnce }
        let made = try await cloud.createWebhook(
            NewWebhook(url: asked.url, zone: asked.zone, query: asked.query, fields: asked.fields ?? [], isPrivate: asked.isPrivate ?? false),
            in: asked.container, try Self.environment(asked.environment))
        return try answer(AdminMessages.CreatedWebhook(id: made.webhook.id, secret: made.secret), .created)
    }

    /// `POST /admin/1/webhooks/delete`
    @Sendable private func deleteWebhook(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let (id, container, environment) = try await webhook(of: request)
        return try answer(AdminMessages.WebhookLine(try await cloud.deleteWebhook(id, in: container, environment)))
    }

    /// `POST /admin/1/webhooks/test`
    @Sendable private func testWebhook(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let (id, container, environment) = try await webhook(of: request)
        let report = try await cloud.testWebhook(id, in: container, environment)
        return try answer(AdminMessages.WebhookTest(isTaken: report.isTaken, status: report.said))
    }

    /// `POST /admin/1/webhooks/resume`
    @Sendable private func resumeWebhook(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let (id, container, environment) = try await webhook(of: request)
        _ = try await cloud.webhook(id, in: container, environment)
        return try answer(AdminMessages.WebhookResume(resumed: try await cloud.resumeWebhook(id)))
    }

    private func webhook(of request: HTTPRequest) async throws -> (id: String, container: String, DatabaseKey.Environment) {
        let asked = try await body(AdminMessages.WebhookName.self, of: request)
        try await cloud.registry.requireContainer(asked.container)
        return (asked.id, asked.container, try Self.environment(asked.environment))
    }
}

extension AdminMessages.WebhookLine {
    init(_ webhook: Webhook) {
        self.init(
            id: webhook.id, url: webhook.url, zone: webhook.zone, recordType: webhook.recordType, query: webhook.query, fields: webhook.fields,
            isPrivate: webhook.isPrivate, created: Timestamp(secondsSince2001: webhook.created).millisecondsSince1970)
    }

    init(_ listed: ListedWebhook) {
        self.init(listed.webhook)
        state = listed.state.rawValue
        lost = listed.lost > 0 ? listed.lost : nil
        waitingSince = listed.since?.millisecondsSince1970
        lastStatus = listed.said.isEmpty ? nil : listed.said
        lastTime = listed.time?.millisecondsSince1970
    }
}
