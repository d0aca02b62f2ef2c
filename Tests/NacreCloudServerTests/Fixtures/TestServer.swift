import Foundation
import NacreCloudServerWire
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer
import NacreTelemetry

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudServer
@testable import NacreCloudStorage

/// A server of one test: a container with an API token in each environment, and two users, Ada and Bob, each with a
/// web auth token and an account token. Its store is in memory, and the test moves its clock.
///
/// Requests go two ways: `respond` calls the router in this process; `ask` goes through the socket that
/// `startListening` opens.
final class TestServer: Sendable {
    static let container = "iCloud.test.scenes"
    static let otherContainer = "iCloud.test.other"
    static let password = "correct horse battery"
    /// Sleeping tasks in a listening server, beside its requests: the task lanes, their upkeep, the search for strays
    /// once it has run, and the watch for alerts.
    static let sleepers = TaskLane.allCases.count + 3
    /// The password hash of the two accounts: made once, because a hash takes 70 ms on purpose.
    private static let passwordHash = Result { try PasswordHash.hash(password) }

    let clock: TestClock
    let log = LogLines()
    let store: FaultyStore
    let folder: TemporaryFolder
    let cloud: Cloud
    let alarm = TaskAlarm()
    let sealer: TokenSealer
    let assets = MemoryAssets()
    let authenticator: Authenticator
    let server: Server
    /// names[name]: texts that requests may name, such as tokens and users.
    let names: [String: String]
    let router: Router
    let recorder: TelemetryRecorder
    let observation: Observation

    init(
        opensSignUp: Bool = false, isVouched: Bool = false, publicURL: String? = nil, passwords: PasswordHasher = PasswordHasher(cost: .least),
        queryScanRows: Int = Limits.queryScanRows, requestRate: Int? = Limits.requestRate, doesTasks: Bool = true,
        openID: OpenIDConfiguration? = nil, mail: MailConfiguration? = nil, texts: TextConfiguration? = nil,
        pushServices: PushServices = PushServices(), isEmulator: Bool = false, trustedProxy: String? = nil,
        clock: TestClock = TestClock(), recorded: RecordedRequests? = nil, observing: [any RequestObserver] = [],
        over inner: any Store = MemoryStore()
    ) async throws {
        store = FaultyStore(inner)
        folder = try TemporaryFolder()
        self.clock = clock
        let random: @Sendable () -> UInt64 = { .random(in: .min ... .max) }
        var configuration = NacreCloudServer.ServerConfiguration(dataFolder: folder.path, logger: log.logger)
        configuration.listen = ListenAddress(host: "127.0.0.1", port: 0)
        configuration.publicURL = publicURL
        configuration.opensSignUp = opensSignUp
        configuration.queryScanRows = queryScanRows
        configuration.requestRate = requestRate
        configuration.doesTasks = doesTasks
        configuration.openID = openID
        configuration.mail = mail
        configuration.texts = texts
        configuration.pushServices = pushServices
        configuration.isEmulator = isEmulator
        configuration.clock = clock.serverClock
        if let trustedProxy { _ = configuration.trust(proxy: trustedProxy) }
        server = Server(configuration)
        let registry = Registry(store: store, clock: { clock.now }, random: random)
        let keys = try await registry.sealingKeys { try SealingKey.newKeyBytes() }
        sealer = try TokenSealer(keys: keys)
        let hub = ChangeHub(sleep: clock.serverClock.sleep)
        let rates = RequestRates(perSecond: requestRate, clock: clock.serverClock)
        let noted = recorded?.noting(by: clock.serverClock)
        cloud = Cloud(
            store: store, tokens: sealer,
            process: CloudProcess(
                clock: { clock.now }, random: random, charge: { await rates.take($1, from: $0, in: registry) },
                noted: noted),
            assets: assets, senders: configuration.senders(sealer, registry), hints: ServerHints(hub: hub, alarm: alarm))
        authenticator = Authenticator(cloud: cloud, sealer: sealer, clock: clock.serverClock)
        recorder = TelemetryRecorder(TelemetryFile(folder: nil), clock: clock.serverClock, logger: log.logger, random: random)
        observation = Observation(
            telemetry: Telemetry(), recorder: recorder, recorded: recorded, openTelemetry: nil,
            alerts: server.alertWatch(cloud, sealer, nil, recorder))
        router = server.publicRouter(cloud, authenticator, hub, passwords, rates, observers: observation.observers + observing) { true }
        names = try await Self.populate(cloud, authenticator, isVouched: isVouched)
    }

