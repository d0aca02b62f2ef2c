import NacreCloudStorage
import NacreCloudWire

/// The state of an administrator's request with an idempotency key.
package enum KeptAnswer: Hashable, Sendable {
    /// The key is new: execute the request and keep its answer.
    case first
    /// The request is done: status and body of its answer.
    case kept(status: Int, body: [UInt8])
    /// The request is done, and the body of its answer was too large to keep.
    case tooLarge(status: Int)
    /// The first request is under way, or the server ended before it was answered.
    case underWay
    /// Another request had the key.
    case other
}

/// A request begun under an idempotency key. The body of its answer is in its own row, read only on a repetition.
struct KeptKey: Codable, Hashable, Sendable {
    /// The digest of the key.
    package var key: String
    /// The digest of method, path and body.
    package var request: String
    /// Seconds since 2001.
    package var expires: Double
    package var status: Int?
    package var isTooLarge: Bool?
}

/// All idempotency keys, oldest first, in one entry: they are few and seldom change.
struct KeptKeys: RegistryEntry {
    package static let kind = EntryKind.idempotencyKeys
    /// The key of the only entry.
    package static let place = "keys"
    package var keys: [KeptKey] = []
}

/// Answers to administrators' requests, by their idempotency keys. See
/// `docs/decisions/administration.md`.
extension Registry {
    /// Begins a request under a key, or returns the state of the one that had the key.
    /// - Parameters:
    ///   - key: The digest of the client's key.
    ///   - request: The digest of the request.
    ///   - most: The number of keys kept at the same time.
    /// - Throws: `THROTTLED` if `most` keys are kept already.
    package func begin(idempotencyKey key: String, request: String, most: Int = Limits.idempotencyKeysKept) async throws -> KeptAnswer {
        try await write(.idempotency) { database, now, transaction in
            let before = try transaction.entry(KeptKeys.self, KeptKeys.place, in: database, at: now) ?? KeptKeys()
            let living = before.keys.filter { $0.expires > now.secondsSince2001 }
            if let known = living.first(where: { $0.key == key }) {
                return .rollback(try Self.answer(of: known, to: request, in: database, transaction))
            }
            if living.count >= most, let oldest = living.first {
                throw ServerError.tooManyRequests(after: oldest.expires - now.secondsSince2001)
            }
            var after = KeptKeys(keys: living)
            after.keys.append(KeptKey(key: key, request: request, expires: now.secondsSince2001 + Limits.idempotencyKeySeconds))
            var plan = WritePlan()
            plan.entries = [try after.row(KeptKeys.place, in: database)]
            let gone = Set(before.keys.map(\.key)).subtracting(living.map(\.key))
            plan.entriesRemoved = gone.sorted().map { EntryKey(database, .idempotentAnswer, $0) }
            try transaction.apply(plan)
            return .commit(.first)
        }
    }

    private static func answer(
        of known: KeptKey, to request: String, in database: DatabaseID, _ transaction: any ReadTransaction
    ) throws -> KeptAnswer {
        guard known.request == request else { return .other }
        guard let status = known.status else { return .underWay }
        guard known.isTooLarge != true, let row = try transaction.entries(in: database, .idempotentAnswer, keys: [known.key]).first else {
            return .tooLarge(status: status)
        }
        return .kept(status: status, body: row.value)
    }

    /// Keeps the answer to the request that began under a key.
    package func end(idempotencyKey key: String, status: Int, body: [UInt8]) async throws {
        try await changeKept(key) { kept, database, plan in
            kept.status = status
            guard body.count <= Limits.idempotentAnswerBytes else {
                kept.isTooLarge = true
                return true
            }
            plan.entries.append(EntryRow(key: EntryKey(database, .idempotentAnswer, key), value: body))
            return true
        }
    }

    /// Removes the request that began under a key and did nothing, so that it can be tried again.
    package func giveUp(idempotencyKey key: String) async throws {
        try await changeKept(key) { _, _, _ in false }
    }

    /// Changes the entry of a key.
    /// - Parameter change: Changes it and its plan, and returns whether the key stays.
    private func changeKept(
        _ key: String, _ change: @escaping @Sendable (inout KeptKey, DatabaseID, inout WritePlan) -> Bool
    ) async throws {
        try await write(.idempotency) { database, now, transaction in
            guard var all = try transaction.entry(KeptKeys.self, KeptKeys.place, in: database, at: now),
                let index = all.keys.firstIndex(where: { $0.key == key })
            else { return .rollback(()) }
            var plan = WritePlan()
            if !change(&all.keys[index], database, &plan) { all.keys.remove(at: index) }
            plan.entries.append(try all.row(KeptKeys.place, in: database))
            try transaction.apply(plan)
            return .commit(())
        }
    }
}

extension ServerError {
    fileprivate static func tooManyRequests(after seconds: Double) -> ServerError {
        ServerError(
            .throttled, "as many idempotency keys are kept as there may be", field: "Idempotency-Key",
            remedy: "Send the request without the header, or wait for as many seconds as retryAfter says.",
            retryAfter: max(1, Int(seconds.rounded(.up))))
    }
}
