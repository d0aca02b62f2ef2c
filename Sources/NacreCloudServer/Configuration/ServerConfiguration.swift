import NacreCloudContainer
import NacreCloudStorage
package import NacreCloudWire
package import NacreCrypto
import NacreHTTPServer
package import NacreTelemetry

/// The configuration of a server. Every default is safe on a developer's machine.
package struct ServerConfiguration: Sendable {
    /// Folder of the database and the admin file; created if missing, accessible to this user alone.
    package var dataFolder: String
    package var engine = StorageEngine.sqlite
    /// Whether administrators may order faults for tests of apps: `nacre serve --emulator`.
    package var isEmulator = false
    package var listen = ListenAddress(host: "127.0.0.1", port: 8787)
    /// The admin listener's address: loopback and any free port, which is written to the data folder.
    package var adminListen = ListenAddress(host: "127.0.0.1", port: 0)
    /// The address of the listener for the console's sessions alone; nil: there is none.
    package var consoleListen: ListenAddress?
    /// The URL by which people reach the console, for its links and its host name; nil: that of its own listener or,
    /// without one, that of the admin API.
    package var consoleURL: String?
    /// Networks whose clients that listener serves; none: all.
    var consoleNetworks = AddressNetworks()
    /// The folder of the console's files, for work on them; nil: the files that are part of the program.
    package var consoleFolder: String?
    /// The URL by which clients reach the server, used in answers and for its host name; nil: `http://` and the
    /// listening address.
    package var publicURL: String?
    /// Host names besides that of `publicURL` that the public listener answers.
    package var hosts: [String] = []
    /// Whether clients may create accounts; otherwise only an administrator may.
    package var opensSignUp = false
    /// The folder and the times of backups; nil for no backups.
    package var backups: BackupSchedule?
    /// Whether a start that rewrites older data first makes a backup of them, in the same place.
    package var backsUpBeforeMigration = true
    /// Proxies whose `X-Forwarded-For` is believed, for pauses of sign-ins, shares of memory and the log.
    var trustedProxies = TrustedProxies()
    /// Work that one user may have done each second, in the unit of `Limits.requestRate`; other payers get a multiple
    /// of it. nil: no limit.
    package var requestRate: Int? = ServerConfiguration.usualRequestRate
    /// Connections that apps may have open together, as far as descriptors allow. Near the limit, those that wait
    /// longest for their clients are closed.
    package var connectionsMax = ServerConfiguration.usualConnections
    /// The issuer of a team's accounts; nil: users sign in with accounts of this server.
    package var openID: OpenIDConfiguration?
    /// The server's way to send mail; nil: it sends none. Links in mails begin with `publicURL`.
    package var mail: MailConfiguration?
    /// The service for text messages; nil: none are sent, and no phone number is verified.
    package var texts: TextConfiguration?
    /// The push services that are sent to.
    var pushServices = PushServices()
    package var logger: Logger { didSet { logger = logger.keeping(recentLog) } }
    /// The last lines of `logger`.
    let recentLog = RecentLog()
    /// The bounds of the request log; nil: none is kept.
    var requestLog: RequestLogBounds? = .usual
    package static let usualRequestLog = (days: String(RequestLogBounds.usual.days), size: "\(RequestLogBounds.usual.bytes >> 20)M")

    /// Sets the bounds of the request log; 0 days or bytes turn it off.
    /// - Returns: the fault; nil if there is none.
    package mutating func setRequestLog(days: Int, bytes: Int) -> RequestLogFault? {
        guard (0...RequestLogBounds.mostDays).contains(days) else { return .days(most: RequestLogBounds.mostDays) }
        guard bytes == 0 || bytes >= RequestLogBounds.leastBytes else { return .bytes(least: RequestLogBounds.leastBytes) }
        requestLog = days == 0 || bytes == 0 ? nil : RequestLogBounds(days: days, bytes: bytes)
        return nil
    }

    /// Bounds that a request log cannot have.
    package enum RequestLogFault: Hashable, Sendable {
        case days(most: Int)
        case bytes(least: Int)
    }
    /// Threads that serve HTTP.
    package var loopCount = 1
    package var clock: ServerClock = .system
    /// The export of traces and metrics; nil: none.
    package var openTelemetry: OpenTelemetryConfiguration?
    /// Rows that one page of a query may look at; a test can set few.
    package var queryScanRows = Limits.queryScanRows
    /// Whether the server runs the outbox's tasks; a test can turn that off and run them itself.
    var doesTasks = true

    /// The cost of hashes of new passwords. An emulator protects no data, and its apps' tests sign in often.
    package var passwordCost: PasswordHash.Cost { isEmulator ? .least : .usual }

    package static let usualRequestRate = Limits.requestRate
    package static let usualConnections = HTTPServerConfiguration().connectionsMax
    /// Valid values of `connectionsMax`, up to the descriptors that Linux allows a process by default (`fs.nr_open`).
    package static let connections = 16...1_048_576

    /// Quotas of each container's databases, unless others are set for the container.
    var quotas = Quotas.none

    /// Sets `quotas` in bytes, each at most `Limits.quotaBytes`; nil or 0: no limit but the disk.
    package mutating func setQuotas(userBytes: Int?, publicBytes: Int?) {
        quotas = Quotas(userBytes: Int64(userBytes ?? 0), publicBytes: Int64(publicBytes ?? 0))
    }

    /// The bucket of assets' files; nil: the data folder keeps them.
    var assetBucket: AssetBucket?

    /// Sets `assetBucket`, as `AssetBucket.init` reads it.
    /// - Returns: the fault; nil if there is none.
    package mutating func setAssets(url: String, environment: [String: String]) -> String? {
        do throws(AssetBucket.Fault) {
            assetBucket = try AssetBucket(url: url, environment: environment)
            return nil
        } catch {
            return error.text
        }
    }

    /// The largest sizes of files.
    var assetSizes = AssetSizes()

    var bounds: CloudBounds { CloudBounds(quotas: quotas, assetSizes: assetSizes) }

    /// Sets `assetSizes` in bytes, each positive and at most `largestAsset`; nil keeps a size as it is.
    package mutating func setAssetSizes(web: Int?, native: Int?) {
        assetSizes.web = web ?? assetSizes.web
        assetSizes.native = native ?? assetSizes.native
    }

    /// The largest file in bytes: what one user may have sent and not saved. A larger file would never be accepted.
    package static let largestAsset = Int(Limits.waitingAssetBytes)

    /// Replaces the hosts that browsers may have their push services at: each a name, or `*.` and a name for any host
    /// below it.
    package mutating func setWebPushHosts(_ names: [String]) {
        pushServices.hosts = PushHosts(names: names.map { $0.lowercased() })
    }

    /// The hosts that alerts may be sent to over HTTPS, beside this machine.
    var alertHosts = PushHosts(names: [])

    /// Sets `alertHosts`: each a name, or `*.` and a name for any host below it.
    package mutating func setAlertHosts(_ names: [String]) {
        alertHosts = PushHosts(names: names.map { $0.lowercased() })
    }

    package init(dataFolder: String, logger: Logger) {
        self.dataFolder = dataFolder
        self.logger = logger.keeping(recentLog)
    }

    /// Whether text is a host name for `hosts`: letters, digits, dots and hyphens.
    package static func isHostName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 253
            && text.utf8.allSatisfy { ($0 | 0x20) >= 0x61 && ($0 | 0x20) <= 0x7a || (0x30...0x39).contains($0) || $0 == 0x2d || $0 == 0x2e }
    }

    /// Believes the `X-Forwarded-For` of an address or a network such as `10.0.0.0/8`; false for text that is neither.
    package mutating func trust(proxy: String) -> Bool { trustedProxies.add(proxy) }

    /// Lets clients of an address or a network such as `10.0.0.0/8` ask the console's listener, which then serves no
    /// others; false for text that is neither.
    package mutating func allowConsole(network: String) -> Bool { consoleNetworks.add(network) }
}

/// The storage of a server's data.
package enum StorageEngine: String, Hashable, Sendable {
    /// A database in the data folder.
    case sqlite
    /// Memory: records end with the process, and the folder holds the admin file only.
    case memory
}

/// The server's clock, which a test can control.
package struct ServerClock: Sendable {
    /// Wall time.
    package var now: @Sendable () -> Timestamp
    package var sleep: @Sendable (Duration) async throws -> Void

    package init(now: @escaping @Sendable () -> Timestamp, sleep: @escaping @Sendable (Duration) async throws -> Void) {
        self.now = now
        self.sleep = sleep
    }
}
