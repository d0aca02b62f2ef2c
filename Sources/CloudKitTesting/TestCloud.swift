public import CloudKit
import Foundation
import NacreCloudContainer
import NacreCloudServer
import NacreCloudStore
import NacreCloudWire
import NacreLocks
import NacreRandom

/// A cloud of a test's own, in the test's process: a whole server in memory, without a port, a file or a thread, and a clock that nobody waits for.
/// See `docs/decisions/a-test-cloud-is-the-server-without-a-socket.md`.
///
/// Any number of them live side by side, and none knows of another. Each user and each device has a `CKContainer`, over which the framework talks to
/// the server as
/// it does over HTTP. Faults are ordered with `fail(next:_:by:device:inZone:with:)`; what is stored is shown by `snapshot()`.
///
/// ```swift
/// let cloud = try await TestCloud()
/// let phone = try await cloud.signIn("alice")
/// try await phone.privateCloudDatabase.save(CKRecord(recordType: "Note"))
/// ```
public final class TestCloud: Sendable {
    /// What becomes of the framework's pauses: those of its retries, and of an engine that sends and fetches by itself.
    public enum ClockMode: Sendable {
        /// Each pause moves the cloud's clock by its length at once: a test of a retry takes no time.
        case automatic
        /// A pause lasts until `advance(by:)` has moved the clock so far; `nextPause()` waits for one.
        case manual
    }

    private struct User {
        var account: String
        var recordName: String?
        var devices: [String: CKContainer] = [:]
    }

    /// The identifier of all containers of this cloud.
    public let containerIdentifier: String

    private let server: InProcessServer
    private let clock: TestClock
    private let faults = FaultQueue()
    private let random: Locked<SeededRandom>
    private let apiToken: String
    private let users = Locked<[String: User]>([:])

    /// Makes an empty cloud, in the development environment.
    ///
    /// - Parameters:
    ///   - containerIdentifier: of the containers: reverse DNS behind `iCloud.`.
    ///   - schema: the record types that there are, in CloudKit's schema language, as `nacre schema export` writes it. nil: none. Either way a save
    ///     adds the types and
    ///     fields that lack, as in CloudKit's development environment.
    ///   - clock: what becomes of pauses.
    /// - Throws: `TestCloudError` where the identifier or the schema's text is wrong.
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
            if let schema { _ = try await registry.importSchema(schema, to: containerIdentifier, isDryRun: false) }
        } catch {
            throw TestCloudError(error)
        }
    }

    // MARK: Users

    /// A user's device, signed in: the same container each time. The first call for a name makes the account, whose address is `NAME@cloud.test`.
    ///
    /// - Throws: `TestCloudError` where the name is not one that an e-mail address can begin with.
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
                // Of two calls at once the first one's container stays.
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
            // Another call made it meanwhile.
            guard let account = try await server.cloud.registry.account(email: email) else { throw error }
            return account.id
        }
    }

    /// A device without an account: it reads the public database, and `accountStatus()` is `noAccount`.
    public func signedOut(device: String = "phone") -> CKContainer { container(nil, device, nil) }

    private func container(_ user: String?, _ device: String, _ token: String?) -> CKContainer {
        let (clock, random) = (clock, random)
        let timekeeper = Timekeeper(
            now: { clock.elapsed }, pause: { try await clock.pause($0) }, spread: { 1 },
            operationID: { random.withLock { UUIDText.version4($0.next(), $0.next()) } })
        let root = URL(string: InProcessTransport.root) ?? URL(fileURLWithPath: "/")
        return CKContainer(
            identifier: containerIdentifier, server: CloudKitServer(url: root, environment: .development, apiToken: apiToken, accountToken: token),
            transport: InProcessTransport(server: server, faults: faults, clock: clock, user: user, device: device), timekeeper: timekeeper)
    }

    /// Sets what `accountStatus()` is to all devices of a user, and with it what the server answers them.
    ///
    /// - Throws: `TestCloudError` where nobody of that name has signed in.
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

    /// The cloud's time. It begins at 2026-01-01T00:00:00Z, and stands still but for `advance(by:)` and, with the automatic clock, the framework's
    /// pauses.
    public var now: Date { Date(timeIntervalSinceReferenceDate: clock.now.secondsSince2001) }

    /// Moves the clock on by so many seconds. Pauses that end by then end, and the server does what is due by then.
    public func advance(by seconds: Double) async {
        clock.advance(by: seconds)
        await server.runDueTasks()
    }

    /// With the manual clock: waits until the framework pauses, and tells for how many seconds the first of its pauses goes on. nil with the
    /// automatic clock, and
    /// when the cloud has ended.
    public func nextPause() async -> Double? { await clock.nextPause() }

    // MARK: Faults

    /// Orders a fault for the next requests of a kind. It happens to as many as it was ordered for, and to each request at most one fault: that which
    /// was ordered first.
    ///
    /// ```swift
    /// cloud.fail(next: 3, .modifyRecords, by: "alice", inZone: "Notes", with: .requestRateLimited(retryAfter: 2))
    /// ```
    ///
    /// - Parameters:
    ///   - count: how often it happens. The framework's own repetitions count.
    ///   - user: only to this user's requests.
    ///   - device: only to those of devices of this name.
    ///   - zone: only to requests that name this zone.
    public func fail(
        next count: Int = 1, _ request: TestRequest, by user: String? = nil, device: String? = nil, inZone zone: String? = nil, with fault: TestFault
    ) {
        faults.add(FaultQueue.Rule(left: count, request: request.kind, user: user, device: device, zone: zone, fault: fault.fault))
    }

    /// The faults that were ordered and have not happened, in words. Empty at the end of a test that met them all.
    public var pendingFaults: [String] { faults.texts }

    /// Takes back what was ordered and has not happened.
    public func removeFaults() { faults.removeAll() }

    /// Lets each user's private database hold so many bytes; nil: as much as there is memory. What is there stays.
    public func setQuota(bytes: Int?) async throws {
        do {
            _ = try await server.cloud.setQuotas(of: containerIdentifier, .development) { $0.userBytes = bytes.map(Int64.init) }
        } catch {
            throw TestCloudError(error)
        }
    }

    /// Takes a zone away as its user does outside the app: in the storage settings, which purges it, or with the keys of its encrypted fields, which
    /// resets it.
    ///
    /// - Parameter reason: `.purged` or `.encryptedDataReset`.
    /// - Throws: `TestCloudError` where the user has no such zone.
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

    /// Why a zone is gone that no app deleted.
    public enum ZoneRemoval: Sendable {
        case purged
        case encryptedDataReset
    }

    // MARK: Looking

    /// The whole cloud as text: its users, and of each database the zones and records with their fields. Sorted, and without change tags, times and
    /// names that were
    /// drawn at random, so that two runs of a test give the same.
    ///
    /// A record whose name is a UUID is shown by a number, `#1`, in the order in which the records of its zone were made.
    public func snapshot() async throws -> String {
        let names = users.withLock { users in users.compactMap { name, user in user.recordName.map { ($0, name) } } }
        do {
            let databases = try await server.cloud.everything(of: containerIdentifier, .development)
            return CloudSnapshot.text(of: databases, users: Dictionary(names) { first, _ in first })
        } catch {
            throw TestCloudError(error)
        }
    }

    /// Ends the cloud: what waits for it ends, and further requests find no server. It need not be called: a cloud has no thread, port or file, and
    /// its memory goes with
    /// the last container of it.
    public func shutDown() async {
        clock.end()
        await server.close()
    }
}
