import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

extension Authenticator {
    /// The user for whom a page of this server acts, by the credential that the page was opened with. Requests of such
    /// a page come from this server's origin, which no API token names: only the API token itself has to be there.
    /// - Throws: an error if the credential has ended.
    func holder(of credential: Credential, container: String, environment: DatabaseKey.Environment) async throws -> Caller {
        if case .session(_, _, let token) = credential { _ = try await apiTokenEntry(token, container: container, environment: environment) }
        let now = clock.now()
        return try await withState(try await caller(of: credential, container: container, environment: environment, at: now), at: now)
    }
}
