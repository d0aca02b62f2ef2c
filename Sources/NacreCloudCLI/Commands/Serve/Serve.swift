import Foundation
import NacreCloudServer

/// `nacre serve`
enum Serve {
    private static let data = Option.value("data", "dir", fallback: "./nacre-data", "Where the data is kept; made if it is missing.")
    static let listen = Option.value(
        "listen", "host:port", fallback: "127.0.0.1:8787", "Where apps reach the server; port 0 for any free one.")
    private static let memory = Option.flag("memory", "Keep the data in memory, until the server ends.")
    private static let emulator = Option.flag(
        "emulator", "For tests of apps: keep the data in memory, and take failures that nacre fault orders.")
    private static let adminListen = Option.value(
        "admin-listen", "host:port", fallback: "127.0.0.1:0", "Where administrators reach it; they find it by the data folder.")
    private static let insecureAdmin = Option.flag(
        "insecure-admin",
        "Let administrators reach it from other machines, where --admin-listen says so: without encryption, so only behind a proxy or a tunnel.")
    private static let consoleListen = Option.value(
        "console-listen", "host:port", "Where a team reaches the console: for its sessions alone, over HTTPS by a proxy before it, or by a tunnel.")
    private static let consoleURL = Option.value(
        "console-url", "url",
        "The URL by which people reach the console, where a proxy stands before it: its links have it, and its host is answered.")
    private static let consoleAllow = Option.value(
        "console-allow", "addresses", "The clients that --console-listen serves: addresses or networks, with commas between. By default all.")
    private static let consoleDir = Option.value(
        "console-dir", "dir", "Serve the console's page from this folder, for work on it. By default it is part of the program.")
    private static let openSignUp = Option.flag("open-sign-up", "Let anybody make an account.")
    private static let publicURL = Option.value("public-url", "url", "The URL by which apps reach the server, where a proxy stands before it.")
    private static let host = Option.repeated(
        "host", "name", "A name under which the server answers besides that of --public-url; may be given several times. Addresses need none.")
    private static let trustedProxy = Option.value(
        "trusted-proxy", "addresses", "Proxies whose X-Forwarded-For is believed: addresses or networks, with commas between.")
    private static let requestRate = Option.value(
        "request-rate", "units", fallback: String(ServerConfiguration.usualRequestRate),
        "Work that one user may have done a second; 0 for as much as they like.")
    private static let connections = Option.value(
        "connections", "count", fallback: String(ServerConfiguration.usualConnections),
        "Connections that apps may have open together, as far as descriptors allow: a device that waits for changes has one, and takes 15 to 35 KB of memory."
    )
    private static let userQuota = Option.value(
        "user-quota", "size", "What a user's private database may hold: a number of bytes, with K, M, G or T of 1024. By default as much as the disk."
    )
    private static let publicQuota = Option.value("public-quota", "size", "What a container's public database may hold, likewise.")
    private static let assets = Option.value(
        "assets", "url",
        "Keep the files of assets in a bucket: s3://BUCKET[/PREFIX][?endpoint=URL][&region=NAME], with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. By default "
            + "in the data folder.")
    private static let assetSizeWeb = Option.value(
        "asset-size-web", "size", fallback: "50M", "How large a file of a web client may be: a number of bytes, with K, M, G or T of 1024.")
    private static let assetSizeApp = Option.value(
        "asset-size-app", "size", fallback: "250M", "How large a file of an app with the framework may be, likewise.")
    private static let logFile = Option.value(
        "log-file", "file", "Append the log to this file, which SIGHUP has opened anew. By default standard error has it.")
    private static let logFormat = Option.value(
        "log-format", "format", oneOf: ServerConfiguration.LogFormat.allCases.map(\.rawValue),
        "How log lines look. By default text on a terminal, else json.")
    static let logLevel = Option.value(
        "log-level", "level", oneOf: ServerConfiguration.logLevels, fallback: "notice", "What is logged; info has a line for each request.")

    private static let requestLogDays = Option.value(
        "request-log-days", "days", fallback: ServerConfiguration.usualRequestLog.days,
        "Days for which requests are kept for nacre logs; 0 for none.")
    private static let requestLogSize = Option.value(
        "request-log-size", "size", fallback: ServerConfiguration.usualRequestLog.size,
        "What they may take of the disk: a number of bytes, with K, M, G or T of 1024; the oldest go first. 0 for none.")

