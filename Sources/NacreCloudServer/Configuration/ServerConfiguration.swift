import NacreCloudContainer
package import NacreCloudWire
package import NacreCrypto
import NacreHTTPServer
package import NacreTelemetry

/// How a server is set up. Everything has a default that is safe on a developer's machine.
package struct ServerConfiguration: Sendable {
    /// Keeps the database and the admin file; made if it is missing, for this user alone.
    package var dataFolder: String
    package var engine = StorageEngine.sqlite
    /// Whether administrators may order faults for tests of apps: `nacre serve --emulator`.
    package var isEmulator = false
    package var listen = ListenAddress(host: "127.0.0.1", port: 8787)
    /// Loopback, any free port: its address is written to the data folder.
    package var adminListen = ListenAddress(host: "127.0.0.1", port: 0)
    /// The URL by which clients reach the server, for answers and for the hosts it answers to; nil: `http://` and where it listens.
    package var publicURL: String?
    /// Names of hosts besides that of `publicURL` under which the public listener answers.
    package var hosts: [String] = []
    /// Anybody may make an account; otherwise an administrator does.
    package var opensSignUp = false
    /// Where and when backups are made; nil for none.
    package var backups: BackupSchedule?
    /// Whether a start that rewrites older data makes a backup of them first, beside them.
    package var backsUpBeforeMigration = true
    /// Whose `X-Forwarded-For` is believed, for pauses of sign-ins, shares of memory and the log.
    var trustedProxies = TrustedProxies()
    /// Work that one user may have done a second, in the unit of `Limits.requestRate`; others have a multiple of it. nil: as much as they like.
    package var requestRate: Int? = ServerConfiguration.usualRequestRate
    /// Connections that apps may have open together, as far as descriptors allow them; near it those whose clients are awaited longest are closed.
    package var connectionsMax = ServerConfiguration.usualConnections
    /// The issuer of a team's own accounts; nil: users sign in by what is kept here.
    package var openID: OpenIDConfiguration?
    /// Takes this server's mails; nil: it sends none. Its links begin with `publicURL`.
    package var mail: MailConfiguration?
    /// nil: no text messages are sent, and no phone number is verified.
    package var texts: TextConfiguration?
    /// Which push services are sent to.
    var pushServices = PushServices()
    package var logger: Logger { didSet { logger = logger.keeping(recentLog) } }
    /// The last lines of that.
    let recentLog = RecentLog()
    /// Threads that serve HTTP.
    package var loopCount = 1
    package var clock: ServerClock = .system
    /// Rows that one page of a query may look at, so that a test can have few.
    package var queryScanRows = Limits.queryScanRows
    /// Whether the server does the outbox's tasks, so that a test can choose when they are done.
    var doesTasks = true

    /// Of hashes of new passwords. Nobody's data are behind those of an emulator, and its apps' tests sign in often.
    package var passwordCost: PasswordHash.Cost { isEmulator ? .least : .usual }

    package static let usualRequestRate = Limits.requestRate
    package static let usualConnections = HTTPServerConfiguration().connectionsMax
    /// What `connectionsMax` may be. As many descriptors as Linux gives a process without being told (`fs.nr_open`).
    package static let connections = 16...1_048_576

    /// What the databases of each container may hold where nobody has said otherwise of it.
    var quotas = Quotas.none

    /// The same, in bytes, each at most `Limits.quotaBytes`; 0: as much as the disk.
    package mutating func setQuotas(userBytes: Int?, publicBytes: Int?) {
        quotas = Quotas(userBytes: Int64(userBytes ?? 0), publicBytes: Int64(publicBytes ?? 0))
    }

    /// Where the files of assets are kept; nil: in the data folder.
    var assetBucket: AssetBucket?

    /// The same, as `AssetBucket.init` reads it.
    /// - Returns: what is wrong with it.
    package mutating func setAssets(url: String, environment: [String: String]) -> String? {
        do throws(AssetBucket.Fault) {
            assetBucket = try AssetBucket(url: url, environment: environment)
            return nil
        } catch {
            return error.text
        }
    }

    /// How large a file may be.
    var assetSizes = AssetSizes()

    /// The same, in bytes, each positive and at most `largestAsset`; nil: as usual.
    package mutating func setAssetSizes(web: Int?, native: Int?) {
        assetSizes.web = web ?? assetSizes.web
        assetSizes.native = native ?? assetSizes.native
    }

    /// What one user may have sent and not saved: a larger file would never be taken in.
    package static let largestAsset = Int(Limits.waitingAssetBytes)

    /// Names the hosts that browsers may have their push services at, in the place of the usual ones: each a name, or `*.` and a name for any below it.
    package mutating func setWebPushHosts(_ names: [String]) {
        pushServices.hosts = PushHosts(names: names.map { $0.lowercased() })
    }

    package init(dataFolder: String, logger: Logger) {
        self.dataFolder = dataFolder
        self.logger = logger.keeping(recentLog)
    }

    /// Whether text is a name of `hosts`: letters, digits, dots and hyphens.
    package static func isHostName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 253
            && text.utf8.allSatisfy { ($0 | 0x20) >= 0x61 && ($0 | 0x20) <= 0x7a || (0x30...0x39).contains($0) || $0 == 0x2d || $0 == 0x2e }
    }

    /// Believes the `X-Forwarded-For` of an address or a network such as `10.0.0.0/8`; false for text that is neither.
    package mutating func trust(proxy: String) -> Bool { trustedProxies.add(proxy) }
}

/// What keeps a server's data.
package enum StorageEngine: String, Hashable, Sendable {
    /// A database in the data folder.
    case sqlite
    /// Records live in memory and end with the process; the folder holds the admin file only.
    case memory
}

/// The server's time, so that a test can hold it.
package struct ServerClock: Sendable {
    /// Wall time.
    package var now: @Sendable () -> Timestamp
    package var sleep: @Sendable (Duration) async throws -> Void

    package init(now: @escaping @Sendable () -> Timestamp, sleep: @escaping @Sendable (Duration) async throws -> Void) {
        self.now = now
        self.sleep = sleep
    }
}
