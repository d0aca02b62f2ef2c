import NacreCloudAccounts
import NacreCloudStorage
import NacreCloudWire

/// The parts that the deletion of a container removed.
package struct ContainerDeletion: Hashable, Sendable {
    /// The number of API tokens, server-to-server keys and management tokens.
    package var credentials = 0
    /// The number of accounts that had a name in it.
    package var accounts = 0
    /// The number of public and private databases with records, zones or subscriptions.
    package var databases = 0
}

extension Cloud {
    /// Deletes a container for ever: the credentials of its apps first, then all sign-ins to it, the records, zones and
    /// files of both environments, their schemas, roles, shares and quotas.
    ///
    /// Each database is cleared in transactions of its own. An interrupted deletion can be run again, and no container
    /// of the name can be made before it is done. Tasks remove the rows and files of deleted zones afterwards. The
    /// trees of its accounts' key logs stay, because devices hold them against what they have seen.
    /// - Parameter forget: Forgets what this process remembers of the container's sign-ins. Called once the container
    ///   is closed, and again once no account has a name in it, before its data go.
    /// - Throws: `ServerError.noContainer`.
    package func deleteContainer(_ name: String, forget: @Sendable () -> Void = {}) async throws -> ContainerDeletion {
        let credentials = try await registry.closeContainer(name)
        forget()
        for key in credentials where key.kind == .server { try await registry.leave(name, account: ServerKeyEntry.account(ofKey: key.id)) }
        var deletion = ContainerDeletion(credentials: credentials.count)
        var last: DatabaseID?
        repeat {
            let (page, next) = try await registry.accounts(after: last)
            for account in page {
                guard try await registry.appUsers(of: account.id).contains(where: { $0.container == name }) else { continue }
                try await registry.leave(name, account: account.id)
                deletion.accounts += 1
            }
            last = next
        } while last != nil
        // A request may have read a sign-in before it went, and remembered it after the first call.
        forget()
        admitted.removeAll()
        for environment in DatabaseKey.Environment.allCases {
            try await eachDatabase(of: name, environment) { row in
                if row.key.scope == .registry { return }
                if try await clear(row) { deletion.databases += 1 }
                try await forgetKeys(of: row.id)
            }
            // Zones are deleted by their schema, so it goes after them.
            try await eachDatabase(of: name, environment) { row in
                if row.key.scope == .registry { try await forgetEntries(of: row) }
            }
        }
        try await registry.endContainer(name)
        return deletion
    }

    private func eachDatabase(
        of container: String, _ environment: DatabaseKey.Environment, _ body: (DatabaseRow) async throws -> Void
    ) async throws {
        var last: DatabaseID?
        while let row = try await nextDatabase(of: container, environment, after: last) {
            try await body(row)
            last = row.id
        }
    }

    /// Empties a database of the registry. The version of a schema stays, so that no process takes an old schema for a
    /// new one.
    private func forgetEntries(of row: DatabaseRow) async throws {
        let (container, environment) = (row.key.container, row.key.environment)
        if row.key == Registry.Part.logs(container: container, environment).key { return }
        if row.key == Registry.Part.schema(container: container, environment).key { try await schemas.empty(container, environment) }
        for kind in EntryKind.allCases where kind != .schemaVersion {
            while try await stored({ try await self.store.write { .commit(try $0.forgetEntries(of: kind, in: row.id)) } }) {}
        }
    }
}

extension Schemas {
    /// Takes everything out of a schema.
    fileprivate func empty(_ container: String, _ environment: DatabaseKey.Environment) async throws {
        try await changeSchema(of: container, environment) { schema in
            (schema.types, schema.roles, schema.webhooks, schema.justInTime) = ([:], [:], [:], .native)
        }
    }
}

extension WriteTransaction {
    /// Removes some entries of a kind. Returns whether there were any.
    fileprivate func forgetEntries(of kind: EntryKind, in database: DatabaseID) throws -> Bool {
        _ = try lock(in: database)
        let keys = try entries(in: database, kind, after: nil, limit: Limits.resultsPerPage).map(\.key)
        if keys.isEmpty { return false }
        try remove(keys)
        return true
    }
}