    private static let dev = Option.value(
        "dev", "container", "Also do what nacre up does for this container, once the server is ready: an API token, a user, and a file .env.")

    private static let backupDir = Option.value("backup-dir", "dir", "Where the server puts a backup by itself, now and then; made if it is missing.")
    private static let backupEvery = Option.value("backup-every", "time", fallback: "24h", "How often: a number with s, m, h or d.")
    private static let backupKeep = Option.value("backup-keep", "count", fallback: "14", "How many finished ones it keeps.")

    private static let webPushHost = Option.repeated(
        "web-push-host", "name",
        "A host of push services that browsers may name, *.NAME for any below it, in the place of those of Chrome, Firefox, Safari and Edge; may be given several times."
    )

    private static let alertHost = Option.repeated(
        "alert-host", "name", "A host that alerts may be sent to over HTTPS, *.NAME for any below it; may be given several times.")

    /// Options that variables and the file can set as well as the command line.
    static let settings =
        [
            data, listen, memory, emulator, publicURL, host, trustedProxy, requestRate, connections, userQuota, publicQuota, assets, assetSizeWeb,
            assetSizeApp,
            adminListen, insecureAdmin, consoleListen, consoleURL, consoleAllow, consoleDir, openSignUp, backupDir, backupEvery, backupKeep,
            Migrate.noBackup,
        ] + OpenIDOptions.all + MailOptions.all + TextOptions.all
        + [webPushHost, alertHost, logFile, logFormat, logLevel, requestLogDays, requestLogSize]

    static let command = Command(
        "serve", "Run the server.",
        discussion: """
            Serves until it is interrupted; then requests under way are finished, for at most ten seconds. A second interrupt ends it at once. Whatever \
            was acknowledged is on the disk in either case. SIGHUP ends nothing: it opens the file of --log-file anew. With --json one object with the \
            addresses is printed when the server is ready. Every option but that and --dev may also stand in the environment, --admin-listen as NACRE_ADMIN_LISTEN, \
            and in a file of settings: nacre config show.
            """,
        options: settings + [dev, Settings.file, SharedOptions.json], settings: settings
    ) { call in
        try await run(call) { screen in
            if call.has(SharedOptions.json) { try Output.json(screen) }
            if Output.isOnTerminal { Output.message(screen.text) }
            if let container = call.value(dev) { Output.message(try await Up.setUp(container, call, by: try await AdminClient.connect(call)).text) }
            await ConsoleCommand.show(call)
            return .serves
        }
    }

    /// The next step of a server once it is ready.
    enum Next {
        /// Serve until interrupted.
        case serves
        /// End now.
        case ends
    }

    /// Serves until it is interrupted.
    /// - Parameter isReady: Called once the server serves; returns how it goes on. If it throws, the server ends.
    static func run(_ call: Call, _ isReady: (FirstScreen) async throws -> Next) async throws {
        let file = try call.value(logFile).map(LogFile.open)
        let configuration = try configuration(call, file)
        let signals = StopSignals { configuration.reopenLog(file) }
        let server = Server(configuration)
        let addresses: Server.Addresses
        do {
            addresses = try await server.start()
        } catch {
            let wanted = [configuration.listen, configuration.adminListen, configuration.consoleListen].compactMap(\.self).filter { $0.port != 0 }
            throw CommandFailure(StartFault(error, listen: wanted, dataFolder: configuration.dataFolder))
        }
        let screen = FirstScreen(addresses, configuration)
        do {
            configuration.logServing(at: screen.url, data: screen.data, version: ShowVersion.text)
            if try await isReady(screen) == .ends { return await server.shutdown() }
        } catch {
            await server.shutdown()
            throw error
        }
        ServiceNotice.isReady(at: screen.url)
        await signals.first()
        ServiceNotice.isStopping()
        let count = server.requestsUnderWay
        if count > 0 {
            let patience = Server.shutdownGrace.components.seconds
            Output.message(
                "\(count == 1 ? "A request is" : "\(count) requests are") under way and may take \(patience) seconds to end; another Ctrl-C ends the server at once."
            )
        }
        await server.shutdown()
        switch configuration.engine {
        case .memory: Output.message("in memory: discarded (use --data without --memory to keep)")
        case .sqlite: Output.message("saved to \(screen.data)")
        }
    }

