package import NacreCloudAccounts
package import NacreCloudContainer
package import NacreCloudStorage
import NacreCloudTasks
package import NacreCloudWire
import NacreCrypto
package import NacreHTTPServer
import NacreTelemetry

/// Routes of the public listener over a store, inside the caller's process: no socket, no thread, no file, no log.
/// Meant for tests of apps.
///
/// Tasks that a request leaves behind run before its answer, so nothing is under way between requests. No mail is sent
/// and nothing is pushed.
package final class InProcessServer: Sendable {
    package let cloud: Cloud
    private let router: Router
    private let authenticator: Authenticator
    private let hub: ChangeHub

    /// - Parameters:
    ///   - clock: its `sleep` is how long requests wait for a change.
    ///   - url: the beginning of every file's URL.
    package init(
        over store: any Store, _ assets: any AssetStorage, clock: ServerClock, random: @escaping @Sendable () -> UInt64, url: String
    ) async throws {
        var configuration = ServerConfiguration(dataFolder: "", logger: .silent)
        configuration.clock = clock
        configuration.requestRate = nil
        configuration.publicURL = url
        let registry = Registry(store: store, clock: clock.now, random: random)
        let keys = try await registry.sealingKeys { try SealingKey.newKeyBytes() }
        let sealer = try TokenSealer(keys: keys)
        hub = ChangeHub(sleep: clock.sleep)
        cloud = Cloud(
            store: store, tokens: sealer, process: CloudProcess(clock: clock.now, random: random), assets: assets,
            bounds: configuration.bounds, hints: ServerHints(hub: hub, alarm: TaskAlarm()))
        cloud.assetLinks.setRoot(url)
        authenticator = Authenticator(cloud: cloud, sealer: sealer, clock: clock)
        router = Server(configuration).publicRouter(cloud, authenticator, hub, PasswordHasher(cost: .least)) { true }
    }

    /// Answers as over HTTP. Cancelling the task ends whatever the request waits for.
    package func respond(to request: HTTPRequest) async -> HTTPResponse {
        let response = await router.respond(to: request)
        await runDueTasks()
        return response
    }

    /// The answer for an error, as the server writes it.
    package func refusal(_ error: ServerError, of request: HTTPRequest) -> HTTPResponse {
        router.onError(error, request)
    }

    /// Runs due tasks until none is left. A task that fails becomes due again later.
    package func runDueTasks() async {
        while let round = try? await cloud.runDueTasks(), round.taken > 0, !Task.isCancelled {}
    }

    // MARK: Accounts

    /// Creates an account without a password, with its address marked as vouched for.
    /// - Returns: the account's ID.
    package func addAccount(email: String) async throws -> String {
        try await cloud.registry.createAccount(email: email, passwordHash: "", isVouched: true).id
    }

    /// Signs a device in.
    package func signIn(
        _ account: String, to container: String, _ environment: DatabaseKey.Environment, device: String
    ) async throws -> (token: String, userRecordName: String) {
        let user = try await cloud.admit(account: account, to: container, environment)
        let entry = try await cloud.registry.createAccountToken(
            for: try await entry(account), containers: [container], environment: environment, device: device)
        return (try authenticator.accountToken(for: entry), user)
    }

    package func setState(of account: String, to state: AccountState) async throws {
        defer { authenticator.forget(account: account) }
        _ = try await cloud.registry.setState(of: try await entry(account), to: state)
    }

    private func entry(_ account: String) async throws -> AccountEntry {
        guard let entry = try await cloud.registry.account(id: account) else {
            throw ServerError(.notFound, "no such account", field: "account", remedy: "Sign its user in first.")
        }
        return entry
    }

    /// Ends every wait and closes the store.
    package func close() async {
        hub.close()
        await cloud.store.close()
    }
}
