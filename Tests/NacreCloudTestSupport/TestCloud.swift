package import NacreCloudAccounts
package import NacreCloudContainer
package import NacreCloudStorage
package import NacreCloudTasks
package import NacreCloudWire
import NacreCrypto
import NacreLocks

/// A cloud whose clock, randomness and tokens belong to a test: the same seed gives the same run.
package final class TestCloud: Sendable {
    package static let container = "iCloud.com.example.tests"

    package let cloud: Cloud
    package let store: any Store
    package let clock: TestCloudClock
    private let hints: HeardHints
    private let faults: Locked<[StoreError]>

    package init(
        _ store: any Store, seed: UInt64 = 1, cascadePerTransaction: Int = Limits.cascadePerTransaction, readRule: ReadRule = .everything,
        quotas: Quotas = .none, assets: (any AssetStorage)? = nil, pushes: (any PushDelivering)? = nil, webhooks: (any WebhookSending)? = nil,
        webhooksKeep: WebhookExtent = .mostKept
    ) {
        let clock = TestCloudClock()
        let random = Locked(SeededRandom(seed: seed))
        let hints = HeardHints()
        let faults = Locked<[StoreError]>([])
        self.store = store
        self.clock = clock
        self.hints = hints
        self.faults = faults
        cloud = Cloud(
            store: store, tokens: PlainTokens(),
            process: CloudProcess(
                clock: { clock.now }, random: { random.withLock { $0.next() } }, failed: { error in faults.withLock { $0.append(error) } }),
            assets: assets, senders: Senders(pushes: pushes, webhooks: webhooks),
            bounds: CloudBounds(
                quotas: quotas, readRule: readRule, cascadePerTransaction: cascadePerTransaction, webhooksKeep: webhooksKeep),
            hints: hints)
    }

    /// Returns the failures of the store that the cloud reported since the last call, oldest first.
    package func takeFaults() -> [StoreError] {
        faults.withLock { faults in
            defer { faults = [] }
            return faults
        }
    }

    /// Checks everything, step by step, and repairs what the mode allows.
    @discardableResult
    package func check(_ mode: CheckMode = .look, rows: Int = 50) async throws -> [CheckFinding] {
        var findings: [CheckFinding] = []
        var place: CheckCursor? = .start
        while let here = place {
            let slice = try await cloud.check(from: here, mode, rows: rows)
            findings += slice.findings
            place = slice.next
        }
        return findings
    }

    /// Runs due tasks until there are none.
    package func runAllTasks() async throws {
        while try await cloud.runDueTasks().taken > 0 {}
    }

    package convenience init(
        _ engine: Engine, seed: UInt64 = 1, cascadePerTransaction: Int = Limits.cascadePerTransaction, readRule: ReadRule = .everything,
        quotas: Quotas = .none
    ) async throws {
        self.init(try await engine.makeStore(), seed: seed, cascadePerTransaction: cascadePerTransaction, readRule: readRule, quotas: quotas)
    }

    /// Returns the databases whose feeds moved since the last call, oldest first.
    package func takeMoved() -> [DatabaseID] {
        hints.moved.withLock { moved in
            defer { moved = [] }
            return moved
        }
    }

    /// Returns the earliest due time of the tasks that each commit left since the last call, oldest commit first.
    package func takeTasksLeft() -> [Timestamp] {
        hints.due.withLock { due in
            defer { due = [] }
            return due
        }
    }

    package func user(
        _ name: String, in scope: DatabaseKey.Scope = .private, environment: DatabaseKey.Environment = .development,
        client: Caller.Client = .framework
    ) -> TestCloudUser {
        TestCloudUser(
            cloud: cloud, target: DatabaseTarget(container: Self.container, environment: environment, scope: scope),
            caller: Caller(.user(name), client: client))
    }

    /// Returns a visitor of the public database: an API token without a user.
    package func world() -> TestCloudUser {
        TestCloudUser(
            cloud: cloud, target: DatabaseTarget(container: Self.container, environment: .development, scope: .public), caller: Caller(.world))
    }
}

/// Keeps the hints of a cloud.
private final class HeardHints: Hints {
    let moved = Locked<[DatabaseID]>([])
    let due = Locked<[Timestamp]>([])

    func feedMoved(_ database: DatabaseID) {
        moved.withLock { $0.append(database) }
    }

    func tasksLeft(due: [TaskKind: Timestamp]) {
        self.due.withLock { $0 += due.values.min().map { [$0] } ?? [] }
    }
}

extension WorkerRound {
    /// A tuple for comparisons.
    package var counts: (taken: Int, failed: Int) { (taken, failed) }
}

/// A clock that stands still until it is moved, in either direction.
package final class TestCloudClock: Sendable {
    private let time = Locked(Timestamp(secondsSince2001: 800_000_000))

    package init() {}

    package var now: Timestamp { time.withLock { $0 } }

    package func move(bySeconds seconds: Double) {
        time.withLock { $0 = $0 + seconds }
    }
}

/// Readable tokens: a letter and hexadecimal digits.
package struct PlainTokens: TokenSealing {
    package init() {}

    package func seal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return "t" + String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    package func open(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.first == UInt8(ascii: "t"), digits.count % 2 == 1 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 1, to: digits.count, by: 2) {
            guard let byte = UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16) else { return nil }
            bytes.append(byte)
        }
        return bytes
    }

    package func seal(_ bytes: [UInt8], as kind: AssetTokenKind) -> String { "\(kind)" + seal(bytes) }

    package func open(_ text: String, as kind: AssetTokenKind) -> [UInt8]? {
        guard text.hasPrefix("\(kind)") else { return nil }
        // A token from a URL has padding like base64.
        return open(String(text.dropFirst("\(kind)".count).prefix { $0 != "=" }))
    }

    package func signature(of message: [UInt8], key: [UInt8]) throws -> [UInt8] { try Ed25519.PrivateKey(seed: SecretBytes(key)).sign(message) }

    package func publicKey(of key: [UInt8]) throws -> [UInt8] { try Ed25519.PrivateKey(seed: SecretBytes(key)).publicKey.bytes }

    /// Returns a code as long as a real one; messages differ by its sum alone.
    package func code(for message: [UInt8], key: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 32)
        for (index, byte) in (key + message).enumerated() { code[index % 32] = code[index % 32] &* 31 &+ byte }
        // Each byte depends on the whole message.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in message { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        for index in code.indices {
            hash = (hash ^ UInt64(code[index])) &* 0x0000_0100_0000_01b3
            code[index] = UInt8(truncatingIfNeeded: hash >> 32)
        }
        return code
    }
}
