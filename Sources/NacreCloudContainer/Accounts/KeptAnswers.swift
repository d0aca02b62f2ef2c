import NacreCloudWire

/// What became of a request of an administrator's that named itself by an idempotency key.
package enum KeptAnswer: Hashable, Sendable {
    /// It is the first with the key: it is to be done, and its answer kept.
    case first
    /// It was done: status and body of its answer.
    case kept(status: Int, body: [UInt8])
    /// It was done, and the body of its answer was too large to be kept.
    case tooLarge(status: Int)
    /// The first one is under way, or the server ended before it was answered.
    case underWay
    /// Another request had the key.
    case other
}

/// A request that was begun under an idempotency key. Its answer has a row of its own, so that those that are not asked for need not be read.
struct KeptKey: Codable, Hashable, Sendable {
    /// Of the key.
    var key: String
    /// Of method, path and body.
    var request: String
    /// Seconds since 2001.
    var expires: Double
    var status: Int?
    var isTooLarge: Bool?
}

/// All of them, oldest first: few, and changed seldom.
struct KeptKeys: RegistryEntry {
    static let kind = EntryKind.idempotencyKeys
    /// There is one.
    static let place = "keys"
    var keys: [KeptKey] = []
}

/// Answers to requests of administrators, by the keys that their clients gave them. See `docs/decisions/an-idempotency-key-is-kept-for-a-day.md`.
extension Registry {
    /// Begins a request under a key, or says what became of the one that had it.
    /// - Parameters:
    ///   - key: the digest of what the client sent.
    ///   - request: the digest of what it asks.
    ///   - most: keys that are kept together.
    /// - Throws: `THROTTLED` where as many keys are kept as there may be.
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

    /// Keeps the answer to what was begun under a key.
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

    /// Forgets what was begun under a key, because nothing was done: it may be tried again.
    package func giveUp(idempotencyKey key: String) async throws {
        try await changeKept(key) { _, _, _ in false }
    }

    /// - Parameter change: whether the key stays.
    private func changeKept(
        _ key: String, _ change: @escaping @Sendable (inout KeptKey, DatabaseID, inout WritePlan) -> Bool
    ) async throws {
        try await write(.idempotency) { database, now, transaction in
            guard var all = try transaction.entry(KeptKeys.self, KeptKeys.place, in: database, at: now),
                let place = all.keys.firstIndex(where: { $0.key == key })
            else { return .rollback(()) }
            var plan = WritePlan()
            if !change(&all.keys[place], database, &plan) { all.keys.remove(at: place) }
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
