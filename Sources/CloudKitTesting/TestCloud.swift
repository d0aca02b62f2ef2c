public import CloudKit
import Foundation
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudServer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudWire
import NacreLocks
import NacreRandom

/// A whole cloud in the process of a test: a server in memory and a clock that takes no real time. It has no port, file
/// or thread. See `docs/decisions/testing-cloud.md`.
///
/// Any number of clouds live side by side, independent of each other. Each device of each user has a `CKContainer`. The
/// framework sends the server the same requests as over HTTP. `fail(next:_:by:device:inZone:with:)` orders faults, and
/// `snapshot()` shows the stored data.
///
/// ```swift
/// let cloud = try await TestCloud()
/// let phone = try await cloud.signIn("alice")
/// try await phone.privateCloudDatabase.save(CKRecord(recordType: "Note"))
/// ```
public final class TestCloud: Sendable {
    /// How the clock treats the framework's pauses: those between retries, and those of an engine that sends and
    /// fetches by itself.
    public enum ClockMode: Sendable {
        /// Each pause moves the cloud's clock by its length at once, so a test of a retry takes no time.
        case automatic
        /// A pause lasts until `advance(by:)` has moved the clock by its length. `nextPause()` waits for a pause.
        case manual
    }

    private struct User {
        var account: String
        var recordName: String?
        var devices: [String: CKContainer] = [:]
    }

    /// The identifier that all containers of this cloud share.
    public let containerIdentifier: String

    private let server: InProcessServer
    private let clock: TestClock
    private let faults = FaultQueue()
    private let tampering = TamperQueue()
    /// The keys for encrypted values of each user, which all devices of the user have.
    private let keys = Locked<[String: KeyStore]>([:])
    private let random: Locked<SeededRandom>
    private let apiToken: String
    private let users = Locked<[String: User]>([:])

    /// Makes an empty cloud in the development environment.
    ///
    /// - Parameters:
    ///   - containerIdentifier: the identifier of the containers: reverse DNS behind `iCloud.`.
    ///   - schema: the record types to begin with, in CloudKit's schema language, as `nacre schema export` writes it;
    ///     nil for none. With or without it, a save adds missing types and fields, as in CloudKit's development
    ///     environment.
    ///   - clock: how the clock treats pauses.
    /// - Throws: `TestCloudError` if the identifier or the schema's text is wrong.
    public init(containerIdentifier: String = "iCloud.test.cloud", schema: String? = nil, clock mode: ClockMode = .automatic) async throws {
        let clock = TestClock(isAutomatic: mode == .automatic)
        let random = Locked(SeededRandom(seed: 1))
        self.containerIdentifier = containerIdentifier
        self.clock = clock
        self.random = random
        do {
            server = try await InProcessServer(
                over: MemoryStore(), MemoryAssets(),
                clock: ServerClock(now: { clock.now }, sleep: { try await clock.sleep($0 / .seconds(1)) }), random: { random.withLock { $0.next() } },
                url: InProcessTransport.root)
            let registry = server.cloud.registry
            _ = try await registry.createContainer(containerIdentifier)
            apiToken = try await registry.createAPIToken(container: containerIdentifier, environment: .development, name: "tests")
            if let schema { _ = try await server.cloud.schemas.importSchema(schema, to: containerIdentifier, isDryRun: false) }
        } catch {
            throw TestCloudError(error)
        }
    }

    // MARK: Users

    /// Returns the container of a user's device that is signed in, the same one each time. The first call for a name
    /// makes the account, whose address is `NAME@cloud.test`.
    ///
    /// - Throws: `TestCloudError` if an e-mail address cannot begin with the name.
    public func signIn(_ user: String, device: String = "phone") async throws -> CKContainer {
        if let known = users.withLock({ $0[user]?.devices[device] }) { return known }
        do {
            var account = users.withLock { $0[user]?.account }
            if account == nil { account = try await addAccount(user) }
            guard let account else { throw ServerError.internalError }
            let (token, recordName) = try await server.signIn(account, to: containerIdentifier, .development, device: device)
            let made = container(user, device, token)
            return users.withLock { users in
                var entry = users[user] ?? User(account: account)
                entry.recordName = recordName
                // If two calls run at once, the container of the first one stays.
                let container = entry.devices[device] ?? made
                entry.devices[device] = container
                users[user] = entry
                return container
            }
        } catch {
            throw TestCloudError(error)
        }
    }

