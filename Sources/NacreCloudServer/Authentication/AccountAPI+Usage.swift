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
        let appUsers = try await cloud.registry.appUsers(of: asker.account).filter { asker.audience?.covers($0) ?? true }
        return try answer(try await Self.usage(of: appUsers, in: cloud))
    }

    /// The bytes that the private databases of an account's users hold.
    static func usage(of appUsers: [AppUser], in cloud: Cloud) async throws -> AccountMessages.AccountUsage {
        var lines: [AccountMessages.PlaceUsage] = []
        for appUser in appUsers {
            WorkMeter.current?.add(rows: 1)
            let usage = try await cloud.usage(of: appUser.userRecordName, in: appUser.container, appUser.environment)
            lines.append(
                AccountMessages.PlaceUsage(
                    container: appUser.container, environment: appUser.environment.rawValue, bytes: usage.bytes, limit: usage.limit))
        }
        return AccountMessages.AccountUsage(databases: lines)
    }
}

extension SignIn.Audience {
    fileprivate func covers(_ appUser: AppUser) -> Bool {
        containers.contains(appUser.container) && environment == appUser.environment.rawValue
    }
}
