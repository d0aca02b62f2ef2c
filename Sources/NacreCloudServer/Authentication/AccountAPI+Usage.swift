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
        for appUser in try await cloud.registry.appUsers(of: asker.account) where asker.audience?.covers(appUser) ?? true {
            WorkMeter.current?.add(rows: 1)
            let usage = try await cloud.usage(of: appUser.userRecordName, in: appUser.container, appUser.environment)
            lines.append(
                AccountMessages.PlaceUsage(
                    container: appUser.container, environment: appUser.environment.rawValue, bytes: usage.bytes, limit: usage.limit))
        }
        return try answer(AccountMessages.Usage(databases: lines))
    }
}

extension SignIn.Audience {
    fileprivate func covers(_ appUser: AppUser) -> Bool {
        containers.contains(appUser.container) && environment == appUser.environment.rawValue
    }
}
