package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire
package import NacreLocks

/// The cloud: every operation of CloudKit that this server supports, over any store.
///
/// An operation reads, applies the rules, and writes one plan. Its clock and its source of randomness are passed in, so
/// that a run can be replayed. Thread-safe. Each call is one transaction, or says how many.
package final class Cloud: StoreClient {
    package let store: any Store
    /// Containers, accounts and tokens, kept in the same store.
    package let registry: Registry
    /// The containers' schemas, kept in the registry.
    package let schemas: Schemas
    package let tokens: any TokenSealing
    /// Stores the bytes of assets; nil: uploads are refused.
    package let assets: (any AssetStorage)?
    package let assetLinks: AssetLinks
    package let process: CloudProcess
    package let senders: Senders
    package let bounds: CloudBounds
    /// The registry's key for the names of chunks, cached after its first use.
    let knownChunkKey = Locked<[UInt8]?>(nil)
    private let hints: any Hints
    let wordRoom = WordRoom()
    /// The tasks that commits have left to this process.
    package let handed: HandedTasks
    /// The rates of notifications to users' devices.
    package let notificationRates = NotificationRates()
    /// Devices that listen to this process, and need no push.
    package let listening = ListeningDevices()
    package let incomingFiles = IncomingFiles()
    let announcedUploads = AnnouncedUploads()
    /// Private databases whose owners have their user records.
    let admitted: KeyMemory
    /// The engine's last report on its own structure to a repair, and its time.
    package let soundness = Locked<(at: Timestamp, isSound: Bool)?>(nil)

    package init(
        store: any Store, tokens: any TokenSealing, process: CloudProcess, assets: (any AssetStorage)? = nil,
        senders: Senders = Senders(), bounds: CloudBounds = CloudBounds(), hints: any Hints = NoHints()
    ) {
        admitted = KeyMemory(isAlone: store.neighbours == nil)
        handed = HandedTasks(isAlone: store.neighbours == nil)
        self.store = HintingStore(store: store, hints: hints, handed: handed)
        registry = Registry(store: self.store, clock: process.clock, random: process.random, failed: process.failed)
        schemas = Schemas(registry: registry)
        self.tokens = tokens
        self.process = process
        self.assets = assets
        assetLinks = AssetLinks(tokens: AssetTokens(seals: tokens), clock: process.clock)
        self.senders = senders
        self.bounds = bounds
        self.hints = hints
        store.neighbours?.listen { hints.feedMoved($0) }
    }

    package var clock: @Sendable () -> Timestamp { process.clock }

    package var random: @Sendable () -> UInt64 { process.random }

    package var failed: @Sendable (StoreError) -> Void { process.failed }

    package var directory: DatabaseDirectory { registry.directory }

    package var now: Timestamp { clock() }

    /// Signals listeners, here and on other servers. Call it after each commit that moved the feed of a database.
    package func committed(_ database: DatabaseID) {
        hints.feedMoved(database)
        store.neighbours?.tell(database)
    }

    /// Returns a version 4 UUID in CloudKit's spelling: upper case.
    package func uuid() -> String {
        UUIDText.version4(random(), random())
    }
}

/// The time, the chance and the executor that a process gives its cloud, and the receivers of costs and failures.
package struct CloudProcess: Sendable {
    package var clock: @Sendable () -> Timestamp
    package var random: @Sendable () -> UInt64
    /// Runs long computations of a request; nil: the request's own executor does.
    package var longWork: (any TaskExecutor)?
    /// Receives the cost of a user's changes that arises after its requests, in the unit of `WorkMeter`.
    package var charge: @Sendable (AppUser, Int) async -> Void
    /// Receives each failure of the store in a request or a task, and each damaged record. Must return at once.
    package var failed: @Sendable (StoreError) -> Void
    /// Receives events on the way of notifications, for the request log; nil: none are made. Must return at once.
    package var noted: (@Sendable ([NotificationEvent]) -> Void)?

    package init(
        clock: @escaping @Sendable () -> Timestamp, random: @escaping @Sendable () -> UInt64,
        longWork: (any TaskExecutor)? = nil, charge: @escaping @Sendable (AppUser, Int) async -> Void = { _, _ in },
        failed: @escaping @Sendable (StoreError) -> Void = { _ in }, noted: (@Sendable ([NotificationEvent]) -> Void)? = nil
    ) {
        self.clock = clock
        self.random = random
        self.longWork = longWork
        self.charge = charge
        self.failed = failed
        self.noted = noted
    }
}

