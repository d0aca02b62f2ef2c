import Foundation
import NacreCloudServer

/// All that a developer needs to begin: a container, an API token and a signed-in user, as variables in a file.
/// Anything that exists already stays. A container that is made takes types and fields from saves of all clients.
struct DeveloperSetup: Encodable {
    let container: String
    let environment: String
    let url: String
    let user: String
    let envFile: String
    /// The clients whose saves bring types and fields in development: `native` for the framework's alone, or `all`.
    let justInTime: String
    let apiToken: String
    let accountToken: String

    /// Returns the address of a new user, for a file that names none; each call gives another. Mail to `.invalid`
    /// leads nowhere (RFC 2606).
    private static func newEmail() -> String { "dev-\(RandomText.digits(1).prefix(8))@nacre.invalid" }

    /// The variables that an app reads, in this order.
    static let variables = ["CLOUDKIT_SERVER_URL", "CLOUDKIT_CONTAINER", "CLOUDKIT_ENVIRONMENT", "CLOUDKIT_API_TOKEN", "CLOUDKIT_ACCOUNT_TOKEN"]

    /// values[variableName]
    var values: [String: String] {
        [
            "CLOUDKIT_SERVER_URL": url, "CLOUDKIT_CONTAINER": container, "CLOUDKIT_ENVIRONMENT": environment, "CLOUDKIT_API_TOKEN": apiToken,
            "CLOUDKIT_ACCOUNT_TOKEN": accountToken,
        ]
    }

    private static let user = "NACRE_USER"
    private static let password = "NACRE_PASSWORD"

    /// Makes the missing parts, and writes the file.
    /// - Parameters:
    ///   - email: The user's address; nil: that of the file, or a new one.
    ///   - path: The file, which is made or changed.
    static func prepare(
        _ container: String, _ environment: String, email: String?, file path: String, by admin: AdminClient
    ) async throws -> DeveloperSetup {
        var file = try EnvironmentFile.read(path)
        let url = try await admin.appURL()
        let user = email ?? file[Self.user] ?? newEmail()
        let known = file[Self.user] == user ? file[Self.password] : nil
        if known == nil, (try? await admin.user(user)) != nil { throw notKnown(user) }
        let password = known ?? RandomText.digits(4)
        let justInTime = try await admin.create(AdminMessages.NewContainer(name: container, justInTime: "all")).justInTime
        let isSame = file["CLOUDKIT_CONTAINER"] == container && file["CLOUDKIT_ENVIRONMENT"] == environment
        let apiToken = try await apiToken(isSame ? file["CLOUDKIT_API_TOKEN"] : nil, container, environment, admin)
        var accountToken = isSame && file[Self.user] == user ? file["CLOUDKIT_ACCOUNT_TOKEN"] : nil
        let client = PublicClient(url: url)
        if let known = accountToken, try await !client.isGood(accountToken: known, container, environment) { accountToken = nil }
        let values = [
            "CLOUDKIT_SERVER_URL": url, "CLOUDKIT_CONTAINER": container, "CLOUDKIT_ENVIRONMENT": environment, "CLOUDKIT_API_TOKEN": apiToken,
            Self.user: user, Self.password: password,
        ]
        for name in variables + [Self.user, Self.password] { if let value = values[name] { file[name] = value } }
        // Written before the account is made: a run that was cut short goes on with this password.
        try file.write(path)
        let token: String
        if let accountToken {
            token = accountToken
        } else {
            token = try await signIn(user, password, isNew: known == nil, apiToken, container, environment, client, admin)
            file["CLOUDKIT_ACCOUNT_TOKEN"] = token
            try file.write(path)
        }
        return DeveloperSetup(
            container: container, environment: environment, url: url, user: user, envFile: path, justInTime: justInTime, apiToken: apiToken,
            accountToken: token)
    }

    /// Returns the known API token where it is still valid, otherwise a new one.
    private static func apiToken(_ known: String?, _ container: String, _ environment: String, _ admin: AdminClient) async throws -> String {
        if let known {
            var isGood = false
            try await admin.eachPageOfTokens(of: container) { page in
                isGood = isGood || page.tokens.contains { $0.id == known && $0.environment == environment && $0.ends == nil }
            }
            if isGood { return known }
        }
        return try await admin.create(AdminMessages.NewToken(container: container, environment: environment, kind: "api", name: "nacre up")).token
    }

    /// Returns an account token.
    /// - Parameter isNew: Whether the account does not exist yet; otherwise it may have been deleted.
    private static func signIn(
        _ email: String, _ password: String, isNew: Bool, _ apiToken: String, _ container: String, _ environment: String, _ client: PublicClient,
        _ admin: AdminClient
    ) async throws -> String {
        let request = AccountMessages.SignIn(
            email: email, password: password, apiToken: apiToken, container: container, environment: environment, kind: .account, device: "nacre up")
        if !isNew {
            do {
                return try await client.signIn(request).token
            } catch let failure as CommandFailure where failure.code == .authentication {
                // The account does not exist, or has another password.
            }
        }
        do {
            _ = try await admin.create(AdminMessages.NewUser(email: email, password: password))
        } catch let failure as CommandFailure where failure.code == .failure {
            throw notKnown(email)
        }
        return try await client.signIn(request).token
    }

    private static func notKnown(_ email: String) -> CommandFailure {
        CommandFailure(
            .failure, "\(email) is an account whose password the file does not have",
            remedy: "Write it into the file as \(password) beside \(user), or name another address with --email.")
    }

    /// Says whose saves make types and fields.
    private var types: String {
        if environment == "production" { return "those of the deployed schema: nacre schema deploy" }
        return justInTime == "all"
            ? "made by the first saves of any app, web pages included"
            : "made by saves of the framework alone; by those of web pages too after nacre container change \(container) --just-in-time all"
    }

    var text: String {
        let option = envFile == Up.usualFile ? "" : " --env-file \(ShellWord.quoted(envFile))"
        let database = #""$CLOUDKIT_SERVER_URL/database/1/$CLOUDKIT_CONTAINER/$CLOUDKIT_ENVIRONMENT/private/records"#
        return #"""

            \#(container) is ready at \#(url)

              user       \#(user)
              variables  \#(envFile): keep it out of your repository
              types      \#(types)

            Next: load the variables, save a record, and find it again.

              eval "$(nacre env\#(option))"
              curl -H "Authorization: Bearer $CLOUDKIT_ACCOUNT_TOKEN" \#(database)/modify" --data '{"operations":[{"operationType":"create","record":{"recordType":"Note","fields":{"text":{"value":"hello"}}}}]}'
              curl -H "Authorization: Bearer $CLOUDKIT_ACCOUNT_TOKEN" \#(database)/query" --data '{"query":{"recordType":"Note","filterBy":{"fieldName":"text","comparator":"EQUALS","fieldValue":{"value":"hello"}}}}'

            """#
    }
}
