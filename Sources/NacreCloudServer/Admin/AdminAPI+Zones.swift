import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// Users' zones.
extension AdminAPI {
    /// `POST /admin/1/zones/purge`: deletes a zone as its user does in the storage settings.
    @Sendable func purgeZone(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewZonePurge.self, of: request)
        let (owner, environment) = try await owner(asked.user, of: asked.container, environment: asked.environment)
        guard try await cloud.removeZone(asked.zone, of: owner, in: asked.container, environment, because: .purged) else {
            throw ServerError(
                .notFound, "the user has no such zone", field: "zone", remedy: "Give the name of a zone that an app made; it is case-sensitive.")
        }
        return try answer(AdminMessages.PurgedZone(zone: asked.zone, user: owner))
    }
}
