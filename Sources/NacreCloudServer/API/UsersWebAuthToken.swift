import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST users/web-auth-token`, an endpoint of this server's own, which `CKFetchWebAuthTokenOperation` calls.
    var usersWebAuthToken: Endpoint<WebAuthTokenRequest, WebAuthTokenResponse> {
        Endpoint(ask: { request, call in
            let target = call.target
            let entry = try await authenticator.apiTokenEntry(request.apiToken)
            let isOfTarget = entry.map { $0.container == target.container && $0.environment == target.environment.rawValue } ?? false
            let session = try await cloud.session(under: request.apiToken, isOfTarget ? entry : nil, in: target, by: call.caller)
            return WebAuthTokenResponse(webAuthToken: try authenticator.webAuthToken(for: session))
        })
    }
}
