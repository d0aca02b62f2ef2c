import FoundationEssentials
import NacreCloudContainer
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudTorture
import NacreCloudWire
import NacreCrypto
import NacreHTTPClient
import NacreLocks
import NacreTelemetry

@testable import NacreCloudServer

/// A whole server in this process over a store, on a port of its own, with accounts of which the first has two devices.
final class ServedStore: Sendable {
    static let container = "iCloud.test.torture"

    private struct Quiet: LogSink {
        func write(_ line: [UInt8]) {}
    }

    let url: String
    let accountTokens: [String]
    private let folder: TemporaryFolder
    private let store: any Store
    private let running: Locked<Server>

    private let bucket: AssetBucket?

    /// - Parameter bucket: for files; nil: they are in a folder.
    init(_ store: any Store, accounts: Int = 1, bucket: AssetBucket? = nil) async throws {
        self.store = store
        self.bucket = bucket
        folder = try TemporaryFolder()
        // Before the server, which finds at its start the indexes that are to be made.
        accountTokens = try await Self.populate(store, accounts)
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

    private static func populate(_ store: any Store, _ accounts: Int) async throws -> [String] {
        let random: @Sendable () -> UInt64 = { .random(in: .min ... .max) }
        let keys = try await Registry(store: store, clock: ServerClock.system.now, random: random).sealingKeys { try SealingKey.newKeyBytes() }
        let sealer = try TokenSealer(keys: keys)
        let cloud = Cloud(store: store, clock: ServerClock.system.now, random: random, tokens: sealer)
        let authenticator = Authenticator(cloud: cloud, sealer: sealer, clock: .system)
        _ = try await cloud.registry.createContainer(container)
        // So few records as these would be found without an index, and its rows are what some stores lose.
        for field in ["shelf", "batch"] {
            _ = try await cloud.registry.setIndexes(
                [.queryable, .sortable], of: "Torture", field: field, as: .int64, isNow: true, in: container)
        }
        // Nobody signs in with it: its devices are made here.
        var tokens: [String] = []
        for number in 0..<accounts {
            let account = try await cloud.registry.createAccount(email: "user\(number)@example.com", passwordHash: "")
            for device in number == 0 ? ["desk", "pocket"] : ["desk"] {
                let entry = try await cloud.registry.createAccountToken(
                    for: account, containers: [container], environment: .development, device: device)
                tokens.append(try authenticator.accountToken(for: entry))
            }
        }
        return tokens
    }

    func options(seconds: Double, seed: UInt64) -> TortureOptions {
        TortureOptions(
            url: url, container: Self.container, environment: "development", accountTokens: accountTokens, seconds: seconds, seed: seed)
    }

    /// As `nacre schema index` has them changed.
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

    /// Stops listening in the middle of what is going on.
    func kill() async {
        await running.withLock { $0 }.shutdown(grace: .zero)
    }

    /// Listens again where it did.
    func start() async throws {
        let port = ListenAddress(String(url.dropFirst("http://".count)))?.port ?? 0
        let server = Server(Self.configuration(folder.path, port: port, bucket))
        _ = try await server.start(over: KeptOpen(below: store))
        running.withLock { $0 = server }
    }

    func close() async {
        await kill()
        await store.close()
    }
}

/// A store that outlives the servers over it.
private struct KeptOpen: LayeredStore {
    let below: any Store

    func close() async {}
}
