import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// The older forms of `users/discover`.
extension API {
    /// `POST users/lookup/email`
    func usersLookupEmail(_ call: Call) async throws -> HTTPResponse {
        try await lookUpUsers(call) { request throws(ServerError) in try request.byEmail() }
    }

    /// `POST users/lookup/id`
    func usersLookupID(_ call: Call) async throws -> HTTPResponse {
        try await lookUpUsers(call) { request throws(ServerError) in try request.byID() }
    }

    /// `POST users/lookup/contacts`: the users in the caller's address book, whatever the body says.
    func usersLookupContacts(_ call: Call) async throws -> HTTPResponse {
        .json(try UsersLookupResponse(cloud.discoverContacts(in: call.target, by: call.caller)).json(AnswerForm()))
    }

    private func lookUpUsers(
        _ call: Call, _ infos: (UsersLookupRequest) throws(ServerError) -> [UserLookupInfo]
    ) async throws -> HTTPResponse {
        let turn: (UsersLookupRequest, inout Turn) -> Void = { $1.rows = $0.users.count }
        return try await answer(call, try await call.body(), as: UsersLookupRequest.self, turn: turn) { request in
            UsersLookupResponse(try await cloud.discoverUsers(try infos(request), field: "users", in: call.target, by: call.caller))
        }
    }
}

extension UsersLookupResponse {
    fileprivate init(_ found: UsersDiscoverResponse) {
        self.init(users: found.users.map(UserDictionary.init))
    }
}