    /// Returns the configuration that the options give.
    /// - Parameter log: The log file; nil: standard error.
    static func configuration(_ call: Call, _ log: LogFile? = nil) throws -> ServerConfiguration {
        let format = call.value(logFormat).flatMap(ServerConfiguration.LogFormat.init(rawValue:)) ?? .usual
        let folder = try call.require(data)
        guard var configuration = ServerConfiguration(dataFolder: folder, logFormat: format, logLevel: try call.require(logLevel), logFile: log)
        else {
            throw UsageError(.invalid("--\(logLevel.name)", ServerConfiguration.logLevels.joined(separator: ", ")), path: call.path)
        }
        let isInMemory = call.has(memory) || call.has(emulator)
        configuration.engine = isInMemory ? .memory : .sqlite
        configuration.isEmulator = call.has(emulator)
        configuration.listen = try address(listen, call)
        configuration.adminListen = try address(adminListen, call)
        guard call.has(insecureAdmin) || configuration.adminListen.isLoopback else {
            throw UsageError(
                .invalid(
                    "--\(adminListen.name)",
                    "administrators reach it from this machine alone, such as 127.0.0.1:0, unless --\(insecureAdmin.name) is given"),
                path: call.path)
        }
        try setConsole(of: &configuration, call)
        configuration.consoleFolder = try call.value(consoleDir).map { folder in
            guard FileManager.default.fileExists(atPath: folder + "/index.html") else {
                throw UsageError(.invalid("--\(consoleDir.name)", "name the folder that has the console's index.html"), path: call.path)
            }
            return folder
        }
        configuration.opensSignUp = call.has(openSignUp)
        configuration.openID = try OpenIDOptions.configuration(call)
        configuration.backsUpBeforeMigration = !call.has(Migrate.noBackup)
        configuration.backups = try schedule(call)
        configuration.publicURL = try call.value(publicURL).map { try AdminServer.checked($0, of: publicURL, call) }
        configuration.hosts = try call.all(host).map { name in
            guard ServerConfiguration.isHostName(name) else {
                throw UsageError(.invalid("--\(host.name)", "give a name without scheme and port, such as notes.example.com"), path: call.path)
            }
            return name
        }
        let pushHosts = try hosts(webPushHost, call)
        if !pushHosts.isEmpty { configuration.setWebPushHosts(pushHosts) }
        configuration.setAlertHosts(try hosts(alertHost, call))
        configuration.texts = try TextOptions.configuration(call)
        configuration.mail = try MailOptions.configuration(call, publicURL: configuration.publicURL)
        for proxy in (call.value(trustedProxy) ?? "").split(separator: ",") where !configuration.trust(proxy: String(proxy)) {
            throw UsageError(.invalid("--\(trustedProxy.name)", "give addresses such as 127.0.0.1 or 10.0.0.0/8"), path: call.path)
        }
        guard let rate = Int(try call.require(requestRate)), (0...1_000_000_000).contains(rate) else {
            throw UsageError(.invalid("--\(requestRate.name)", "give a number of units a second, or 0"), path: call.path)
        }
        configuration.requestRate = rate == 0 ? nil : rate
        guard let count = Int(try call.require(connections)), ServerConfiguration.connections.contains(count) else {
            let (least, most) = (ServerConfiguration.connections.lowerBound, ServerConfiguration.connections.upperBound)
            throw UsageError(.invalid("--\(connections.name)", "give a number from \(least) to \(most)"), path: call.path)
        }
        configuration.connectionsMax = count
        configuration.setQuotas(userBytes: try QuotaOptions.bytes(userQuota, call), publicBytes: try QuotaOptions.bytes(publicQuota, call))
        if let url = call.value(assets) {
            guard !isInMemory else {
                throw UsageError(.exclusive("--\(assets.name)", "--\((call.has(memory) ? memory : emulator).name)"), path: call.path)
            }
            if let fault = configuration.setAssets(url: url, environment: ProcessInfo.processInfo.environment) {
                throw UsageError(.invalid("--\(assets.name)", fault), path: call.path)
            }
        }
        try setRequestLog(of: &configuration, call)
        configuration.openTelemetry = OpenTelemetryConfiguration(environment: ProcessInfo.processInfo.environment)
        configuration.setAssetSizes(web: try assetSize(assetSizeWeb, call), native: try assetSize(assetSizeApp, call))
        return configuration
    }