    /// Makes everything that scenarios may use, and returns it by name.
    private static func populate(_ cloud: Cloud, _ authenticator: Authenticator, isVouched: Bool) async throws -> [String: String] {
        _ = try await cloud.registry.createContainer(container)
        _ = try await cloud.registry.createContainer(otherContainer)
        var names = [
            "api": try await cloud.registry.createAPIToken(container: container, environment: .development, name: ""),
            "api.second": try await cloud.registry.createAPIToken(container: container, environment: .development, name: ""),
            "api.production": try await cloud.registry.createAPIToken(container: container, environment: .production, name: ""),
            "api.other": try await cloud.registry.createAPIToken(container: otherContainer, environment: .development, name: ""),
        ]
        for user in ["ada", "bob"] {
            let account = try await cloud.registry.createAccount(
                email: "\(user)@example.com", passwordHash: try passwordHash.get(), isVouched: isVouched)
            for (suffix, environment) in [("", DatabaseKey.Environment.development), (".production", .production)] {
                let token = names["api" + suffix] ?? ""
                for (kind, isKept) in [("", false), (".kept", true)] {
                    let entry = try await authenticator.apiTokenEntry(token, container: container, environment: environment)
                    let name = try await cloud.admit(account: account.id, to: container, environment)
                    let session = try await cloud.registry.startSession(
                        of: account, as: name, apiToken: token, entry: entry, isKept: isKept)
                    names[user + kind + suffix] = try authenticator.webAuthToken(for: session)
                    names[user + kind + ".id" + suffix] = session.id
                    names[user + ".name" + suffix] = session.userRecordName
                }
                let device = try await cloud.registry.createAccountToken(
                    for: account, containers: [container], environment: environment, device: "test")
                names[user + ".device" + suffix] = try authenticator.accountToken(for: device)
                names[user + ".device.id" + suffix] = device.id
            }
            names[user + ".account"] = account.id
            names[user + ".escaped"] = names[user]?.addingPercentEncoding(withAllowedCharacters: .alphanumerics)
        }
        return names
    }

    /// Ends an account token as another process would: this one still remembers it.
    func revokeElsewhere(_ user: String) async throws {
        try await cloud.registry.revokeAccountToken(names[user + ".device.id"] ?? "", of: names[user + ".account"] ?? "")
    }

    /// Adds the types and fields that a web client's save needs to the development schema, as an app of the framework
    /// would have.
    func prepareTypes(for body: String, in container: String) async throws {
        guard let request = try? RecordsModifyRequest(json: Array(body.utf8)) else { return }
        let changes = request.operations.compactMap { try? $0.get() }.filter { !$0.type.isDelete }.map(\.change)
        try await cloud.schemas.changeSchema(of: container, .development) { schema in
            for change in changes {
                // A change without a type is one of a note here.
                guard let type = change.recordType ?? (schema.types["Note"] == nil ? nil : "Note"), Names.recordTypeFault(type) == nil,
                    type != "cloudkit.share", type != "Users"
                else { continue }
                let fields = RecordFields(change.set.entries.filter { Names.fieldNameFault($0.name) == nil })
                if let lacking = schema.lacking(of: type, with: fields) { schema.add(lacking) }
            }
        }
    }

    func respond(_ question: Question) async -> Answer {
        Answer(await router.respond(to: question.inProcess))
    }

    /// Starts the whole server over the same store, and returns its port.
    func startListening() async throws -> Int {
        let addresses = try await server.start(over: store)
        guard let port = ListenAddress(addresses.publicURL.replacingOccurrences(of: "http://", with: ""))?.port else {
            throw POSIXFault(call: "address", code: 0)
        }
        return port
    }
}
