import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudWire
import NacreHTTPServer

extension API {
    static let webhookPath = "/webhooks/1/:container/:environment/:id"

    /// `GET /webhooks/1/CONTAINER/ENVIRONMENT/ID?after=…&wait=…`, an addition of this server: the changes of the public
    /// database behind a cursor, for the webhook's receiver. The webhook's secret is the only credential, as a bearer
    /// token. With `wait` it answers as soon as there is a change, `Limits.waitSeconds` later at most.
    func addWebhookRoute(to router: inout Router) {
        router.get(Self.webhookPath) { request, parameters in
            let payers = rates.payers(of: IPAddress.customer(request.clientAddress))
            try rates.require(payers)
            let meter = WorkMeter.current ?? WorkMeter(requestID: request.id, operation: request.route ?? "")
            defer { rates.take(meter.takeUnpaid(), from: payers) }
            let container = try parameters.require("container")
            let environment = DatabaseKey.Environment(rawValue: try parameters.require("environment"))
            let id = try parameters.require("id")
            guard let environment, let webhook = try await webhook(id, in: container, environment, for: request) else {
                meter.add(rows: Limits.unknownCredentialCost)
                throw ServerError.wrongWebhookSecret
            }
            let key = DatabaseKey(container: container, environment: environment, scope: .public, owner: "")
            let (cursor, seconds) = (request.query("after"), try Self.waitSeconds(of: request))
            let found = try await Turn.$current.withValue(Turn(asker: id, isAmongMany: request.isAmongMany)) {
                try await hub.read(try await cloud.databaseID(key), waiting: seconds, by: "webhook " + id, ledger: request.ledger) {
                    (found: WebhookDelivery) in
                    found.isReset || found.moreComing || !found.changes.isEmpty
                } _: {
                    try Task.checkCancellation()
                    return try await cloud.pullWebhook(webhook, in: container, environment, after: cursor)
                }
            }
            return .json(found.json)
        }
    }

    /// Returns the webhook whose secret a request bears; nil: there is none, or the secret is wrong.
    private func webhook(
        _ id: String, in container: String, _ environment: DatabaseKey.Environment, for request: HTTPRequest
    ) async throws -> Webhook? {
        // Without the container its schema would be remembered under a name that anybody may make up.
        guard let secret = Authenticator.bearer(request), let sender = cloud.senders.webhooks, Names.containerFault(container) == nil,
            try await cloud.registry.container(container) != nil
        else { return nil }
        guard let webhook = try? await cloud.webhook(id, in: container, environment), sender.isSecret(secret, of: webhook) else { return nil }
        return webhook
    }

    private static func waitSeconds(of request: HTTPRequest) throws(ServerError) -> Double {
        guard let text = request.query("wait") else { return 0 }
        guard let seconds = Double(text), seconds >= 0 else {
            throw .badValue("wait", "not a number of seconds", remedy: "Give 0 to \(Int(Limits.waitSeconds)), or leave it out.")
        }
        return min(seconds, Limits.waitSeconds)
    }
}

extension ServerError {
    fileprivate static let wrongWebhookSecret = ServerError(
        .authenticationFailed, "no such webhook, or not its secret",
        remedy: "Send Authorization: Bearer and the secret that nacre webhook create showed, to the path with its container, environment and ID.")
}
