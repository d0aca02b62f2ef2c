import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreHTTPServer

/// The bytes that an account's private databases hold, for its user.
///
/// A caller with a token sees its own container and environment; a caller with the password sees all.
extension AccountAPI {
    func usage(_ request: HTTPRequest) async throws -> HTTPResponse {
        let asked = try await body(AccountMessages.UsageQuestion.self, of: request)
        let asker = try await asker(asked.email, asked.password, request)
        var lines: [AccountMessages.PlaceUsage] = []
        for place in try await cloud.registry.places(of: asker.account) where asker.place?.covers(place) ?? true {
            WorkMeter.current?.add(rows: 1)
            let usage = try await cloud.usage(of: place.userRecordName, in: place.container, place.environment)
            lines.append(
                AccountMessages.PlaceUsage(
                    container: place.container, environment: place.environment.rawValue, bytes: usage.bytes, limit: usage.limit))
        }
        return try answer(AccountMessages.Usage(databases: lines))
    }
}

extension SignIn.Place {
    fileprivate func covers(_ place: AccountPlace) -> Bool {
        containers.contains(place.container) && environment == place.environment.rawValue
    }
}
