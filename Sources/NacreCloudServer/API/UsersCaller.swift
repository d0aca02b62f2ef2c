import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `GET users/caller`, which works in any database, as on the live service.
    func usersCaller(_ call: Call) async throws -> HTTPResponse {
        .json(try await identity(of: call).json(AnswerForm()))
    }

    /// `GET users/current`, which `users/caller` has replaced.
    func usersCurrent(_ call: Call) async throws -> HTTPResponse {
        .json(UserDictionary(try await identity(of: call)).json(AnswerForm()))
    }

    private func identity(of call: Call) async throws -> UserIdentity {
        if case .serverKey = call.caller.identity { throw ServerError.authenticationFailed }
        guard let name = call.caller.userRecordName else { throw call.caller.accountState.refusalOfIdentity ?? .authenticationRequired }
        return try await cloud.identity(of: name, in: call.target)
    }
}
