import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

extension Cloud {
    /// Makes a webhook. It is told of changes that commit from then on.
    /// - Returns: the webhook, and its secret, which is not shown again.
    package func createWebhook(
        _ asked: NewWebhook, in container: String, _ environment: DatabaseKey.Environment
    ) async throws -> (webhook: Webhook, secret: String) {
        try await registry.requireContainer(container)
        guard let sender = senders.webhooks else { throw ServerError.internalError }
        if let fault = sender.fault(ofURL: asked.url) { throw fault }
        let id = registry.hex(2)
        let (secret, sealed) = try sender.newSecret(of: id)
        let now = clock()
        let webhook = try await schemas.changeSchema(of: container, environment) { schema in
            let webhook = try asked.webhook(id: id, sealedSecret: sealed, at: now, in: schema, of: container, environment)
            schema.webhooks[id] = webhook
            return webhook
        }
        return (webhook, secret)
    }

    /// Returns a webhook.
    /// - Throws: `ServerError.noWebhook`.
    package func webhook(_ id: String, in container: String, _ environment: DatabaseKey.Environment) async throws -> Webhook {
        guard let webhook = try await schemas.schema(of: container, environment).webhooks[id] else { throw ServerError.noWebhook }
        return webhook
    }
}

extension Schemas {
    /// Removes a webhook from the changes to come.
    /// - Throws: `ServerError.noWebhook`.
    package func removeWebhook(_ id: String, from container: String, _ environment: DatabaseKey.Environment) async throws -> Webhook {
        try await changeSchema(of: container, environment) { schema in
            guard let webhook = schema.webhooks.removeValue(forKey: id) else { throw ServerError.noWebhook }
            return webhook
        }
    }
}

extension Cloud {
    /// Opens a cursor of a webhook; nil: none was given.
    /// - Throws: the error of an unknown token for a text that is no cursor of this webhook.
    package func webhookCursor(_ text: String?, of webhook: Webhook) throws(ServerError) -> WebhookCursor? {
        guard let text else { return nil }
        guard let cursor = tokens.open(text).flatMap(WebhookCursor.init), cursor.feed.webhook == webhook.id else { throw .unknownCursor }
        return cursor
    }
}

extension ServerError {
    fileprivate static let unknownCursor = ServerError.badValue(
        "after", "not a cursor of this webhook", remedy: "Send the cursor of its last delivery or answer as it came, or nothing to begin anew.")
}
