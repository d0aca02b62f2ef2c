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
    func usersAnswerPermission(_ call: Call) async throws -> HTTPResponse {
        try await answer(call, try await call.body(), as: UsersPermissionRequest.self) { request in
            UsersPermissionResponse(
                userDiscoverability: try await cloud.answerDiscoverability(request.userDiscoverability, in: call.target, by: call.caller))
        }
    }
}
