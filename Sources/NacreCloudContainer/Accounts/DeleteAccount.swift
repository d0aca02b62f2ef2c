import NacreCloudWire

/// A container and environment in which an account has a user record name and data of its own.
package struct AccountPlace: Hashable, Sendable {
    package var container: String
    package var environment: DatabaseKey.Environment
    package var userRecordName: String

    init(container: String, environment: DatabaseKey.Environment, userRecordName: String) {
        self.container = container
        self.environment = environment
        self.userRecordName = userRecordName
    }

    /// The key of the entry that keeps the name.
    static func key(_ container: String, _ environment: DatabaseKey.Environment) -> String { "\(container) \(environment.rawValue)" }

    /// Reads the entry of a user record name; nil for an entry that names no place.
    fileprivate init?(_ row: EntryRow) throws(StoreError) {
        let parts = row.key.key.split(separator: " ")
        guard parts.count == 2, let environment = DatabaseKey.Environment(rawValue: String(parts[1])) else { return nil }
        container = String(parts[0])
        self.environment = environment
        userRecordName = try UserEntry(row).userRecordName
    }
}

extension Registry {
    /// The places of an account: one per container and environment that it signed in to.
    package func places(of account: String) async throws -> [AccountPlace] {
        let database = try await databaseID(Part.account(account).key)
        return try await stored {
            try await self.store.read { try $0.allEntries(.user, in: database).compactMap { try AccountPlace($0) } }
        }
    }

    /// Deletes an account for ever. This call ends all its sign-ins; a task removes its data after
    /// `Limits.accountDeletionSeconds`.
    ///
    /// The task removes its private databases, its user records and its roles in every container and environment. Last
    /// it releases the claim of the address. Records that it made in public databases stay, as in CloudKit.
    /// - Parameter account: The account as it was when its password was checked, or when an administrator read it.
    /// - Throws: `ServerError.accountChanged` if it has changed since.
    package func deleteAccount(_ account: AccountEntry) async throws {
        try await write(.account(account.id)) { database, now, transaction in
            var entry = try transaction.requireUnchanged(account, in: database, at: now)
            entry.isDeleted = true
            entry.passwordHash = ""
            entry.reset = nil
            var plan = WritePlan(putting: SettleAccount.task(in: database, due: now + Limits.accountDeletionSeconds))
            plan.entries = [try entry.row(account.id, in: database)]
            plan.entriesRemoved = try transaction.signIns(in: database, at: now).map { EntryKey(database, $0.kind.entryKind, $0.id) }
            plan.entriesRemoved += try transaction.allEntries(.passkey, in: database).map(\.key)
            try transaction.apply(plan)
            return .commit(())
        }
    }

    fileprivate func forget(_ place: AccountPlace, of account: String) async throws {
        try await write(.account(account)) { database, _, transaction in
            try transaction.remove([EntryKey(database, .user, AccountPlace.key(place.container, place.environment))])
            return .commit(())
        }
    }
}

extension Cloud {
    /// Removes the data of a deleted account in one of its places.
    /// - Returns: false if no place is left.
    func clearPlace(of account: AccountEntry) async throws -> Bool {
        guard let place = try await registry.places(of: account.id).first else { return false }
        let user = place.userRecordName
        let key = DatabaseKey(container: place.container, environment: place.environment, scope: .private, owner: user)
        let id = try await databaseID(key)
        if let row = try await stored(of: key, { try await self.store.read { try $0.databases([id]).first } }) { _ = try await clear(row) }
        try await leaveSharedZones(at: place)
        try await forgetShareRequests(at: place, of: account.id)
        try await forgetSubscriptions(at: place)
        try await forgetDiscoverability(at: place)
        try await registry.forgetRoles(of: user, in: place.container, place.environment)
        try await deletePublicUserRecord(user, in: DatabaseTarget(container: place.container, environment: place.environment, scope: .public))
        // Last, so that a worker that starts again finds the place.
        try await registry.forget(place, of: account.id)
        return true
    }

    private func deletePublicUserRecord(_ name: String, in target: DatabaseTarget) async throws {
        var server = Caller.server(inNameOf: name)
        server.isAdministrator = true
        let deletion = RecordOperation(.forceDelete, RecordChange(recordName: name))
        let answer = try await modifyRecords(RecordsModifyRequest(operations: [deletion]), in: target, by: server, digest: [])
        if case .failure(_, let error)? = answer.records.first, error.code != .notFound { throw error }
    }
}
