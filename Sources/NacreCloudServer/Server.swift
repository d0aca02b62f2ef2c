import Glibc
import NacreCloudAccounts
import NacreCloudContainer
package import NacreCloudStorage
import NacreCloudStore
import NacreCloudTasks
import NacreCloudWire
import NacreCrypto
import NacreHTTPClient
import NacreHTTPServer
import NacreLocks
import NacreTelemetry

/// The whole server: a store, the cloud over it, and its listeners. Only this type knows every part.
///
/// A server is used once: `start`, then `shutdown`. Both may be called from any thread.
package final class Server: Sendable {
    /// The addresses of a started server.
    package struct Addresses: Hashable, Sendable {
        package var publicURL: String
        /// URL of the public listener on this machine, past any proxy.
        package var localURL: String
        package var adminURL: String
        /// URL of the console: the configured one, or that of its own listener on this machine; nil: neither is there.
        package var consoleURL: String?
        /// The backup made before older data were rewritten; nil if nothing was rewritten.
        package var migrationBackup: String?
    }

    /// Time that requests under way have to end before they are cancelled. On this server SIGTERM ends within 10 s; the
    /// remaining 3 s are for cancelled requests and for emptying the log.
    package static let shutdownGrace: Duration = .seconds(7)

    let configuration: ServerConfiguration
    private let life = Locked(Life.new)
    private let migrationBackup = Locked<String?>(nil)
    private let telemetry = Telemetry()
    /// Faults that an emulator injects; nil for a real server.
    private let faults: FaultQueue?

    private enum Life: Sendable {
        case new
        case running(Running)
        /// Every call of `shutdown` waits for this task.
        case ended(Task<Void, Never>)
    }

    /// The parts of a started server.
    private struct Running: Sendable {
        var store: any Store
        var assets: any AssetStorage
        var hub: ChangeHub
        var tasks: TaskRunner
        var publicServer: HTTPServer
        var adminServer: HTTPServer
        var consoleServer: HTTPServer?
        var adminFile: AdminFilePublisher
        var backups: BackupRunner
        var scheduled: ScheduledBackups?
        var sweep: BackgroundWork
        var observation: Observation
        var requestsUnderWay: [Gauge]
    }

    package init(_ configuration: ServerConfiguration) {
        self.configuration = configuration
        faults = configuration.isEmulator ? FaultQueue() : nil
    }

    /// Opens the store and listens.
    /// - Throws: `StoreError` (the folder is in use, or newer; backups cannot be written), `ServerStartError` (the port
    ///   is taken), or the system's error. Nothing stays open then.
    package func start() async throws -> Addresses {
        try configuration.backups?.makeFolder()
        let store = try await openStore()
        do {
            return try await start(over: store)
        } catch {
            await store.close()
            throw error
        }
    }

    private func openStore() async throws -> any Store {
        let report = StoreLog(logger: configuration.logger)
        switch configuration.engine {
        case .memory:
            try PrivateFile.makeFolder(configuration.dataFolder)
            report.log(.wereOpen(try DataFolder.makePrivate(configuration.dataFolder)))
            return MemoryStore(run: Run.number(after: Run.none, random: .random(in: .min ... .max)))
        case .sqlite:
            let options = OfflineFolder.options(
                configuration.dataFolder, makesBackup: configuration.backsUpBeforeMigration,
                backupFolders: configuration.backups.map { [$0.folder] } ?? []
            ) { [weak self, commits = telemetry.histogram(.commitDuration)] event in
                if case .committed(let duration) = event { commits.record(duration) }
                if case .migrating(_, _, let backup) = event { self?.migrationBackup.withLock { $0 = backup } }
                report.log(event)
            }
            return try await SQLiteStore.open(folder: configuration.dataFolder, options: options)
        }
    }

    /// Serves a given store: called by `start`, and by tests that bring their own store.
    package func start(over store: any Store) async throws -> Addresses {
        let assets = try await openAssets(store)
        let recorder = openRecorder()
        await recorder.open()
        do {
            let registry = Registry(store: store, clock: configuration.clock.now, random: { Self.random() })
            let keys = try await registry.sealingKeys { try SealingKey.newKeyBytes() }
            let recorded = try requestLog(Pseudonyms(key: keys.first?.key ?? []))
            do {
                return try await start(over: store, assets, registry, try TokenSealer(keys: keys), recorder, recorded)
            } catch {
                await recorded?.log.close()
                throw error
            }
        } catch {
            await recorder.close()
            await assets.close()
            throw error
        }
    }

    private func openRecorder() -> TelemetryRecorder {
        let file = TelemetryFile(folder: configuration.engine == .sqlite ? configuration.dataFolder : nil)
        return TelemetryRecorder(file, clock: configuration.clock, logger: configuration.logger, random: Self.random)
    }

    private func openAssets(_ store: any Store) async throws -> any AssetStorage {
        guard configuration.engine == .sqlite else { return MemoryAssets() }
        let home = AssetHome(folder: configuration.dataFolder)
        guard let bucket = configuration.assetBucket else {
            return try await home.open(over: store)
        }
        let mayBegin = try home.mayBegin(bucket)
        let registry = Registry(store: store, clock: configuration.clock.now, random: { Self.random() })
        let assets = try await S3Assets.open(bucket, owner: try await registry.assetOwner { HMACSHA256.code(for: $0, key: $1) }, mayBegin: mayBegin)
        try home.note(bucket)
        return assets
    }

    private func start(
        over store: any Store, _ assets: any AssetStorage, _ registry: Registry, _ sealer: TokenSealer, _ recorder: TelemetryRecorder,
        _ recorded: RecordedRequests?
    ) async throws -> Addresses {
        let clock = configuration.clock
        let overload = OverloadLog(configuration.logger, telemetry)
        let hub = ChangeHub(overload: overload, sleep: clock.sleep)
        let alarm = TaskAlarm()
        let random: @Sendable () -> UInt64 = { Self.random() }
        let rates = RequestRates(perSecond: configuration.requestRate, clock: clock, overload: overload)
        let process = CloudProcess(
            clock: clock.now, random: random, longWork: LongWork.shared, charge: { await rates.take($1, from: $0, in: registry) },
            failed: StoreFaultLog(logger: configuration.logger, telemetry).log, noted: recorded?.noting(by: clock))
        var senders = configuration.senders(sealer, registry, telemetry)
        senders.observer = recorder
        let cloud = Cloud(
            store: store, tokens: sealer, process: process, assets: assets, senders: senders, bounds: configuration.bounds,
            hints: ServerHints(hub: hub, alarm: alarm))
        let passwords = PasswordHasher(cost: configuration.passwordCost)
        let authenticator = Authenticator(cloud: cloud, sealer: sealer, clock: clock)
        let tasks = TaskRunner(cloud: cloud, alarm: alarm, clock: clock, logger: configuration.logger)
        let backups = BackupRunner(store, folder: configuration.dataFolder, assets)
        let sweep = BackgroundWork()
        let scheduled = configuration.backups.map { ScheduledBackups($0, backups, clock: clock, logger: configuration.logger, telemetry) }

        var http = httpConfiguration(configuration.listen)
        (http.connectionsMax, http.trustedProxies) = (connectionsMax(configuration.connectionsMax), configuration.trustedProxies)
        let observation = Observation(
            telemetry: telemetry, recorder: recorder, recorded: recorded,
            openTelemetry: configuration.openTelemetry.map { OpenTelemetry($0, of: configuration, telemetry) },
            alerts: alertWatch(cloud, sealer, scheduled, recorder))
        let adminToken = try AdminFile.newToken()
        let publicServer = HTTPServer(
            http,
            router: publicRouter(cloud, authenticator, hub, passwords, rates, overload, observers: observation.observers) { [weak self] in
                self?.isRunning ?? false
            }, telemetry: telemetry, logger: configuration.logger)
        let (localURL, publicURL) = Self.urls(of: try await publicServer.start(), configuration.publicURL)
        cloud.assetLinks.setRoot(publicURL)
        let metrics = metrics(of: cloud, store, assets, http.budgets)
        let api = adminAPI(cloud, authenticator, backups, passwords, adminToken, (publicURL, localURL), observation, scheduled)
        let adminServer = HTTPServer(
            adminHTTPConfiguration(configuration.adminListen), router: adminRouter(api, metrics), logger: configuration.logger)
        let console = configuration.consoleListen.map { consoleServer($0, api, rates, metrics) }
        do {
            let adminURL = Self.urls(of: try await adminServer.start()).local
            let consoleURL = self.consoleURL(of: try await console?.start(), api.console)
            let file = AdminFilePublisher(
                AdminFile(url: adminURL, publicURL: publicURL, pid: getpid(), token: adminToken), in: configuration.dataFolder, clock: clock,
                logger: configuration.logger)
            try file.publish()
            let running = Running(
                store: store, assets: assets, hub: hub, tasks: tasks, publicServer: publicServer, adminServer: adminServer,
                consoleServer: console, adminFile: file, backups: backups, scheduled: scheduled, sweep: sweep, observation: observation,
                requestsUnderWay: [telemetry.gauge(.httpInFlight), telemetry.gauge(.httpAwaitingClient)])
            life.withLock { $0 = .running(running) }
            await startWork(running, of: cloud, metrics)
            let backup = migrationBackup.withLock { $0 }
            return Addresses(publicURL: publicURL, localURL: localURL, adminURL: adminURL, consoleURL: consoleURL, migrationBackup: backup)
        } catch {
            await publicServer.shutdown(grace: .zero)
            await adminServer.shutdown(grace: .zero)
            await console?.shutdown(grace: .zero)
            throw error
        }
    }

    /// The request log, which is in memory if the data are; nil if it is turned off.
    private func requestLog(_ pseudonyms: Pseudonyms) throws -> RecordedRequests? {
        let folder = configuration.engine == .sqlite ? configuration.dataFolder : nil
        guard let bounds = configuration.requestLog else {
            if let folder { RequestRing.remove(from: folder) }
            return nil
        }
        let ring = try RequestRing(
            folder: folder, server: pseudonyms.check, bounds: bounds, now: { [clock = configuration.clock] in clock.now().millisecondsSince1970 },
            report: { [logger = configuration.logger] event in RequestLogNotice(logger: logger).log(event) })
        return RecordedRequests(log: ring, pseudonyms: pseudonyms)
    }

    /// Starts the work outside requests.
    private func startWork(_ parts: Running, of cloud: Cloud, _ metrics: Metrics) async {
        if configuration.doesTasks {
            await takeUpTasks(cloud)
            parts.tasks.start()
            parts.observation.alerts.start()
            parts.sweep.start { [clock = configuration.clock, logger = configuration.logger] in
                await OrphanSweep(cloud: cloud, clock: clock, logger: logger).run()
            }
        }
        parts.scheduled?.start()
        parts.observation.start(cloud, metrics)
    }

    /// Releases the leases of tasks that the previous process held when it died. They can run at once where no other
    /// process has the store.
    private func takeUpTasks(_ cloud: Cloud) async {
        do {
            let count = try await cloud.endLeases()
            guard count > 0 else { return }
            configuration.logger.log(.notice, "Takes up the tasks that the server before was doing when it died", [.count: .int(count)])
        } catch {
            configuration.logger.log(
                .warning, "The tasks of the server before are taken up when their leases end", [.error: .string(String(describing: error))])
        }
    }

    /// Takes no new requests, lets those under way end, and closes the store: everything acknowledged is on the disk.
    /// Idempotent: every call returns when the shutdown is done, and the first call's grace counts.
    package func shutdown(grace: Duration = Server.shutdownGrace) async {
        let end = life.withLock { life -> Task<Void, Never>? in
            switch life {
            case .new: return nil
            case .ended(let end): return end
            case .running(let parts):
                let end = Task { [logger = configuration.logger] in await Self.end(parts, grace: grace, logger) }
                life = .ended(end)
                return end
            }
        }
        await end?.value
    }

    private static func end(_ parts: Running, grace: Duration, _ logger: Logger) async {
        parts.adminFile.withdraw()
        parts.hub.close()
        parts.backups.cancel()
        await parts.scheduled?.stop()
        await parts.observation.alerts.stop()
        await parts.sweep.stop()
        async let publicEnd: Void = parts.publicServer.shutdown(grace: grace)
        async let adminEnd: Void = parts.adminServer.shutdown(grace: grace)
        async let consoleEnd: Void? = parts.consoleServer?.shutdown(grace: grace)
        async let tasksEnd: Void = parts.tasks.stop()
        _ = await (publicEnd, adminEnd, consoleEnd, tasksEnd)
        await parts.observation.stop()
        await parts.assets.close()
        await parts.store.close()
        logger.writeFolded()
    }

    /// Requests whose client sends, is being answered or reads its answer. A request that waits for a change does not
    /// count.
    package var requestsUnderWay: Int {
        life.withLock { if case .running(let parts) = $0 { parts.requestsUnderWay.reduce(0) { $0 + $1.value } } else { 0 } }
    }

    // MARK: Parts

    private var isRunning: Bool {
        life.withLock { if case .running = $0 { true } else { false } }
    }

    /// The public listener's router, with every route that a client can reach.
    func publicRouter(
        _ cloud: Cloud, _ authenticator: Authenticator, _ hub: ChangeHub, _ passwords: PasswordHasher, _ rates: RequestRates = .off,
        _ overload: OverloadLog = .silent, observers: [any RequestObserver] = [], isRunning: @escaping @Sendable () -> Bool
    ) -> Router {
        var router = Router()
        let signIn = SignInAddress(publicURL: configuration.publicURL)
        let errors = ErrorAnswer(logger: configuration.logger, signIn: signIn)
        Doorkeeper(
            hosts: ServedHosts(names: hosts), appRoots: API.roots.union(AccountAPI.roots), errors: errors, rates: rates, logger: configuration.logger,
            observers: observers, now: configuration.clock.now
        ).guardRoutes(of: &router)
        if let faults {
            Emulator(faults: faults, authenticator: authenticator, registry: cloud.registry, clock: configuration.clock).guardRoutes(of: &router)
        }
        API(
            cloud: cloud, authenticator: authenticator, hub: hub, errors: errors, queryScanRows: configuration.queryScanRows, rates: rates
        ).addRoutes(to: &router)
        let accounts = AccountAPI(
            cloud: cloud, authenticator: authenticator, passwords: passwords, opensSignUp: configuration.opensSignUp, clock: configuration.clock,
            logger: configuration.logger, overload: overload, rates: rates, errors: errors)
        accounts.addRoutes(to: &router)
        let page = SignInPage(
            address: signIn, accounts: accounts, errors: errors, issuerName: configuration.openID?.name, sendsMail: cloud.senders.mail != nil)
        page.addRoutes(to: &router)
        PasswordPages(page: page).addRoutes(to: &router)
        if page.sendsMail { AddressPage(page: page).addRoutes(to: &router) }
        if let openID = configuration.openID {
            let issuer = OpenIDIssuer(openID, client: HTTPClient(), clock: configuration.clock)
            OpenIDPage(page: page, issuer: issuer).addRoutes(to: &router)
        }
        OpenAPIPage(accounts: accounts).addRoutes(to: &router)
        ErrorsPage.addRoute(to: &router)
        FrontPage.addRoute(to: &router)
        SharePage(page: page).addRoute(to: &router)
        ManagedSharePage(page: page).addRoutes(to: &router)
        WebLibrary.addRoute(to: &router)
        health(cloud, isRunning: isRunning).addRoutes(to: &router)
        return router
    }

    private func health(_ cloud: Cloud, isRunning: @escaping @Sendable () -> Bool = { true }) -> Health {
        Health(
            registry: cloud.registry, requestRate: configuration.requestRate, quotas: configuration.quotas, assetSizes: cloud.bounds.assetSizes,
            connectionsMax: configuration.connectionsMax, isRunning: isRunning)
    }

    func adminAPI(
        _ cloud: Cloud, _ authenticator: Authenticator, _ backups: BackupRunner, _ passwords: PasswordHasher, _ token: String,
        _ urls: (public: String, local: String), _ observation: Observation, _ scheduled: ScheduledBackups? = nil
    ) -> AdminAPI {
        AdminAPI(
            cloud: cloud, authenticator: authenticator, backups: backups, passwords: passwords, token: token, publicURL: urls.public,
            localURL: urls.local, requestRate: configuration.requestRate, limits: health(cloud).limits, faults: faults, logger: configuration.logger,
            recentLog: configuration.recentLog, observation: observation,
            console: ConsoleGate(hosts: consoleHosts, url: configuration.consoleURL, now: configuration.clock.now), scheduled: scheduled)
    }

    private func metrics(of cloud: Cloud, _ store: any Store, _ assets: any AssetStorage, _ budgets: Budgets) -> Metrics {
        var metrics = Metrics(telemetry: telemetry, budgets: budgets, started: configuration.clock.now())
        metrics.dataFolder = configuration.dataFolder
        for signal in OTLPSender.signals { _ = telemetry.counter(.otlpDropped, signal) }
        metrics.assets = { assets.usage }
        metrics.tasks = { try await cloud.taskFigures() }
        metrics.webhookLags = { try await cloud.webhookLags() }
        if let store = store as? SQLiteStore {
            metrics.store = {
                let events = SQLiteStatistics.Counter.allCases.map { (kind: $0.rawValue, count: store.statistics[$0]) }
                return StoreFigures(events: events, writesWaiting: store.waitingWrites)
            }
        }
        return metrics
    }

    func alertWatch(_ cloud: Cloud, _ sealer: TokenSealer, _ scheduled: ScheduledBackups?, _ recorder: TelemetryRecorder) -> AlertWatch {
        let readings = ServerReadings(
            cloud: cloud, folder: configuration.engine == .memory ? nil : configuration.dataFolder, scheduled: scheduled,
            recorder: recorder)
        let teller = AlertTeller(
            postman: configuration.postman(sealer), hosts: configuration.alertHosts, sealer: sealer, clock: configuration.clock,
            logger: configuration.logger, server: configuration.publicURL.flatMap(Self.host) ?? "nacre")
        return AlertWatch(
            cloud.registry, readings, teller, backupSeconds: configuration.backups?.everySeconds, clock: configuration.clock,
            logger: configuration.logger)
    }

    /// The number of connections to allow: `wanted`, or fewer if descriptors do not suffice, which the log then says.
    private func connectionsMax(_ wanted: Int) -> Int {
        let descriptors = DescriptorLimit.raise()
        let connections = DescriptorLimit.connections(descriptors, wanted: wanted)
        configuration.logger.log(
            connections < wanted ? .notice : .info, "Connections that descriptors allow",
            [
                .count: .int(connections), .limit: .int(descriptors),
                .remedy: .string(connections < wanted ? "For more, raise the hard limit: LimitNOFILE= of systemd, or ulimit -Hn." : "none needed"),
            ])
        return connections
    }

    private func httpConfiguration(_ address: ListenAddress) -> HTTPServerConfiguration {
        var http = HTTPServerConfiguration()
        http.host = address.host
        http.port = address.port
        http.loopCount = configuration.loopCount
        return http
    }

    /// Backups and checks take as long as they need, so an administrator's request has a day.
    func adminHTTPConfiguration(_ address: ListenAddress) -> HTTPServerConfiguration {
        var http = httpConfiguration(address)
        http.workDeadline = .seconds(24 * 3600)
        return http
    }

    /// Host names that the server answers besides every IP address: loopback's, the listening one, the public one, and
    /// those that the operator adds.
    var hosts: Set<String> {
        var hosts = Set(["localhost", configuration.listen.host.lowercased()] + configuration.hosts.map { $0.lowercased() })
        if let url = configuration.publicURL, let host = Self.host(of: url) { hosts.insert(host) }
        return hosts
    }

    /// The host of `scheme://[user@host]:port/…` in lower case; nil if there is none.
    static func host(of url: String) -> String? {
        guard let separator = url.firstRange(of: "://") else { return nil }
        var authority = url[separator.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        if let at = authority.lastIndex(of: "@") { authority = authority[authority.index(after: at)...] }
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") { return authority[...end].lowercased() }
        let host = authority.prefix { $0 != ":" }
        return host.isEmpty ? nil : host.lowercased()
    }

    /// The listener's URL on this machine, and the URL for others: `given`, if set. A listener on all of the machine's
    /// addresses is announced by the address that the network knows.
    static func urls(of listener: (host: String, port: Int), _ given: String? = nil) -> (local: String, others: String) {
        func url(_ host: String) -> String { "http://\(ListenAddress(host: host, port: listener.port))" }
        guard IPAddress.isAny(listener.host) else { return (url(listener.host), given ?? url(listener.host)) }
        return (url("127.0.0.1"), given ?? url(MachineAddress.onNetwork ?? "127.0.0.1"))
    }

    /// 64 random bits for names and keys. If OpenSSL's generator fails, the system's is used: both draw from the
    /// kernel.
    private static func random() -> UInt64 {
        (try? SecureRandom.uint64()) ?? UInt64.random(in: .min ... .max)
    }
}

/// Writes the store's events into the log.
private struct StoreLog: Sendable {
    let logger: Logger

    func log(_ event: StoreEvent) {
        switch event {
        case .wereOpen(let findings):
            if !findings.mended.isEmpty {
                logger.log(.warning, "What was open to others is closed", [.path: .string(findings.mended.joined(separator: ", "))])
            }
            if !findings.left.isEmpty {
                logger.log(
                    .warning, "Others can read what lies on a disk that takes no change", [.path: .string(findings.left.joined(separator: ", "))])
            }
        case .migrating(let from, let to, let backup):
            logger.log(
                .notice, "The data are brought to a newer version",
                [.version: .string("\(from) to \(to)"), .path: .string(backup ?? "no backup was wanted")])
        case .readOnly(let error):
            logger.log(
                .error, "The data cannot be written: reads are served, writes are refused until they can be, without a restart",
                [
                    .path: .string(error.values["path"] ?? ""), .error: .string(error.text), .reason: .string(error.values["reason"] ?? ""),
                    .code: .string(error.values["code"] ?? ""),
                ])
        case .heldWriter(let write):
            logger.log(
                .error, "A write kept others waiting for longer than a write may",
                [
                    .operation: .string(write.operation), .requestID: .string(write.requestID), .count: .int(Int(write.rows)),
                    .durationMilliseconds: .int(Int(write.milliseconds)),
                ])
        case .writable: logger.log(.notice, "The data can be written again")
        case .committed: break
        }
    }
}
