import NacreCloudAccounts
package import NacreCloudStorage
import NacreCloudWire

/// The size of a database, and its quota.
package struct Usage: Hashable, Sendable {
    /// Bytes of the stored bodies of its records.
    package var bytes: Int64
    /// The quota in bytes; nil: no limit but the disk.
    package var limit: Int64?
}

/// The sizes of a container's databases in one environment.
package struct ContainerUsage: Hashable, Sendable {
    package var ofPublic: Usage
    /// The sizes of private databases, in the order of their keys.
    package var users: [UserUsage]
    /// The position of the next page of users; nil after the last. Any page may be empty.
    package var next: DatabaseID?
}

/// The size of a user's private database.
package struct UserUsage: Hashable, Sendable {
    package var userRecordName: String
    package var usage: Usage
}

extension Cloud {
    /// A page of the sizes of a container's databases in one environment, for its administrator.
    package func usage(
        of container: String, _ environment: DatabaseKey.Environment, after last: DatabaseID?
    ) async throws -> ContainerUsage {
        try await registry.requireContainer(container)
        let publicID = try await databaseID(DatabaseKey(container: container, environment: environment, scope: .public, owner: ""))
        return try await readUsage(in: container, environment) { quotas, transaction in
            let rows = try transaction.databases(of: container, environment, after: last, limit: Limits.resultsPerPage)
            let users = rows.filter { $0.key.scope == .private }.map {
                UserUsage(userRecordName: $0.key.owner, usage: Usage(bytes: $0.bytes, limit: quotas.limit(of: .private)))
            }
            return ContainerUsage(
                ofPublic: Usage(bytes: try transaction.databases([publicID]).first?.bytes ?? 0, limit: quotas.limit(of: .public)), users: users,
                next: rows.count < Limits.resultsPerPage ? nil : rows.last?.id)
        }
    }

    /// The size of a container's public database.
    package func publicUsage(of container: String, _ environment: DatabaseKey.Environment) async throws -> Usage {
        let id = try await databaseID(DatabaseKey(container: container, environment: environment, scope: .public, owner: ""))
        return try await readUsage(in: container, environment) { quotas, transaction in
            Usage(bytes: try transaction.databases([id]).first?.bytes ?? 0, limit: quotas.limit(of: .public))
        }
    }

    /// The size of a user's private database; 0 bytes if the user has none.
    package func usage(
        of user: String, in container: String, _ environment: DatabaseKey.Environment
    ) async throws -> Usage {
        let id = try await databaseID(DatabaseKey(container: container, environment: environment, scope: .private, owner: user))
        return try await readUsage(in: container, environment) { quotas, transaction in
            Usage(bytes: try transaction.databases([id]).first?.bytes ?? 0, limit: quotas.limit(of: .private))
        }
    }

    private func readUsage<Value: Sendable>(
        in container: String, _ environment: DatabaseKey.Environment, _ body: @escaping @Sendable (Quotas, any ReadTransaction) throws -> Value
    ) async throws -> Value {
        let quotas = bounds.quotas
        let now = clock()
        return try await schemas.read(of: container, environment) { known, transaction in
            let entry = try transaction.entry(QuotaEntry.self, QuotaEntry.key, in: known.database, at: now)
            return try body(quotas.with(entry), transaction)
        }
    }
}

extension Cloud {
    /// The quotas of a container in one environment, and an administrator's entry for it.
    package func quotas(of container: String, _ environment: DatabaseKey.Environment) async throws -> (quotas: Quotas, entry: QuotaEntry) {
        try await registry.requireContainer(container)
        let entry = try await registry.lookUp(QuotaEntry.self, QuotaEntry.key, in: .schema(container: container, environment)) ?? QuotaEntry()
        return (bounds.quotas.with(entry), entry)
    }

    /// Changes the quotas of a container, from the next request on. Existing data stay, even above a quota.
    /// - Returns: The quotas and the entry now.
    package func setQuotas(
        of container: String, _ environment: DatabaseKey.Environment, _ change: @escaping @Sendable (inout QuotaEntry) -> Void
    ) async throws -> (quotas: Quotas, entry: QuotaEntry) {
        try await registry.requireContainer(container)
        let after = try await registry.write(.schema(container: container, environment)) { database, now, transaction -> Ending<QuotaEntry> in
            let before = try transaction.entry(QuotaEntry.self, QuotaEntry.key, in: database, at: now) ?? QuotaEntry()
            var after = before
            change(&after)
            if let fault = after.fault { throw fault }
            if after == before { return .rollback(after) }
            var plan = WritePlan()
            if after.isEmpty {
                plan.entriesRemoved = [EntryKey(database, .quota, QuotaEntry.key)]
            } else {
                plan.entries = [try after.row(QuotaEntry.key, in: database)]
            }
            try transaction.apply(plan)
            return .commit(after)
        }
        return (bounds.quotas.with(after), after)
    }
}

extension QuotaEntry {
    fileprivate var fault: ServerError? {
        for (field, bytes) in [("userBytes", userBytes), ("publicBytes", publicBytes)]
        where bytes.map({ !(0...Int64(Limits.quotaBytes)).contains($0) }) == true {
            return .badValue(field, "not a number of bytes", remedy: "Give 0 for no limit, or a number up to \(Limits.quotaBytes).")
        }
        return nil
    }
}
