import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST users/discover`
    func usersDiscover(_ call: Call) async throws -> HTTPResponse {
        let turn: (UsersDiscoverRequest, inout Turn) -> Void = { $1.rows = $0.lookupInfos.count }
        return try await answer(call, try await call.body(), as: UsersDiscoverRequest.self, turn: turn) { request in
            try await cloud.discoverUsers(request.lookupInfos, field: "lookupInfos", in: call.target, by: call.caller)
        }
    }

    /// `GET users/discover`: the users in the caller's address book.
    func usersDiscoverAll(_ call: Call) async throws -> HTTPResponse {
        .json(try cloud.discoverContacts(in: call.target, by: call.caller).json(AnswerForm()))
    }

    /// `GET users/contact-key`, an endpoint of this server's own.
    func usersContactKey(_ call: Call) async throws -> HTTPResponse {
        .json(try await cloud.contactKey(in: call.target, by: call.caller).json(AnswerForm()))
    }
}
