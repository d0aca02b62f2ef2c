import NacreCloudWire

extension Conversation {
    func listSubscriptions() async throws(CKError) -> SubscriptionsResponse {
        try Self.read(await send("subscriptions/list", .get, [], .read))
    }

    func lookup(_ request: SubscriptionsLookupRequest) async throws(CKError) -> SubscriptionsResponse {
        try await ask("subscriptions/lookup", request, .read)
    }

    func modify(_ request: SubscriptionsModifyRequest) async throws(CKError) -> SubscriptionsResponse {
        let start = line.timekeeper.now()
        let user = try await currentUser()
        return try await ask("subscriptions/modify", user.spellingOut(request), .change, since: start)
    }
}
