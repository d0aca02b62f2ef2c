import Foundation
import NacreCloudServerWire
import NacreCloudWire
import NacreEncryptionForms
import NacreLocks

@testable import CloudKit

/// A server in place of the network: reads and writes the wire's bytes, keeps records in a dictionary, and fails on
/// demand.
actor PretendCloud: Transport {
    struct Seen: Sendable {
        var path: String
        var request: TransportRequest
    }

    /// A fault of the next request.
    enum Fault: Sendable {
        case notSent
        /// The request never arrives, and the client cannot know.
        case lostOnTheWay
        /// The server carries it out, and its answer is lost.
        case answerLost
        case answer(status: Int, headers: [String: String], body: [UInt8])
        case hangs
        case none
    }

    /// files[checksum]: the bytes of an asset.
    var files: [String: [UInt8]] = [:]
    /// Faults of the next transfers of bytes.
    var transferFaults: [TransferFault] = []
    var runningTransfers = 0
    var mostTransfers = 0
    var uploadURLs = 0
    private(set) var seen: [Seen] = []
    private var faults: [Fault] = []
    private var meanwhile: [String: @Sendable () async -> Void] = [:]
    private var records: [ZoneID: [String: Record]] = [:]
    private var answered: [String: [UInt8]] = [:]
    private var commits = 0
    private var databasePages: [ChangesDatabaseResponse] = []
    private var zonePages: [ChangesZoneResponse.Result] = []
    private var queryPages: [RecordsQueryResponse] = []
    private(set) var zones: [ZoneID] = [.defaultZone]
    private var discoverable: [UserLookupInfo: UserIdentity] = [:]
    private var discoveryPages: [UsersDiscoverResponse] = []
    private var permission = Discoverability.initialState
    /// Subscriptions in the order in which they were saved.
    var subscriptions: [Subscription] = []
    /// The user's keys for encrypted values.
    private(set) var keys = PretendKeys()
    func change(_ body: @Sendable (inout PretendKeys) -> Void) { body(&keys) }

    func makeDiscoverable(_ user: UserIdentity, by infos: UserLookupInfo...) {
        for info in infos { discoverable[info] = user }
    }
    func answerDiscovery(_ answer: UsersDiscoverResponse) { discoveryPages.append(answer) }

    func discoveries() throws -> [UsersDiscoverRequest] {
        try seen.filter { $0.path == "users/discover" && $0.request.method == .post }.map { try UsersDiscoverRequest(json: $0.request.body) }
    }

    /// The most items of a lookup or a modify that one answer may have.
    private var itemsPerAnswer = Int.max
    func limitAnswers(to items: Int) { itemsPerAnswer = items }
    static let answerTooLarge = ServerError(.badRequest, "more than one answer may have", native: .limitExceeded)

    /// Errors of the next saves with manifests.
    private var refusals: [ServerError] = []

    func failNext(_ faults: Fault...) { self.faults += faults }
    /// Runs a body once after the next answer to a path is made, and before it is sent, as others do meanwhile.
    func beforeNextAnswer(to path: String, _ body: @escaping @Sendable () async -> Void) { meanwhile[path] = body }
    func refuseSealed(_ errors: [ServerError]) { refusals += errors }
    /// Changes a record as no client does.
    func alter(_ name: String, in zone: ZoneID, _ body: @Sendable (inout Record) -> Void) {
        guard var record = records[zone]?[name] else { return }
        body(&record)
        records[zone]?[name] = record
    }
    /// Puts a record in a zone, as another device does.
    func put(_ record: Record, in zone: ZoneID) { records[zone, default: [:]][record.recordName] = record }
    func answerChanges(_ pages: ChangesDatabaseResponse...) { databasePages += pages }
    func answerZoneChanges(_ pages: ChangesZoneResponse.Result...) { zonePages += pages }
    func answerQueries(_ pages: RecordsQueryResponse...) { queryPages += pages }
    func addZone(_ name: String) { zones.append(ZoneID(zoneName: name)) }

    func stored(_ name: String, in zone: ZoneID = .defaultZone) -> Record? { records[zone]?[name] }
    var paths: [String] { seen.map(\.path) }

    func modifications() throws -> [RecordsModifyRequest] {
        try seen.filter { $0.path == "records/modify" }.map { try RecordsModifyRequest(json: $0.request.body) }
    }

    func queries() throws -> [RecordsQueryRequest] {
        try seen.filter { $0.path == "records/query" }.map { try RecordsQueryRequest(json: $0.request.body) }
    }

    func note(_ path: String, _ request: TransportRequest) { seen.append(Seen(path: path, request: request)) }

    func send(_ request: TransportRequest) async throws(TransportFailure) -> TransportAnswer {
        let path = request.url.path.split(separator: "/").suffix(2).joined(separator: "/")
        seen.append(Seen(path: path, request: request))
        let fault = faults.isEmpty ? nil : faults.removeFirst()
        let cause = NSError(domain: NSURLErrorDomain, code: -1005, userInfo: [:])
        switch fault {
        case .notSent: throw .notSent(cause)
        case .lostOnTheWay: throw .answerLost(cause)
        case .answer(let status, let headers, let body): return TransportAnswer(status: status, headers: headers, body: body)
        case .hangs:
            while !Task.isCancelled { await Task.yield() }
            throw .cancelled
        case .answerLost, .some(.none), nil: break
        }
        let answer = answer(to: path, request)
        if let body = meanwhile.removeValue(forKey: path) { await body() }
        if case .answerLost = fault { throw .answerLost(cause) }
        return answer
    }

    private func answer(to path: String, _ request: TransportRequest) -> TransportAnswer {
        let form = AnswerForm(details: true)
        do throws(ServerError) {
            switch path {
            case "records/modify": return TransportAnswer(status: 200, body: try modify(RecordsModifyRequest(json: request.body)))
            case "records/lookup": return TransportAnswer(status: 200, body: try lookup(RecordsLookupRequest(json: request.body)).json(form))
            case "records/query" where !queryPages.isEmpty:
                return TransportAnswer(status: 200, body: queryPages.removeFirst().json(form))
            case "assets/upload":
                return TransportAnswer(status: 200, body: places(for: try AssetsUploadRequest(json: request.body)).json(form))
            case "zones/list":
                return TransportAnswer(status: 200, body: ZonesResponse(zones: zones.map { .zone(zone($0)) }).json(form))
            case "zones/lookup":
                return TransportAnswer(status: 200, body: lookup(try ZonesLookupRequest(json: request.body)).json(form))
            case "zones/modify": return TransportAnswer(status: 200, body: modify(try ZonesModifyRequest(json: request.body)).json(form))
            case "subscriptions/list", "subscriptions/lookup", "subscriptions/modify":
                return TransportAnswer(status: 200, body: try answerSubscriptions(to: path, request.body).json(form))
            case "changes/database" where !databasePages.isEmpty:
                return TransportAnswer(status: 200, body: databasePages.removeFirst().json(form))
            case "changes/zone" where !zonePages.isEmpty:
                return TransportAnswer(status: 200, body: ChangesZoneResponse(zones: [zonePages.removeFirst()]).json(form))
            case "keys/append", "keys/log", "scopes/modify", "scopes/list":
                return TransportAnswer(status: 200, body: try keys.answer(to: path, request.body))
            case "users/caller": return TransportAnswer(status: 200, body: UserIdentity(userRecordName: "_alice").json(form))
            case "users/web-auth-token": return TransportAnswer(status: 200, body: WebAuthTokenResponse(webAuthToken: "w").json(form))
            case "users/contact-key": return TransportAnswer(status: 200, body: UsersContactKeyResponse(contactKey: [1, 2, 3]).json(form))
            case "users/permission":
                if request.method == .post, permission == .initialState {
                    permission = try UsersPermissionRequest(json: request.body).userDiscoverability
                }
                return TransportAnswer(status: 200, body: UsersPermissionResponse(userDiscoverability: permission).json(form))
            case "users/discover" where request.method == .get:
                return TransportAnswer(status: 200, body: UsersDiscoverResponse(users: []).json(form))
            case "users/discover":
                if !discoveryPages.isEmpty { return TransportAnswer(status: 200, body: discoveryPages.removeFirst().json(form)) }
                return TransportAnswer(status: 200, body: discover(try UsersDiscoverRequest(json: request.body)).json(form))
            default: throw ServerError(.notFound, "could not find handler for endpoint")
            }
        } catch {
            return Self.refusal(error)
        }
    }

    private func discover(_ request: UsersDiscoverRequest) -> UsersDiscoverResponse {
        UsersDiscoverResponse(
            users: request.lookupInfos.compactMap { info in
                guard var user = discoverable[info] else { return nil }
                user.lookupInfo = info
                return user
            })
    }

    static func refusal(_ error: ServerError) -> TransportAnswer {
        let body = ErrorResponse(uuid: "00000000", error: error).json(AnswerForm(details: true))
        return TransportAnswer(status: error.code.status, body: body)
    }

    // MARK: Records

    private func modify(_ request: RecordsModifyRequest) throws(ServerError) -> [UInt8] {
        if let id = request.extension.operationID, let answer = answered[id] { return answer }
        if request.operations.count > itemsPerAnswer { throw Self.answerTooLarge }
        guard zones.contains(request.zoneID) else { throw ServerError(.zoneNotFound, "Zone does not exist") }
        let before = records[request.zoneID]
        var results = request.operations.map { operation in
            switch operation {
            case .success(let operation): modify(operation, in: request.zoneID)
            case .failure(let fault): RecordResult.failure(recordName: fault.recordName, fault.error)
            }
        }
        let failed = results.map { if case .failure = $0 { true } else { false } }
        if request.atomic == true, failed.contains(true) {
            records[request.zoneID] = before
            for index in results.indices where !failed[index] {
                results[index] = .failure(recordName: nil, ServerError(.atomicError, "atomic failure", internalCode: 2024))
            }
        }
        let bytes = RecordsResponse(records: results).json(AnswerForm(details: true))
        if let id = request.extension.operationID { answered[id] = bytes }
        return bytes
    }

    private func modify(_ operation: RecordOperation, in zone: ZoneID) -> RecordResult {
        let change = operation.change
        guard let name = change.recordName else { return .failure(recordName: nil, ServerError(.badRequest, "no name")) }
        let stored = records[zone]?[name]
        if operation.type.isDelete {
            records[zone]?[name] = nil
            return .deleted(Tombstone(recordName: name, recordType: nil))
        }
        if stored != nil, operation.type == .create {
            let error = ServerError(.conflict, "record to insert already exists", internalCode: 2004, serverRecord: stored)
            return .failure(recordName: name, error)
        }
        if operation.type == .update, stored?.recordChangeTag != change.recordChangeTag {
            let error =
                stored.map { ServerError(.conflict, "client oplock error updating record", internalCode: 2004, serverRecord: $0) }
                ?? ServerError(.notFound, "Record not found")
            return .failure(recordName: name, error)
        }
        if let error = fault(of: change, over: stored) { return .failure(recordName: name, error) }
        commits += 1
        let stamp = Record.Stamp(timestamp: Timestamp(secondsSince2001: 1000.125 + Double(commits)), userRecordName: "_alice", deviceID: "1")
        var fields = stored?.fields ?? RecordFields()
        for field in change.set.entries { fields[field.name] = kept(field.value) }
        for name in change.cleared { fields[name] = nil }
        var record = Record(
            recordName: name, recordType: change.recordType ?? stored?.recordType ?? "", recordChangeTag: "tag\(commits)",
            created: stored?.created ?? stamp, modified: stamp, fields: fields)
        record.manifest = change.manifest?.bytes ?? stored?.manifest
        record.parent =
            switch change.parent {
            case .keep: stored?.parent
            case .set(let parent): parent
            case .clear: nil
            }
        records[zone, default: [:]][name] = record
        return .record(shown(record))
    }

    /// The fault of a save whose manifest is made from another one than the stored, or that changes the parent which
    /// the stored one binds.
    private func fault(of change: RecordChange, over stored: Record?) -> ServerError? {
        guard let manifest = change.manifest else {
            if stored?.manifest == nil || change.parent == .keep { return nil }
            return ServerError(.badRequest, ServerError.manifestMissingReason, field: "parent")
        }
        if !refusals.isEmpty { return refusals.removeFirst() }
        if stored == nil { return manifest.base == nil ? nil : ServerError(.notFound, "Record not found") }
        if manifest.base == stored?.manifest.map({ Digest(of: $0).bytes }) { return nil }
        return ServerError(.conflict, "client oplock error updating record", internalCode: 2004, serverRecord: stored)
    }

    private func lookup(_ request: RecordsLookupRequest) throws(ServerError) -> RecordsResponse {
        if request.records.count > itemsPerAnswer { throw Self.answerTooLarge }
        return RecordsResponse(
            records: request.records.map { item in
                guard var record = records[request.zoneID]?[item.recordName] else {
                    return .failure(recordName: item.recordName, ServerError(.notFound, "Record not found"))
                }
                record.fields = record.fields.only(item.desiredKeys ?? request.desiredKeys)
                return .record(shown(record))
            })
    }

    // MARK: Zones

    private func zone(_ id: ZoneID) -> Zone { Zone(zoneID: id, syncToken: "t", atomic: !id.isDefault) }

    private func lookup(_ request: ZonesLookupRequest) -> ZonesResponse {
        ZonesResponse(
            zones: request.zones.map {
                zones.contains($0) ? .zone(zone($0)) : .failure($0, ServerError(.zoneNotFound, "Zone does not exist"))
            })
    }

    private func modify(_ request: ZonesModifyRequest) -> ZonesResponse {
        ZonesResponse(
            zones: request.operations.map { operation in
                let id = operation.zoneID
                switch operation.type {
                case .create:
                    if !zones.contains(id) { zones.append(id) }
                    return .zone(zone(id))
                case .delete:
                    guard let index = zones.firstIndex(of: id) else { return .failure(id, ServerError(.zoneNotFound, "Zone does not exist")) }
                    zones.remove(at: index)
                    return .deleted(id)
                }
            })
    }
}

