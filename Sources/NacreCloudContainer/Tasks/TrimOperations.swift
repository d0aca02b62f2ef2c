package import NacreCloudStorage
package import NacreCloudWire

/// The task that trims a caller's logged operations in a database to its share, in chunks.
package struct TrimOperations: TaskHandler {
    /// One in so many commits of a caller leaves the task, by chance: a caller that writes much cannot avoid it.
    static let commitsPerTask: Int64 = 256

    package let payload: [UInt8] = []

    package static func task(in database: DatabaseID, of caller: String, due: Timestamp) -> TaskRow {
        TaskRow(key: TaskKey(database, .trimOperations, caller), payload: [], due: due)
    }

    /// Reads nothing: the key says everything.
    package init(_ task: TaskRow) {}

    package func chunk(_ leased: LeasedTask) async throws -> Bool {
        let now = leased.cloud.clock()
        return try await leased.cloud.store.write { try Self.removeChunk(of: leased.key, at: now, $0) }
    }

    private static func removeChunk(of task: TaskKey, at now: Timestamp, _ transaction: any WriteTransaction) throws -> Ending<Bool> {
        let trimmed = try transaction.trimOperations(
            in: task.database, by: task.name, keeping: Limits.operationsPerCaller, bytes: Limits.operationBytesPerCaller,
            expiringThrough: now + (Limits.operationSeconds - Limits.operationMinimumSeconds), limit: Limits.operationTrimChunk)
        let isDone = trimmed.count < Limits.operationTrimChunk
        var plan = isDone ? WritePlan(finishing: task) : WritePlan()
        if let latest = trimmed.latest {
            plan.entries = [OperationHorizon.entry(latest + -Limits.operationSeconds, in: task.database, of: task.name)]
        }
        try transaction.apply(plan)
        return .commit(!isDone)
    }

    package static func remade(_ row: TaskRow, at now: Timestamp, zone: (ZoneAddress) throws -> ZoneRow?) throws -> TaskRow? { nil }
}
