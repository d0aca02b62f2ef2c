import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudWire
import NacreHTTPServer

/// Push tokens, and the web courier behind them. CloudKit: Web Services Reference, "Creating APNs Tokens".
extension API {
    /// `POST tokens/create`
    var tokensCreate: Endpoint<TokensCreateRequest, TokensCreateResponse> {
        Endpoint(ask: { request, call in
            let token = try await cloud.createPushToken(request, in: call.target.container, call.target.environment, by: call.caller)
            let query = "?tok=\(token.text)&ttl=\(Int(Limits.pushTokenSeconds))"
            return TokensCreateResponse(
                apnsEnvironment: request.apnsEnvironment, apnsToken: token.text, webcourierURL: cloud.assetLinks.url(Self.courierPath) + query)
        })
    }

    /// `POST tokens/register`
    var tokensRegister: Endpoint<TokensRegisterRequest, TokensRegisterResponse> {
        Endpoint(ask: { request, call in
            try await cloud.registerPushToken(request, in: call.target.container, call.target.environment, by: call.caller)
            return TokensRegisterResponse()
        })
    }

    /// `GET tokens/web-push`, an endpoint of this server's own: the key that pages subscribe with at their browser's
    /// push service.
    func tokensWebPushKey(_ call: Call) async throws -> HTTPResponse {
        let key = try await cloud.applicationServerKey(in: call.target.container, call.target.environment, by: call.caller)
        return .json(WebPushKeyResponse(applicationServerKey: key).json(AnswerForm()))
    }

    /// `POST tokens/web-push`
    var tokensWebPush: Endpoint<WebPushRegisterRequest, TokensRegisterResponse> {
        Endpoint(ask: { request, call in
            try await cloud.registerBrowser(
                request.subscription.map(WebPushAddress.init), of: request.clientID, in: call.target.container, call.target.environment,
                by: call.caller)
            return TokensRegisterResponse()
        })
    }

    /// The path of a `webcourierURL`.
    static let courierPath = "/push/1/aps"

    /// Answers with the next notification of a token's device as one JSON object, as soon as there is one, or with an
    /// empty body after `Limits.waitSeconds`. CloudKit: the token is the only credential, and a notification that a
    /// client has is gone. `HEAD` takes none.
    func addCourierRoute(to router: inout Router) {
        router.get(Self.courierPath) { request, _ in
            let payers = rates.payers(of: IPAddress.customer(request.clientAddress))
            try rates.require(payers)
            rates.take(1, from: payers)
            let (address, owner) = try await cloud.device(of: request.query("tok").flatMap(PushToken.init))
            let target = DatabaseTarget(container: owner.container, environment: owner.environment, scope: .public)
            return try await answer(request, in: target, by: owner.credential) { call in
                if request.method == .head { return HTTPResponse() }
                cloud.listening.beginPoll(of: address)
                defer { cloud.listening.endPoll(of: address) }
                let next = try await hub.read(
                    address.database, waiting: Limits.waitSeconds, by: call.holder.name, ledger: request.ledger
                ) { (next: (notification: QueuedNotification, receipt: AnswerReceipt)?) in
                    next != nil
                } _: {
                    try Task.checkCancellation()
                    return try await courier.next(for: address, of: cloud)
                }
                guard let next else { return HTTPResponse() }
                var response = HTTPResponse.json(next.notification.json)
                response.receipt = next.receipt
                return response
            }
        }
    }
}

extension WebPushAddress {
    /// Malformed keys become empty, and are refused for that.
    fileprivate init(_ subscription: WebPushRegisterRequest.Subscription) {
        self.init(
            endpoint: subscription.endpoint, point: Base64URL.decode(subscription.p256dh) ?? [],
            authentication: Base64URL.decode(subscription.auth) ?? [])
    }
}
