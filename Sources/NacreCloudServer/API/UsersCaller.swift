import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `GET users/caller`, and `users/current`, which it has replaced: in any database, as the live service does.
    func usersCaller(_ call: Call) async throws -> HTTPResponse {
        if case .serverKey = call.caller.identity { throw ServerError.authenticationFailed }
        guard let name = call.caller.userRecordName else { throw ServerError.authenticationRequired }
        return .json(UserIdentity(userRecordName: name).json(AnswerForm()))
    }
}
