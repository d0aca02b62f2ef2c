import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// Users' shares, and the access to a record that they give. Both requests read private databases, and are logged.
extension AdminAPI {
    func addShareRoutes(to router: inout Router) {
        router.post("/admin/1/shares/list", bodyBytesMax: Limits.accountBodyBytes, listShares)
        router.post("/admin/1/shares/who", bodyBytesMax: Limits.accountBodyBytes, explainShare)
    }

    /// `POST /admin/1/shares/list`
    @Sendable private func listShares(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewShareList.self, of: request)
        let (owner, environment) = try await owner(asked.user, of: asked.container, environment: asked.environment)
        let found = try await cloud.listShares(of: owner, in: asked.container, environment)
        return try answer(
            AdminMessages.Shares(
                shares: found.map { line in
                    AdminMessages.ShareLine(
                        zone: line.zoneName, share: line.share, root: line.root, publicPermission: line.publicPermission.rawValue,
                        participants: line.participants)
                }))
    }

    /// `POST /admin/1/shares/who`
    @Sendable private func explainShare(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewShareQuestion.self, of: request)
        let (owner, environment) = try await owner(asked.user, of: asked.container, environment: asked.environment)
        let found = try await cloud.explainShare(ofRecord: asked.record, zone: asked.zone, of: owner, in: asked.container, environment)
        return try answer(
            AdminMessages.ShareAnswer(
                share: found.share, root: found.root, path: found.path,
                people: found.people.map { person in
                    AdminMessages.SharePerson(
                        user: person.userRecordName, invited: person.invited, role: person.role.rawValue, mayRead: person.mayRead,
                        mayWrite: person.mayWrite, because: person.because)
                }))
    }

    /// Returns the user record name of a user whose zones are asked for.
    func owner(
        _ user: String, of container: String, environment: String
    ) async throws -> (name: String, environment: DatabaseKey.Environment) {
        let environment = try Self.environment(environment)
        try await cloud.registry.requireContainer(container)
        let name = try await userRecordName(user, in: container, environment)
        try await requireUser(name, in: container, environment)
        return (name, environment)
    }
}