    private func addAccount(_ user: String) async throws -> String {
        let email = "\(user)@cloud.test"
        do {
            let account = try await server.addAccount(email: email)
            users.withLock { $0[user] = User(account: account) }
            return account
        } catch let error as ServerError {
            // Another call may have made the account meanwhile.
            guard let account = try await server.cloud.registry.account(email: email) else { throw error }
            return account.id
        }
    }

    /// Returns the container of a device without an account. It reads the public database, and its `accountStatus()` is
    /// `noAccount`.
    public func signedOut(device: String = "phone") -> CKContainer { container(nil, device, nil) }

    private func container(_ user: String?, _ device: String, _ token: String?) -> CKContainer {
        let (clock, random) = (clock, random)
        let timekeeper = Timekeeper(
            now: { clock.elapsed }, pause: { try await clock.pause($0) }, spread: { 1 },
            operationID: { random.withLock { UUIDText.version4($0.next(), $0.next()) } },
            date: { Date(timeIntervalSinceReferenceDate: clock.now.secondsSince2001) },
            keyBytes: { count in random.withLock { random in (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next() >> 32) } } })
        let store = user.map { user in
            keys.withLock { keys in
                let store = keys[user] ?? KeyStore(folder: nil)
                keys[user] = store
                return store
            }
        }
        let root = URL(string: InProcessTransport.root) ?? URL(fileURLWithPath: "/")
        return CKContainer(
            identifier: containerIdentifier, server: CloudKitServer(url: root, environment: .development, apiToken: apiToken, accountToken: token),
            transport: InProcessTransport(server: server, faults: faults, tampering: tampering, clock: clock, user: user, device: device),
            timekeeper: timekeeper, keyStore: store)
    }

    /// Sets the `accountStatus()` of all devices of a user, and the server's answers to them accordingly.
    ///
    /// - Throws: `TestCloudError` if no user of that name has signed in.
    public func setAccountStatus(_ status: CKAccountStatus, of user: String) async throws {
        let state: AccountState =
            switch status {
            case .available: .available
            case .couldNotDetermine: .couldNotDetermine
            case .restricted: .restricted
            case .noAccount: .noAccount
            case .temporarilyUnavailable: .temporarilyUnavailable
            }
        do {
            try await server.setState(of: try known(user).account, to: state)
        } catch {
            throw TestCloudError(error)
        }
    }

    private func known(_ user: String) throws(ServerError) -> (account: String, recordName: String) {
        guard let entry = users.withLock({ $0[user] }), let recordName = entry.recordName else {
            throw ServerError(.notFound, "nobody of this name has signed in", field: user, remedy: "Call signIn(\"\(user)\") first.")
        }
        return (entry.account, recordName)
    }

    // MARK: Time

    /// The cloud's time. It begins at 2026-01-01T00:00:00Z. Only `advance(by:)` moves it, and, with the automatic
    /// clock, the framework's pauses.
    public var now: Date { Date(timeIntervalSinceReferenceDate: clock.now.secondsSince2001) }

    /// Moves the clock forward by that many seconds. Pauses that end by then end, and the server runs the tasks that
    /// are due.
    public func advance(by seconds: Double) async {
        clock.advance(by: seconds)
        await server.runDueTasks()
    }

    /// Waits, with the manual clock, until the framework pauses, and returns the seconds until its first pause ends.
    /// Returns nil with the automatic clock, and when the cloud has ended.
    public func nextPause() async -> Double? { await clock.nextPause() }

    // MARK: Faults

    /// Orders a fault for the next `count` requests of a kind. Each request meets at most one fault: the one that was
    /// ordered first.
    ///
    /// ```swift
    /// cloud.fail(next: 3, .modifyRecords, by: "alice", inZone: "Notes", with: .requestRateLimited(retryAfter: 2))
    /// ```
    ///
    /// - Parameters:
    ///   - count: how often the fault happens. The framework's own retries count.
    ///   - user: limits the fault to requests of this user.
    ///   - device: limits the fault to requests of devices of this name.
    ///   - zone: limits the fault to requests that name this zone.
    public func fail(
        next count: Int = 1, _ request: TestRequest, by user: String? = nil, device: String? = nil, inZone zone: String? = nil, with fault: TestFault
    ) {
        faults.add(FaultQueue.Rule(left: count, request: request.kind, user: user, device: device, zone: zone, fault: fault.fault))
    }

    /// Has the server change encrypted values in the next `count` answers to requests of a kind that have them, as a
    /// hostile one would.
    ///
    /// ```swift
    /// cloud.tamper(.fetchRecords, by: "alice", with: .droppedValue(of: "diagnosis", inRecord: "visit"))
    /// ```
    ///
    /// - Parameters:
    ///   - count: how often it happens.
    ///   - user: limits it to requests of this user.
    ///   - device: limits it to requests of devices of this name.
    public func tamper(
        next count: Int = 1, _ request: TestRequest, by user: String? = nil, device: String? = nil, with tampering: TestTampering
    ) {
        self.tampering.add(TamperQueue.Rule(left: count, request: request.kind, user: user, device: device, tampering: tampering))
    }

    /// The descriptions of faults and tampering that were ordered and have not happened. Empty at the end of a test
    /// that met them all.
    public var pendingFaults: [String] { faults.texts + tampering.texts }

    /// Removes all faults and tampering that have not happened.
    public func removeFaults() {
        faults.removeAll()
        tampering.removeAll()
    }

    /// Sets the number of bytes that each user's private database may hold; nil for no limit. Data that is there stays.
    public func setQuota(bytes: Int?) async throws {
        do {
            _ = try await server.cloud.setQuotas(of: containerIdentifier, .development) { $0.userBytes = bytes.map(Int64.init) }
        } catch {
            throw TestCloudError(error)
        }
    }

    /// Removes a zone as its user does outside the app. Purging it in the storage settings and resetting the keys of
    /// its encrypted fields both do that.
    ///
    /// - Parameter reason: `.purged` or `.encryptedDataReset`.
    /// - Throws: `TestCloudError` if the user has no zone of that name.
    public func removeZone(_ name: String, of user: String, because reason: ZoneRemoval = .purged) async throws {
        do {
            let isGone = try await server.cloud.removeZone(
                name, of: try known(user).recordName, in: containerIdentifier, .development,
                because: reason == .purged ? .purged : .encryptedDataReset)
            guard isGone else {
                throw ServerError(.zoneNotFound, "the user has no such zone", field: name, remedy: "Name a zone that \(user) has saved.")
            }
            await server.runDueTasks()
        } catch {
            throw TestCloudError(error)
        }
    }

    /// Resets the keys of a user's encrypted values, as the user does in a system's settings or with `nacre keys
    /// reset`. The zones with encrypted values go, and apps are told. All devices of the user have the new keys.
    ///
    /// - Throws: `TestCloudError` if no user of that name has signed in, and `CKError` if the user has no keys.
    public func resetEncryptedData(of user: String) async throws {
        guard let device = users.withLock({ $0[user]?.devices.min { $0.key < $1.key }?.value }) else {
            throw TestCloudError("nobody of this name has signed in", remedy: "Call signIn(\"\(user)\") first.")
        }
        try await device.userKeys().reset()
        await server.runDueTasks()
    }

    /// The reason why a zone is gone that no app deleted.
    public enum ZoneRemoval: Sendable {
        case purged
        case encryptedDataReset
    }

    // MARK: Snapshots

    /// Returns the whole cloud as text: its users, and the zones of each database with their records and fields. The
    /// text is sorted and leaves out change tags, times and random names. Two runs of a test give the same text.
    ///
    /// A record whose name is a UUID is shown by a number, such as `#1`, in the order in which the records of its zone
    /// were made.
    public func snapshot() async throws -> String {
        let names = users.withLock { users in users.compactMap { name, user in user.recordName.map { ($0, name) } } }
        do {
            let databases = try await server.cloud.everything(of: containerIdentifier, .development)
            return CloudSnapshot.text(of: databases, users: Dictionary(names) { first, _ in first })
        } catch {
            throw TestCloudError(error)
        }
    }

    /// Ends the cloud: pending waits end, and further requests find no server. The call is optional: a cloud has no
    /// thread, port or file, and its memory is freed with its last container.
    public func shutDown() async {
        clock.end()
        await server.close()
    }
}
