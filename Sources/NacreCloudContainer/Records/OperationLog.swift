import NacreCloudWire

/// What a request is logged under, so that its retry finds what it did.
struct OperationLog: Hashable, Sendable {
    /// Several people write into one database, and the ID that one of them chose has no meaning for another.
    let id: String
    let caller: String
    let digest: [UInt8]
    /// Seconds since the client sent the request for the first time, as it says with each repetition; nil: this is the first time.
    let age: Double?

    /// nil when the request has no operation ID and nobody signed it.
    ///
    /// A signed request that is sent twice is carried out once: an eavesdropper must not be able to repeat it. One that names its operation is
    /// protected by that name, which its signature covers, and is the same operation under a new date. User record names have neither slash nor space:
    /// an ID that a client chose is never one that a signature makes.
    init?(_ request: RequestExtension, by caller: Caller, digest: [UInt8], age: Double?) {
        let name = caller.userRecordName ?? ""
        guard let id = request.operationID.map({ "\(name)/\($0)" }) ?? caller.signedOperationID.map({ "\(name) signed \($0)" }) else { return nil }
        self.caller = name
        self.id = id
        self.digest = digest
        self.age = age
    }

    func row(_ result: OperationResult, in database: DatabaseID, at now: Timestamp) -> OperationRow {
        OperationRow(
            database: database, id: id, caller: caller, digest: digest, result: result.bytes, expires: now + Limits.operationSeconds)
    }

    /// What a request must ask for beside its logged operation.
    func entries(in database: DatabaseID) -> [EntryKey] {
        age == nil ? [] : [OperationHorizon.key(in: database, caller)]
    }

    /// What becomes of a repeated request whose operation is not in the log. See `docs/decisions/beyond-the-log-an-answer-is-lost.md`.
    ///
    /// It may be that no attempt arrived, or that one did and its result is trimmed or expired since. Where the request was sent first after
    /// everything that is trimmed, it did not arrive, and is done; else nobody knows, and the answer says so: it is never done twice.
    func fault(horizon: Timestamp?, at now: Timestamp) -> ServerError? {
        guard let age else { return nil }
        // The client looked at its clock before this attempt travelled: it may have been sent first a little earlier than this.
        let sent = now + -(age + Limits.operationDelaySeconds)
        let expired = now + -Limits.operationSeconds
        return sent <= max(horizon ?? expired, expired) ? .responseLost : nil
    }
}

/// Up to when operations of a caller were trimmed from the log of a database: later ones are all there. An entry of the database.
enum OperationHorizon {
    static func key(in database: DatabaseID, _ caller: String) -> EntryKey {
        EntryKey(database, .operationHorizon, caller)
    }

    /// When it lies as far back as results are kept, it says no more than that, and goes.
    static func entry(_ horizon: Timestamp, in database: DatabaseID, of caller: String) -> EntryRow {
        var writer = ByteWriter()
        writer.double(horizon.secondsSince2001)
        return EntryRow(key: key(in: database, caller), value: writer.bytes, expires: horizon + Limits.operationSeconds)
    }

    /// nil where nothing was trimmed that results would otherwise be kept of.
    static func of(_ log: OperationLog?, in database: DatabaseID, among entries: [EntryRow]) throws -> Timestamp? {
        guard let log, let entry = entries.first(where: { $0.key == key(in: database, log.caller) }) else { return nil }
        var reader = ByteReader(entry.value)
        guard let seconds = try? reader.double(), reader.isAtEnd else {
            throw StoreError(.corrupt, "A horizon of logged operations is malformed", ["caller": log.caller])
        }
        return Timestamp(secondsSince2001: seconds)
    }
}

extension OperationResult {
    /// What the operation found under a request's ID did.
    /// - Throws: `ServerError.operationReused` when it was another request.
    init(_ row: OperationRow, of log: OperationLog?) throws {
        guard row.digest == log?.digest else { throw ServerError.operationReused }
        guard row.result != Self.lostBytes else { throw ServerError.responseLost }
        try self.init(row.result)
    }

    /// What was wrong, by place.
    var errors: [Int: ServerError] {
        Dictionary(failures.map { ($0.place, $0.error) }, uniquingKeysWith: { first, _ in first })
    }
}