    /// Returns the hosts of an option: each a name, or `*.` and a name.
    private static func hosts(_ option: Option, _ call: Call) throws -> [String] {
        try call.all(option).map { name in
            guard ServerConfiguration.isHostName(name.hasPrefix("*.") ? String(name.dropFirst(2)) : name) else {
                throw UsageError(.invalid("--\(option.name)", "give a name such as push.example.com or *.push.example.com"), path: call.path)
            }
            return name
        }
    }

    private static func assetSize(_ option: Option, _ call: Call) throws -> Int {
        guard let bytes = Quantity.bytes(try call.require(option)), bytes <= ServerConfiguration.largestAsset else {
            throw UsageError(.invalid("--\(option.name)", "give a number of bytes up to 9G, or one with K, M or G, such as 100M"), path: call.path)
        }
        return bytes
    }

    private static func setConsole(of configuration: inout ServerConfiguration, _ call: Call) throws {
        if call.value(consoleListen) != nil { configuration.consoleListen = try address(consoleListen, call) }
        configuration.consoleURL = try call.value(consoleURL).map { text in
            let url = try AdminServer.checked(text, of: consoleURL, call)
            guard let parts = URLComponents(string: url), parts.path.isEmpty, parts.query == nil, parts.fragment == nil, parts.user == nil else {
                throw UsageError(.invalid("--\(consoleURL.name)", "give a URL without a path, such as https://console.example.com"), path: call.path)
            }
            return url
        }
        guard let networks = call.value(consoleAllow) else { return }
        guard configuration.consoleListen != nil else {
            throw UsageError(.invalid("--\(consoleAllow.name)", "give --\(consoleListen.name) with it"), path: call.path)
        }
        let names = networks.split(separator: ",", omittingEmptySubsequences: false)
        for network in names where !configuration.allowConsole(network: String(network)) {
            throw UsageError(.invalid("--\(consoleAllow.name)", "give addresses such as 192.0.2.7 or 10.0.0.0/8"), path: call.path)
        }
    }

    private static func setRequestLog(of configuration: inout ServerConfiguration, _ call: Call) throws {
        let size = try call.require(requestLogSize)
        let days = Int(try call.require(requestLogDays)) ?? -1
        switch configuration.setRequestLog(days: days, bytes: size == "0" ? 0 : Quantity.bytes(size) ?? -1) {
        case .days(let most): throw UsageError(.invalid("--\(requestLogDays.name)", "give a number of days up to \(most), or 0"), path: call.path)
        case .bytes(let least):
            throw UsageError(.invalid("--\(requestLogSize.name)", "give \(least >> 20)M or more, such as 256M, or 0"), path: call.path)
        case nil: break
        }
    }

    private static func schedule(_ call: Call) throws -> BackupSchedule? {
        guard let folder = call.value(backupDir) else {
            if let option = [backupEvery, backupKeep].first(where: { call.isSet($0) && call.value($0) != $0.fallback }) {
                throw UsageError(.invalid("--\(option.name)", "give --\(backupDir.name) with it"), path: call.path)
            }
            return nil
        }
        for flag in [memory, emulator] where call.has(flag) { throw UsageError(.exclusive("--\(backupDir.name)", "--\(flag.name)"), path: call.path) }
        guard let every = Quantity.seconds(try call.require(backupEvery)) else {
            throw UsageError(.invalid("--\(backupEvery.name)", "give a number with s, m, h or d, such as 24h"), path: call.path)
        }
        guard let keep = Int(try call.require(backupKeep)), keep > 0 else {
            throw UsageError(.invalid("--\(backupKeep.name)", "give a positive number"), path: call.path)
        }
        return BackupSchedule(folder: BackupCommands.absolute(folder), everySeconds: every, keep: keep)
    }

    private static func address(_ option: Option, _ call: Call) throws -> ListenAddress {
        guard let address = ListenAddress(try call.require(option)) else {
            throw UsageError(.invalid("--\(option.name)", "give HOST:PORT, such as 127.0.0.1:8787 or [::1]:8787"), path: call.path)
        }
        return address
    }
}
