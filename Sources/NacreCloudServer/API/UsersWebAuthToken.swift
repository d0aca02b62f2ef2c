import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST users/web-auth-token`, an endpoint of this server's own, which `CKFetchWebAuthTokenOperation` calls. A
    /// request that may have no token is refused before its body is read.
    var usersWebAuthToken: Handler {
        let token = webAuthToken
        return { call in
            if let fault = webAuthTokenVerdict(call.target, by: call.caller) { throw fault }
            return try await answer(call, by: token)
        }
    }

    private var webAuthToken: Endpoint<WebAuthTokenRequest, WebAuthTokenResponse> {
        Endpoint(ask: { request, call in
            let target = call.target
            let entry = try await authenticator.apiTokenEntry(request.apiToken)
            let isOfTarget = entry.map { $0.container == target.container && $0.environment == target.environment.rawValue } ?? false
            let session = try await cloud.session(under: request.apiToken, isOfTarget ? entry : nil, in: target, by: call.caller)
            return WebAuthTokenResponse(webAuthToken: try authenticator.webAuthToken(for: session))
        })
    }
}
