import NacreCloudStorage
import NacreCloudWire

extension Registry {
    /// The app users of an account: one per container and environment that it signed in to.
    package func appUsers(of account: String) async throws -> [AppUser] {
        let database = try await databaseID(Part.account(account).key)
        return try await stored {
            try await self.store.read { try $0.allEntries(.user, in: database).compactMap { try AppUser($0) } }
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
            var plan = WritePlan(putting: .settling(account: database, due: now + Limits.accountDeletionSeconds))
            plan.entries = [try entry.row(account.id, in: database)]
            plan.entriesRemoved = try transaction.signIns(in: database, at: now).map { EntryKey(database, $0.kind.entryKind, $0.id) }
            plan.entriesRemoved += try transaction.allEntries(.passkey, in: database).map(\.key)
            try transaction.apply(plan)
            return .commit(())
        }
    }

    package func forget(_ appUser: AppUser, of account: String) async throws {
        try await write(.account(account)) { database, _, transaction in
            try transaction.remove([EntryKey(database, .user, AppUser.key(appUser.container, appUser.environment))])
            return .commit(())
        }
    }
}
