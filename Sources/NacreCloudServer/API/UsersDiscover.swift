import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST users/discover`
    var usersDiscover: Endpoint<UsersDiscoverRequest, UsersDiscoverResponse> {
        Endpoint(
            cost: { request, _ in RequestCost(rows: request.lookupInfos.count) },
            ask: { request, call in
                try await cloud.discoverUsers(request.lookupInfos, field: "lookupInfos", in: call.target, by: call.caller)
            })
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
