import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// Users' zones.
extension AdminAPI {
    /// `POST /admin/1/zones/create`: as the owner, in development alone. A zone that is there stays as it is.
    @Sendable func createZone(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.UserZone.self, of: request)
        guard try Self.environment(asked.environment) == .development else { throw ServerError.actsInDevelopment }
        let (target, caller) = try await reader(
            asked.container, environment: asked.environment, database: "private", user: asked.user, admitting: true)
        try await requireAuthor(caller, of: target)
        let made = try await cloud.modifyZones(
            ZonesModifyRequest(operations: [ZoneOperation(.create, ZoneID(zoneName: asked.zone))]), in: target, by: caller)
        if case .failure(_, let error)? = made.zones.first { throw error }
        return try answer(AdminMessages.NamedZone(zone: asked.zone, user: caller.userRecordName ?? ""), .created)
    }

    /// `POST /admin/1/zones/purge`: deletes a zone as its user does in the storage settings.
    @Sendable func purgeZone(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.UserZone.self, of: request)
        let (owner, environment) = try await owner(asked.user, of: asked.container, environment: asked.environment)
        guard try await cloud.removeZone(asked.zone, of: owner, in: asked.container, environment, because: .purged) else {
            throw Self.noSuchZone
        }
        return try answer(AdminMessages.NamedZone(zone: asked.zone, user: owner))
    }

    /// `POST /admin/1/zones/resync`: makes every device fetch a zone from the beginning.
    @Sendable func resyncZone(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.UserZone.self, of: request)
        let (owner, environment) = try await owner(asked.user, of: asked.container, environment: asked.environment)
        guard try await cloud.resyncZone(asked.zone, of: owner, in: asked.container, environment) else { throw Self.noSuchZone }
        return try answer(AdminMessages.NamedZone(zone: asked.zone, user: owner))
    }

    /// `POST /admin/1/users/resync`: makes every device of a user fetch the private database from the beginning.
    @Sendable func resyncUser(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewUserResync.self, of: request)
        let (owner, environment) = try await owner(asked.user, of: asked.container, environment: asked.environment)
        let zones = try await cloud.resyncZones(of: owner, in: asked.container, environment)
        return try answer(AdminMessages.UserResync(user: owner, zones: zones))
    }

    private static let noSuchZone = ServerError(
        .notFound, "the user has no such zone", field: "zone", remedy: "Give the name of a zone that an app made; it is case-sensitive.")
}