/// Time that passes only while a caller waits.
final class PretendTime: @unchecked Sendable {
    // Sendable: everything is behind `lock`.
    private let lock = NSLock()
    private var seconds = 0.0
    private var waited: [Double] = []
    private var isHeld = false

    /// Whether a new pause ends only by its cancellation.
    var holdsPauses: Bool {
        get { lock.withLock { isHeld } }
        set { lock.withLock { isHeld = newValue } }
    }

    func pass(_ seconds: Double) { lock.withLock { self.seconds += seconds } }

    var pauses: [Double] { lock.withLock { waited } }

    var timekeeper: Timekeeper {
        Timekeeper(
            now: { self.lock.withLock { self.seconds } },
            pause: { seconds in
                while self.holdsPauses {
                    try Task.checkCancellation()
                    await Task.yield()
                }
                self.lock.withLock {
                    self.seconds += seconds
                    self.waited.append(seconds)
                }
            },
            spread: { 1 },
            operationID: { UUID().uuidString })
    }
}

/// A container of a user, over a server of its own.
struct Setting {
    let cloud = PretendCloud()
    let time = PretendTime()
    /// The framework's log.
    let log = Diary()
    let container: CKContainer
    var database: CKDatabase { container.privateCloudDatabase }

    /// Makes a container.
    /// - Parameter isKnown: Whether the user's ID is known, as after a first request.
    /// - Parameter through: Makes the transport between the framework and the cloud.
    init(
        accountToken: String? = "account", isKnown: Bool = true, staging: AssetStaging = .shared,
        through transport: (PretendCloud) -> any Transport = { $0 }
    ) {
        let server = CloudKitServer(
            url: URL(string: "http://cloud.test/api/") ?? URL(fileURLWithPath: "/"), apiToken: "app+token", accountToken: accountToken)
        container = CKContainer(
            line: ServerLine(
                identifier: "iCloud.test", source: .explicit(server), transport: transport(cloud), timekeeper: time.timekeeper, staging: staging,
                keyStore: KeyStore(folder: nil), log: log.note))
        if isKnown, let settings = try? container.line.settings() {
            container.line.knownUser.withLock { $0 = ServerLine.KnownUser(settings: settings, recordName: "_alice") }
        }
    }

    /// Runs an operation on the private database and waits for its end.
    func run(_ operation: CKDatabaseOperation) async {
        await withCheckedContinuation { continuation in
            operation.completionBlock = { continuation.resume() }
            database.add(operation)
        }
    }

    /// Runs an operation on the container and waits for its end.
    func run(_ operation: CKOperation) async {
        await withCheckedContinuation { continuation in
            operation.completionBlock = { continuation.resume() }
            container.add(operation)
        }
    }
}

/// The calls of blocks, in their order.
final class Diary: @unchecked Sendable {
    // Sendable: everything is behind `lock`.
    private let lock = NSLock()
    private var lines: [String] = []

    var entries: [String] { lock.withLock { lines } }
    func note(_ line: String) { lock.withLock { lines.append(line) } }
}

extension Result where Failure == any Error {
    /// "ok", or the code.
    var word: String {
        switch self {
        case .success: "ok"
        case .failure(let error): (error as? CKError).map { "\($0.code)" } ?? "other"
        }
    }
}
