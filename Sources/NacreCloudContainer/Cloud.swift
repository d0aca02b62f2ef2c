package import NacreCloudWire
import NacreLocks

/// The cloud: every operation of CloudKit that this server knows, over any store.
///
/// An operation loads, asks the rules, and writes one plan. It has no clock and no randomness of its own: both come with it, so that a
/// run can be replayed. Thread-safe; each call is one transaction, or says how many.
package final class Cloud: StoreClient {
    package let store: any Store
    /// What is known of containers, accounts, tokens and schemas, kept in the same store.
    package let registry: Registry
    let clock: @Sendable () -> Timestamp
    let random: @Sendable () -> UInt64
    let tokens: any TokenSealing
    /// Keeps the bytes of assets; nil: nothing does, and uploads are refused.
    package let assets: (any AssetStorage)?
    package let assetLinks: AssetLinks
    package let assetSizes: AssetSizes
    /// As the registry has it, once it was asked for.
    let knownChunkKey = Locked<[UInt8]?>(nil)
    private let hints: any Hints
    /// Gets each failure of the store that a request or a task met, and each damaged record. Must return at once.
    package let failed: @Sendable (StoreError) -> Void
    /// Gets what a user's changes cost after its requests, in the unit of `WorkMeter`.
    let charge: @Sendable (AccountPlace, Int) async -> Void
    let cascadePerTransaction: Int
    let readRule: ReadRule
    /// What the databases of a container may hold where nobody has said otherwise of it.
    let quotas: Quotas
    /// Sends mail; nil: nobody does, and none is asked for.
    package let mail: (any Mailing)?
    /// Sends text messages; nil: nobody does, and no phone number is verified.
    package let texts: (any Mailing)?
    /// Sends notifications to devices that have registered an address; nil: nobody does.
    package let pushes: (any PushDelivering)?
    /// Runs what a request computes for long; nil: whoever runs the request.
    let longWork: (any TaskExecutor)?
    let wordRoom = WordRoom()
    /// The tasks that commits have left to this process.
    let handed = HandedTasks()
    /// How much users' devices are told.
    let telling = TellingRates()
    /// Who is not pushed to what it hears anyway.
    package let listening = ListeningDevices()
    let incomingFiles = IncomingFiles()
    let announcedUploads = AnnouncedUploads()
    /// Private databases whose owners have their records.
    let admitted = KeyMemory()
    /// What a repair last heard of the engine's own structure, and when.
    let soundness = Locked<(at: Timestamp, isSound: Bool)?>(nil)

    package init(
        store: any Store, clock: @escaping @Sendable () -> Timestamp, random: @escaping @Sendable () -> UInt64, tokens: any TokenSealing,
        cascadePerTransaction: Int = Limits.cascadePerTransaction, readRule: ReadRule = .everything, quotas: Quotas = .none,
        assets: (any AssetStorage)? = nil, assetSizes: AssetSizes = AssetSizes(), hints: any Hints = NoHints(), mail: (any Mailing)? = nil,
        texts: (any Mailing)? = nil, pushes: (any PushDelivering)? = nil, longWork: (any TaskExecutor)? = nil,
        charge: @escaping @Sendable (AccountPlace, Int) async -> Void = { _, _ in }, failed: @escaping @Sendable (StoreError) -> Void = { _ in }
    ) {
        self.store = HintingStore(store: store, hints: hints, handed: handed)
        registry = Registry(store: self.store, clock: clock, random: random, failed: failed)
        self.clock = clock
        self.random = random
        self.tokens = tokens
        self.assets = assets
        self.assetSizes = assetSizes
        assetLinks = AssetLinks(tokens: AssetTokens(seals: tokens), clock: clock)
        self.cascadePerTransaction = cascadePerTransaction
        self.readRule = readRule
        self.quotas = quotas
        self.mail = mail
        self.texts = texts
        self.pushes = pushes
        self.longWork = longWork
        self.hints = hints
        self.charge = charge
        self.failed = failed
    }

    package var directory: DatabaseDirectory { registry.directory }

    package var now: Timestamp { clock() }

    /// To be called after each commit that moved the feed of a database.
    func committed(_ database: DatabaseID) {
        hints.feedMoved(database)
    }

    /// A version 4 UUID in CloudKit's spelling: upper case.
    func uuid() -> String {
        UUIDText.version4(random(), random())
    }
}

/// Keys that this process has met. Forgetting one costs a look at the store, no more.
final class KeyMemory: Sendable {
    private let keys = Locked<Set<DatabaseKey>>([])

    /// Beyond it the memory starts afresh. On this server.
    private static let remembered = 50_000

    func contains(_ key: DatabaseKey) -> Bool {
        keys.withLock { $0.contains(key) }
    }

    func insert(_ key: DatabaseKey) {
        keys.withLock { keys in
            if keys.count >= Self.remembered { keys.removeAll() }
            keys.insert(key)
        }
    }

    func removeAll() {
        keys.withLock { $0.removeAll() }
    }
}

/// Makes change tokens opaque and proves that they are ours, values inside, text outside; and hashes what clients hash too.
package protocol TokenSealing: Sendable {
    /// The same bytes give the same text while the key is the same. Throws where the machine cannot seal.
    func seal(_ bytes: [UInt8]) throws -> String
    /// nil for anything that `seal` did not make.
    func open(_ text: String) -> [UInt8]?
    /// The same for the texts about assets: one does not open as another, nor as a change token.
    func seal(_ bytes: [UInt8], as kind: AssetTokenKind) throws -> String
    /// nil for anything that `seal` did not make as this kind.
    func open(_ text: String, as kind: AssetTokenKind) -> [UInt8]?
    /// Whether an earlier version made the text, in a form that is not opened any more.
    func isOutdated(_ text: String) -> Bool
    /// The code of a message under a key, HMAC-SHA256: the same on every server.
    func code(for message: [UInt8], key: [UInt8]) -> [UInt8]
}

package enum UUIDText {
    /// A version 4 UUID from 128 random bits, in upper case as CloudKit spells record names.
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
