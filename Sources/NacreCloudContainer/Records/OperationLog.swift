package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// The key under which a request is logged. A retry finds the result of the request by it.
package struct OperationLog: Hashable, Sendable {
    /// The operation's ID with the caller's name: an ID that one user chose has no meaning for another user of the
    /// database.
    package let id: String
    package let caller: String
    package let digest: [UInt8]
    /// Seconds since the client sent the request for the first time, as each repetition says; nil: this is the first
    /// time.
    package let age: Double?

    /// Returns nil for a request that has no operation ID and no signature.
    ///
    /// A signed request that is sent twice is carried out once: an eavesdropper must not be able to repeat it. An
    /// operation ID protects its request, as the signature covers it, and remains the same under a new date. User
    /// record names have neither slash nor space: an ID that a client chose never equals one made from a signature.
    package init?(_ request: RequestExtension, by caller: Caller, digest: [UInt8], age: Double?) {
        let name = caller.userRecordName ?? ""
        guard let id = request.operationID.map({ "\(name)/\($0)" }) ?? caller.signedOperationID.map({ "\(name) signed \($0)" }) else { return nil }
        self.caller = name
        self.id = id
        self.digest = digest
        self.age = age
    }

    package func row(_ result: OperationResult, in database: DatabaseID, at now: Timestamp) -> OperationRow {
        OperationRow(
            database: database, id: id, caller: caller, digest: digest, result: result.bytes, expires: now + Limits.operationSeconds)
    }

    /// Keys of the entries that a request must read beside its logged operation.
    package func entries(in database: DatabaseID) -> [EntryKey] {
        age == nil ? [] : [OperationHorizon.key(in: database, caller)]
    }

    /// Returns the error of a repeated request whose operation is not in the log; nil: the request can be carried out.
    /// See `docs/decisions/records-operation-log.md`.
    ///
    /// Either no attempt arrived, or one did and its result was trimmed or has expired. A request first sent after
    /// everything that was trimmed did not arrive, and is done. For any other the answer is lost: a request is never
    /// done twice.
    package func fault(horizon: Timestamp?, at now: Timestamp) -> ServerError? {
        guard let age else { return nil }
        // The client read its clock before this attempt travelled: it may have sent the request first a little earlier.
        let sent = now + -(age + Limits.operationDelaySeconds)
        let expired = now + -Limits.operationSeconds
        return sent <= max(horizon ?? expired, expired) ? .responseLost : nil
    }
}

/// The time up to which a caller's operations were trimmed from a database's log. Later ones are all there. It is an
/// entry of the database.
enum OperationHorizon {
    package static func key(in database: DatabaseID, _ caller: String) -> EntryKey {
        EntryKey(database, .operationHorizon, caller)
    }

    /// Returns the entry of a horizon. It expires once the results from before the horizon would have expired anyway.
    package static func entry(_ horizon: Timestamp, in database: DatabaseID, of caller: String) -> EntryRow {
        var writer = ByteWriter()
        writer.double(horizon.secondsSince2001)
        return EntryRow(key: key(in: database, caller), value: writer.bytes, expires: horizon + Limits.operationSeconds)
    }

    /// Returns the caller's horizon; nil where nothing was trimmed whose results would still be kept.
    package static func of(_ log: OperationLog?, in database: DatabaseID, among entries: [EntryRow]) throws -> Timestamp? {
        guard let log, let entry = entries.first(where: { $0.key == key(in: database, log.caller) }) else { return nil }
        var reader = ByteReader(entry.value)
        guard let seconds = try? reader.double(), reader.isAtEnd else {
            throw StoreError(.corrupt, "A horizon of logged operations is malformed", ["caller": log.caller])
        }
        return Timestamp(secondsSince2001: seconds)
    }
}

extension OperationResult {
    /// Reads the result of a logged operation.
    /// - Throws: `ServerError.operationReused` when another request had its ID. `.responseLost` when the result was
    ///   damaged.
    package init(_ row: OperationRow, of log: OperationLog?) throws {
        guard row.digest == log?.digest else { throw ServerError.operationReused }
        guard row.result != Self.lostBytes else { throw ServerError.responseLost }
        try self.init(row.result)
    }

    /// The errors of the failed items, by their indices.
    package var errors: [Int: ServerError] {
        Dictionary(failures.map { ($0.index, $0.error) }, uniquingKeysWith: { first, _ in first })
    }
}