/// The services that reach people outside of requests; nil: the server has none.
package struct Senders: Sendable {
    /// Sends mail. Without it none may be asked for.
    package var mail: (any Mailing)?
    /// Sends text messages. Without it no phone number can be verified.
    package var texts: (any Mailing)?
    /// Sends notifications to devices that have registered an address.
    package var pushes: (any PushDelivering)?
    /// Learns how notifications reach devices.
    package var observer: (any DeliveryObserver)?
    /// Sends changes to webhooks.
    package var webhooks: (any WebhookSending)?

    package init(
        mail: (any Mailing)? = nil, texts: (any Mailing)? = nil, pushes: (any PushDelivering)? = nil, webhooks: (any WebhookSending)? = nil
    ) {
        self.mail = mail
        self.texts = texts
        self.pushes = pushes
        self.webhooks = webhooks
    }
}

/// The bounds that an operator or a test sets.
package struct CloudBounds: Sendable {
    /// The quotas of containers for which no administrator has set any.
    package var quotas: Quotas
    package var assetSizes: AssetSizes
    package var readRule: ReadRule
    package var cascadePerTransaction: Int
    package var webhooksKeep: WebhookExtent

    package init(
        quotas: Quotas = .none, assetSizes: AssetSizes = AssetSizes(), readRule: ReadRule = .everything,
        cascadePerTransaction: Int = Limits.cascadePerTransaction, webhooksKeep: WebhookExtent = .mostKept
    ) {
        self.quotas = quotas
        self.assetSizes = assetSizes
        self.readRule = readRule
        self.cascadePerTransaction = cascadePerTransaction
        self.webhooksKeep = webhooksKeep
    }
}

/// Keys that this process has met. Forgetting one only costs a read of the store.
final class KeyMemory: Sendable {
    private let keys = Locked<[DatabaseKey: Timestamp]>([:])
    private let isAlone: Bool

    /// Keys remembered; when there are more, all are forgotten. On this server.
    private static let remembered = 50_000
    /// Seconds for which a key of development is remembered beside other servers: one of them may reset the
    /// environment. Nothing of production is ever reset.
    static let sharedSeconds: Double = 5

    /// - Parameter isAlone: whether no other process has the store.
    init(isAlone: Bool) { self.isAlone = isAlone }

    package func contains(_ key: DatabaseKey, at now: Timestamp) -> Bool {
        guard let met = keys.withLock({ $0[key] }) else { return false }
        return isAlone || key.environment == .production || abs(now.secondsSince2001 - met.secondsSince2001) < Self.sharedSeconds
    }

    package func insert(_ key: DatabaseKey, at now: Timestamp) {
        keys.withLock { keys in
            if keys.count >= Self.remembered { keys.removeAll() }
            keys[key] = now
        }
    }

    package func removeAll() {
        keys.withLock { $0.removeAll() }
    }
}

/// Seals change tokens, so that they are opaque and provably from this server: values inside, text outside. Also hashes
/// as clients do, and signs.
package protocol TokenSealing: Sendable {
    /// Seals bytes. The same bytes give the same text while the key is the same. Throws if the machine cannot seal.
    func seal(_ bytes: [UInt8]) throws -> String
    /// Opens a text; nil for any text that `seal` did not make.
    func open(_ text: String) -> [UInt8]?
    /// Seals bytes of a text about assets. The text does not open as another kind, nor as a change token.
    func seal(_ bytes: [UInt8], as kind: AssetTokenKind) throws -> String
    /// Opens a text; nil for any text that `seal` did not make as this kind.
    func open(_ text: String, as kind: AssetTokenKind) -> [UInt8]?
    /// The code of a message under a key, HMAC-SHA256: the same on every server.
    func code(for message: [UInt8], key: [UInt8]) -> [UInt8]
    /// The signature of a message under a secret key of 32 bytes, Ed25519. Throws if the machine cannot sign.
    func signature(of message: [UInt8], key: [UInt8]) throws -> [UInt8]
    /// The public key that belongs to a secret key for `signature`, 32 bytes.
    func publicKey(of key: [UInt8]) throws -> [UInt8]
}

package enum UUIDText {
    /// Returns a version 4 UUID from 128 random bits, in upper case as CloudKit spells record names.
    package static func version4(_ high: UInt64, _ low: UInt64) -> String {
        let bits = [high & ~0xf000 | 0x4000, low & ~(0b11 << 62) | (0b10 << 62)]
        let digits = Array("0123456789ABCDEF".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for position in 0..<32 {
            if [8, 12, 16, 20].contains(position) { text.append(UInt8(ascii: "-")) }
            text.append(digits[Int(bits[position / 16] >> UInt64(60 - position % 16 * 4) & 0xf)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
