import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// The older forms of `users/discover`.
extension API {
    /// `POST users/lookup/email`
    var usersLookupEmail: Endpoint<UsersLookupRequest, UsersLookupResponse> {
        usersLookup { request throws(ServerError) in try request.byEmail() }
    }

    /// `POST users/lookup/id`
    var usersLookupID: Endpoint<UsersLookupRequest, UsersLookupResponse> {
        usersLookup { request throws(ServerError) in try request.byID() }
    }

    /// `POST users/lookup/contacts`: the users in the caller's address book, whatever the body says.
    func usersLookupContacts(_ call: Call) async throws -> HTTPResponse {
        .json(try UsersLookupResponse(cloud.discoverContacts(in: call.target, by: call.caller)).json(AnswerForm()))
    }

    private func usersLookup(
        _ infos: @escaping @Sendable (UsersLookupRequest) throws(ServerError) -> [UserLookupInfo]
    ) -> Endpoint<UsersLookupRequest, UsersLookupResponse> {
        Endpoint(
            cost: { request, _ in RequestCost(rows: request.users.count) },
            ask: { request, call in
                UsersLookupResponse(try await cloud.discoverUsers(try infos(request), field: "users", in: call.target, by: call.caller))
            })
    }
}

extension UsersLookupResponse {
    fileprivate init(_ found: UsersDiscoverResponse) {
        self.init(users: found.users.map(UserDictionary.init))
    }
}
