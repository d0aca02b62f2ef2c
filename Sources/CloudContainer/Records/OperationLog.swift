import CloudWire

/// What a request is logged under, so that its retry finds what it did.
struct OperationLog: Hashable, Sendable {
    /// Several people write into one database, and an ID that one of them chose says nothing of another's.
    let id: String
    let digest: [UInt8]

    /// nil when the request has no operation ID.
    init?(_ request: RequestExtension, by caller: Caller, digest: [UInt8]) {
        guard let id = request.operationID else { return nil }
        self.id = "\(caller.userRecordName ?? "")/\(id)"
        self.digest = digest
    }

    func row(_ result: OperationResult, in database: DatabaseID, at now: Timestamp) -> OperationRow {
        OperationRow(database: database, id: id, digest: digest, result: result.bytes, expires: now + Limits.operationSeconds)
    }
}

extension OperationResult {
    /// What the operation found under a request's ID did.
    /// - Throws: `ServerError.operationReused` when it was another request.
    init(_ row: OperationRow, of log: OperationLog?) throws {
        guard row.digest == log?.digest else { throw ServerError.operationReused }
        try self.init(row.result)
    }

    /// What was wrong, by place.
    var errors: [Int: ServerError] {
        Dictionary(failures.map { ($0.place, $0.error) }, uniquingKeysWith: { first, _ in first })
    }
}
