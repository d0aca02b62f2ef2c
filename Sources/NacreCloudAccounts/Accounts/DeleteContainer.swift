import NacreCloudStorage
import NacreCloudWire

/// The parts of the registry that go with a container.
extension Registry {
    /// Begins the deletion of a container, or goes on with one that was interrupted: from now on the container does not
    /// exist. Revokes its API tokens, server-to-server keys and management tokens, each in a transaction of its own.
    /// - Returns: The revoked credentials.
    /// - Throws: `ServerError.noContainer`.
    package func closeContainer(_ name: String) async throws -> [AppCredential] {
        try await write(.server) { database, now, transaction in
            guard var entry = try transaction.entry(ContainerEntry.self, name, in: database, at: now) else { throw ServerError.noContainer }
            entry.isDeleted = true
            try transaction.put([try entry.row(name, in: database)])
            return .commit(())
        }
        var revoked: [AppCredential] = []
        var last: AppCredential.Position?
        repeat {
            let (page, next) = try await appCredentials(of: name, after: last)
            for credential in page {
                do {
                    revoked.append(try await revokeAppCredential(credential.id))
                } catch let error as ServerError where error == .noSuchCredential {
                    // Another request revoked it.
                }
            }
            last = next
        } while last != nil
        return revoked
    }

    /// Ends what an account has in a container that is being deleted: its sessions, its devices and its user record
    /// names. A device that is signed in to other containers too stays there.
    /// - Parameter account: The ID of the account, or that under which the registry keeps a server-to-server key.
    package func leave(_ container: String, account: String) async throws {
        try await write(.account(account)) { database, now, transaction in
            var plan = WritePlan()
            plan.entriesRemoved = DatabaseKey.Environment.allCases.map { EntryKey(database, .user, AppUser.key(container, $0)) }
            for session in try transaction.all(SessionEntry.self, in: database, at: now) where session.container == container {
                plan.entriesRemoved.append(EntryKey(database, .session, session.id))
            }
            for row in try transaction.allEntries(.accountToken, in: database) {
                var token = try AccountTokenEntry(row)
                guard token.containers.contains(container) else { continue }
                token.containers.removeAll { $0 == container }
                if token.containers.isEmpty {
                    plan.entriesRemoved.append(row.key)
                } else {
                    plan.entries.append(try token.row(token.id, in: database, expires: row.expires))
                }
            }
            try transaction.apply(plan)
            return .commit(())
        }
    }

    /// Removes the entry of a container whose data are removed, with its rates, its icon and its keys for push
    /// services.
    package func endContainer(_ name: String) async throws {
        try await write(.server) { database, _, transaction in
            // Their keys are the name, a space and an environment.
            let pushKeys = try transaction.entries(in: database, .pushKey, after: "\(name) ", limit: Limits.resultsPerPage).map(\.key)
            let others = [EntryKind.rate, .appIcon, .container].map { EntryKey(database, $0, name) }
            try transaction.remove(pushKeys.filter { $0.key.hasPrefix("\(name) ") } + others)
            return .commit(())
        }
    }
}
