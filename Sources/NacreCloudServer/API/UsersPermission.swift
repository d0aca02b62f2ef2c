import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudWire
import NacreHTTPServer

/// Whether other users of the container may find the caller. The endpoint is this server's own: Apple's systems ask
/// their users themselves.
extension API {
    /// `GET users/permission`
    func usersPermission(_ call: Call) async throws -> HTTPResponse {
        let status = try await cloud.discoverability(in: call.target, by: call.caller)
        return .json(UsersPermissionResponse(userDiscoverability: status).json(AnswerForm()))
    }

    /// `POST users/permission`
    var usersAnswerPermission: Endpoint<UsersPermissionRequest, UsersPermissionResponse> {
        Endpoint(ask: { request, call in
            UsersPermissionResponse(
                userDiscoverability: try await cloud.answerDiscoverability(request.userDiscoverability, in: call.target, by: call.caller))
        })
    }
}
