import FoundationEssentials
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudTorture
import NacreCloudWire
import NacreCrypto
import NacreHTTPClient
import NacreLocks
import NacreTelemetry

@testable import NacreCloudServer

extension Engine {
    /// The engines of torture runs: the shipped one, and a weak one.
    static let tortured: [Engine] = [.sqlite, .sideBySide]
}

/// A whole server in this process over a store, on its own port, with accounts of which the first has two devices.
final class ServedStore: Sendable {
    static let container = "iCloud.test.torture"
    /// A container in which the first account has a device, too.
    static let elsewhere = "iCloud.test.elsewhere"

    private struct Quiet: LogSink {
        func write(_ line: [UInt8]) {}
    }

    let url: String
    let accountTokens: [String]
    private let strangerToken: String
    private let signIn: @Sendable () async throws -> String
    private let folder: TemporaryFolder
    private let store: any Store
    private let running: Locked<Server>

    private let bucket: AssetBucket?

    /// Starts the server.
    /// - Parameter bucket: The bucket for files; nil: a folder.
    init(_ store: any Store, accounts: Int = 1, bucket: AssetBucket? = nil) async throws {
        self.store = store
        self.bucket = bucket
        folder = try TemporaryFolder()
        // Before the server starts, which then finds the indexes to build.
        (accountTokens, strangerToken, signIn) = try await Self.populate(store, accounts)
        let server = Server(Self.configuration(folder.path, port: 0, bucket))
        url = try await server.start(over: KeptOpen(below: store)).publicURL
        running = Locked(server)
    }

    private static func configuration(_ folder: String, port: Int, _ bucket: AssetBucket?) -> ServerConfiguration {
        var configuration = ServerConfiguration(dataFolder: folder, logger: Logger(level: .error, format: .json, sink: Quiet()))
        configuration.assetBucket = bucket
        configuration.listen = ListenAddress(host: "127.0.0.1", port: port)
        return configuration
    }

    /// Fills the store.
    /// - Returns: The tokens of the accounts' devices, one of another container, and a function that makes another
    ///   for the first account.
    private static func populate(
        _ store: any Store, _ accounts: Int
    ) async throws -> ([String], elsewhere: String, signIn: @Sendable () async throws -> String) {
        let random: @Sendable () -> UInt64 = { .random(in: .min ... .max) }
        let keys = try await Registry(store: store, clock: ServerClock.system.now, random: random).sealingKeys { try SealingKey.newKeyBytes() }
        let sealer = try TokenSealer(keys: keys)
        let cloud = Cloud(store: store, tokens: sealer, process: CloudProcess(clock: ServerClock.system.now, random: random))
        let authenticator = Authenticator(cloud: cloud, sealer: sealer, clock: .system)
        for name in [container, elsewhere] { _ = try await cloud.registry.createContainer(name) }
        // Without this, so few records would be found without an index; some stores lose its rows.
        for field in ["shelf", "batch"] {
            _ = try await cloud.schemas.setIndexes(
                [.queryable, .sortable], of: "Torture", field: field, as: .int64, isNow: true, in: container)
        }
        // No user signs in by its password: the devices are made here.
        @Sendable func token(_ account: AccountEntry, _ device: String, in container: String = container) async throws -> String {
            try authenticator.accountToken(
                for: try await cloud.registry.createAccountToken(
                    for: account, containers: [container], environment: .development, device: device))
        }
        let first = try await cloud.registry.createAccount(email: "user0@example.com", passwordHash: "")
        var tokens = [try await token(first, "desk"), try await token(first, "pocket")]
        for number in 1..<max(accounts, 1) {
            let account = try await cloud.registry.createAccount(email: "user\(number)@example.com", passwordHash: "")
            tokens.append(try await token(account, "desk"))
        }
        return (tokens, try await token(first, "elsewhere", in: elsewhere), { try await token(first, "visitor") })
    }

    func options(seconds: Double, seed: UInt64) -> TortureOptions {
        var options = TortureOptions(
            url: url, container: Self.container, environment: "development", accountTokens: accountTokens, seconds: seconds, seed: seed)
        options.signIn = signIn
        options.stranger = (Self.elsewhere, strangerToken)
        return options
    }

    /// Changes indexes as `nacre schema index` does.
    var indexes: TortureIndexes {
        let folder = folder.path
        return TortureIndexes { change in
            let admin = try AdminFile.read(folder: folder)
            let asked = AdminMessages.NewIndexes(
                container: Self.container, recordType: change.recordType, field: change.field, options: change.options, fieldType: nil,
                isNow: change.isNow)
            let answer = try await HTTPClient(.init()).send(
                HTTPClient.Request(
                    "POST", admin.url + "/admin/1/schema/indexes", headers: [.init("Authorization", "Bearer \(admin.token)")],
                    body: .bytes(Array(try JSONEncoder().encode(asked)))))
            guard answer.status == 200 else { throw TortureFault.restart(String(decoding: answer.body, as: UTF8.self)) }
        }
    }

    /// Stops listening in the middle of requests.
    func kill() async {
        await running.withLock { $0 }.shutdown(grace: .zero)
    }

    /// Listens again at the same port.
    func start() async throws {
        let port = ListenAddress(String(url.dropFirst("http://".count)))?.port ?? 0
        let server = Server(Self.configuration(folder.path, port: port, bucket))
        _ = try await server.start(over: KeptOpen(below: store))
        running.withLock { $0 = server }
    }

    var restarts: TortureRestarts { TortureRestarts(kill: { await self.kill() }, start: { try await self.start() }) }

    /// Runs torture against the server, with restarts where the goal asks for them, and closes it.
    func run(_ options: TortureOptions) async throws -> TortureReport {
        var options = options
        if let goal = options.goal, goal.restarts > 0 { options.restarts = restarts }
        let wanted = options
        let result = await Task { try await Torture(wanted).run() }.result
        await close()
        return try result.get()
    }

    func close() async {
        await kill()
        await store.close()
    }
}

/// A store that outlives the servers over it. For each of them it closes as any store does: writes under way finish,
/// and later ones fail.
private final class KeptOpen: LayeredStore {
    private struct State {
        var isClosed = false
        var underWay = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    let below: any Store
    private let state = Locked(State())

    init(below: any Store) { self.below = below }

    func write<Value: Sendable>(_ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>) async throws -> Value {
        let isOpen = state.withLock { state in
            if !state.isClosed { state.underWay += 1 }
            return !state.isClosed
        }
        guard isOpen else { throw StoreError(.unavailable, "The store is closed") }
        defer { end() }
        return try await below.write(body)
    }

    private func end() {
        let waiting = state.withLock { state in
            state.underWay -= 1
            defer { if state.underWay == 0 { state.waiting = [] } }
            return state.underWay == 0 ? state.waiting : []
        }
        for one in waiting { one.resume() }
    }

    func close() async {
        await withCheckedContinuation { one in
            let isDone = state.withLock { state in
                state.isClosed = true
                if state.underWay > 0 { state.waiting.append(one) }
                return state.underWay == 0
            }
            if isDone { one.resume() }
        }
    }
}
