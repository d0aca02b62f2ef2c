package import NacreCloudStorage
package import NacreCloudWire

/// The server's data other than records: containers and schemas, API tokens, accounts with sessions and devices, keys
/// that seal tokens.
///
/// The registry consists of databases too; an entry that must be unique is unique within one of them. There is one for
/// the server, one for the audit log and one for repeated requests of administrators. Each account and each e-mail
/// address has one. Each container and environment has one for the schema, one for discovery, and one for the devices
/// of each user.
///
/// Thread-safe. Each call is one transaction, or says how many.
package final class Registry: StoreClient {
    package let store: any Store
    package let clock: @Sendable () -> Timestamp
    package let random: @Sendable () -> UInt64
    package let directory = DatabaseDirectory()
    package let failed: @Sendable (StoreError) -> Void

    package init(
        store: any Store, clock: @escaping @Sendable () -> Timestamp, random: @escaping @Sendable () -> UInt64,
        failed: @escaping @Sendable (StoreError) -> Void = { _ in }
    ) {
        self.store = store
        self.clock = clock
        self.random = random
        self.failed = failed
    }
}

/// Containers and API tokens, which an administrator makes.
extension Registry {
    /// Makes a container. An existing one stays unchanged; `isNew` says whether this call made it.
    package func createContainer(_ name: String) async throws -> (container: ContainerEntry, isNew: Bool) {
        if let fault = Names.containerFault(name) { throw fault }
        let entry = ContainerEntry(name: name, created: clock().secondsSince2001)
        return try await write(.server) { database, now, transaction in
            if let old = try transaction.entry(ContainerEntry.self, name, in: database, at: now) {
                guard old.isLiving else { throw ServerError.containerIsBeingDeleted }
                return .rollback((old, false))
            }
            try transaction.put([try entry.row(name, in: database)])
            return .commit((entry, true))
        }
    }

    /// - Throws: `ServerError.noContainer`.
    package func requireContainer(_ name: String) async throws {
        guard try await container(name) != nil else { throw ServerError.noContainer }
    }

    package func container(_ name: String) async throws -> ContainerEntry? {
        guard let entry = try await lookUp(ContainerEntry.self, name, in: .server), entry.isLiving else { return nil }
        return entry
    }

    /// A page of the containers of this server. Any page may be empty.
    /// - Parameter last: The last name of the page before.
    /// - Returns: The page in the order of names, and the position of the next one; nil after the last.
    package func containers(after last: String?) async throws -> (page: [ContainerEntry], next: String?) {
        let database = try await databaseID(Part.server.key)
        let rows = try await stored {
            try await self.store.read { try $0.entries(in: database, .container, after: last, limit: Limits.resultsPerPage) }
        }
        return (try rows.map { try ContainerEntry($0) }.filter(\.isLiving), rows.count < Limits.resultsPerPage ? nil : rows.last?.key.key)
    }

    /// Makes an API token for an existing container.
    /// - Parameters:
    ///   - origins: Origins of the pages that may use it; empty: any origin.
    ///   - redirect: The URL that a browser is sent to with the token of the signed-in user; nil: the page that asks
    ///     gets a message.
    /// - Returns: The token, 64 hexadecimal digits. It is kept in clear, since users of web pages can see it anyway.
    package func createAPIToken(
        container: String, environment: DatabaseKey.Environment, name: String, origins: [String] = [], redirect: String? = nil
    ) async throws -> String {
        let token = hex(4)
        let entry = APITokenEntry(
            container: container, environment: environment.rawValue, name: name, created: clock().secondsSince2001,
            origins: try WebOrigin.registered(origins), redirect: try redirect.map { try SignInCallback($0).url })
        return try await write(.server) { database, now, transaction in
            _ = try transaction.requireContainer(container, in: database, at: now)
            try transaction.put([try entry.row(token, in: database)])
            return .commit(token)
        }
    }

    package func apiToken(_ token: String) async throws -> APITokenEntry? {
        try await lookUp(APITokenEntry.self, token, in: .server)
    }

    /// The keys that seal tokens, newest last, by their IDs. If there is none, `make` returns the bytes of the first.
    package func sealingKeys(make: @escaping @Sendable () throws -> [UInt8]) async throws -> [(id: String, key: [UInt8])] {
        let database = try await databaseID(Part.server.key)
        let known = try await stored { try await self.store.read { try $0.entries(in: database, .sealingKey, after: nil, limit: 256) } }
        // Avoids the write below: a server whose disk is not writable can still read.
        guard known.isEmpty else { return known.map { ($0.key.key, $0.value) } }
        let fresh = try make()
        return try await write(.server) { database, _, transaction in
            let rows = try transaction.entries(in: database, .sealingKey, after: nil, limit: 256)
            if !rows.isEmpty { return .rollback(rows.map { ($0.key.key, $0.value) }) }
            try transaction.put([EntryRow(key: EntryKey(database, .sealingKey, "1"), value: fresh)])
            return .commit([("1", fresh)])
        }
    }

    // MARK: Databases of the registry

    package enum Part: Sendable {
        case server
        case audit
        case idempotency
        /// The members of the team, who sign in to the console.
        case team
        case account(String)
        case email(String)
        /// Mails to addresses that may have no account.
        case mail
        case identity(OpenIDIdentity)
        case schema(container: String, DatabaseKey.Environment)
        case discovery(container: String, DatabaseKey.Environment)
        /// The targets of share URLs.
        case shares(container: String, DatabaseKey.Environment)
        /// The tree over the statements about keys of all accounts.
        case logs(container: String, DatabaseKey.Environment)
        /// A user's devices and their notifications.
        case devices(container: String, DatabaseKey.Environment, user: String)

        package var key: DatabaseKey {
            switch self {
            case .server: Self.key(owner: "server")
            case .audit: Self.key(owner: "audit")
            case .idempotency: Self.key(owner: "idempotency")
            case .team: Self.key(owner: "team")
            case .account(let id): Self.key(owner: "account:\(id)")
            case .mail: Self.key(owner: "mail")
            case .email(let address): Self.key(owner: "email:\(address)")
            case .identity(let identity): Self.key(owner: "openid:\(identity.issuer) \(identity.subject)")
            case .schema(let container, let environment):
                DatabaseKey(container: container, environment: environment, scope: .registry, owner: "schema")
            case .discovery(let container, let environment):
                DatabaseKey(container: container, environment: environment, scope: .registry, owner: "discovery")
            case .shares(let container, let environment):
                DatabaseKey(container: container, environment: environment, scope: .registry, owner: "shares")
            case .logs(let container, let environment):
                DatabaseKey(container: container, environment: environment, scope: .registry, owner: "logs")
            case .devices(let container, let environment, let user):
                DatabaseKey(container: container, environment: environment, scope: .registry, owner: Self.devices + user)
            }
        }

        private static let devices = "devices:"

        /// The user whose devices a database holds; nil for another database.
        package static func deviceUser(of key: DatabaseKey) -> String? {
            key.scope == .registry && key.owner.hasPrefix(devices) ? String(key.owner.dropFirst(devices.count)) : nil
        }

        /// The account that a database belongs to; nil for another database.
        package static func accountID(of key: DatabaseKey) -> String? {
            let prefix = "account:"
            guard key.scope == .registry, key.container.isEmpty, key.owner.hasPrefix(prefix) else { return nil }
            return String(key.owner.dropFirst(prefix.count))
        }

        private static func key(owner: String) -> DatabaseKey {
            DatabaseKey(container: "", environment: .production, scope: .registry, owner: owner)
        }
    }

    /// Changes one database of the registry, in a transaction that locks it.
    package func write<Value: Sendable>(
        _ part: Part, _ body: @escaping @Sendable (DatabaseID, Timestamp, any WriteTransaction) throws -> Ending<Value>
    ) async throws -> Value {
        let database = try await databaseID(part.key)
        let now = clock()
        return try await stored {
            try await self.store.write { transaction in
                try Self.settle(part.key, as: database, transaction)
                return try body(database, now, transaction)
            }
        }
    }

    /// Locks the database, and registers its key at the first write into it. The lock makes transactions change its
    /// entries one after another.
    private static func settle(_ key: DatabaseKey, as database: DatabaseID, _ transaction: any WriteTransaction) throws {
        if let row = try transaction.lock(in: database).database {
            guard row.key == key else { throw ServerError.internalError }
            return
        }
        var plan = WritePlan()
        plan.databases = [DatabaseRow(id: database, key: key, run: Run.none, lastSeq: 0)]
        try transaction.apply(plan)
    }

    package func lookUp<Entry: RegistryEntry>(_ type: Entry.Type, _ key: String, in part: Part) async throws -> Entry? {
        let database = try await databaseID(part.key)
        let now = clock()
        return try await stored { try await self.store.read { try $0.entry(type, key, in: database, at: now) } }
    }

    /// 256 random bits.
    package func newKey() -> [UInt8] { (0..<4).flatMap { _ in random().bigEndianBytes } }

    /// A secret key of this server, 32 bytes, made by the first call and never changed.
    /// - Parameter kind: The kind of its entry, which has no other.
    package func serverKey(_ kind: EntryKind) async throws -> [UInt8] {
        let name = "1"
        let database = try await databaseID(Part.server.key)
        if let known = try await stored({ try await self.store.read { try $0.entries(in: database, kind, keys: [name]).first } }) {
            return known.value
        }
        let fresh = newKey()
        return try await write(.server) { database, _, transaction in
            if let known = try transaction.entries(in: database, kind, keys: [name]).first { return .rollback(known.value) }
            try transaction.put([EntryRow(key: EntryKey(database, kind, name), value: fresh)])
            return .commit(fresh)
        }
    }

    /// `words` times 64 random bits as hexadecimal digits.
    package func hex(_ words: Int) -> String {
        (0..<words).map { _ in HexText.encode(random()) }.joined()
    }
}

extension ReadTransaction {
    /// - Parameter server: The registry's database of the server.
    /// - Throws: `ServerError.noContainer`, also where the container is being deleted.
    package func requireContainer(_ name: String, in server: DatabaseID, at now: Timestamp) throws -> ContainerEntry {
        guard let entry = try entry(ContainerEntry.self, name, in: server, at: now), entry.isLiving else { throw ServerError.noContainer }
        return entry
    }
}

extension WriteTransaction {
    package func put(_ entries: [EntryRow]) throws {
        var plan = WritePlan()
        plan.entries = entries
        try apply(plan)
    }

    /// Removes entries; missing ones are ignored.
    package func remove(_ entries: [EntryKey]) throws {
        var plan = WritePlan()
        plan.entriesRemoved = entries
        try apply(plan)
    }
}

extension ServerError {
    package static let noContainer = ServerError(
        .notFound, "container does not exist", native: .badContainer, field: "container", remedy: "Make it: nacre container create NAME.")

    static let containerIsBeingDeleted = ServerError(
        .conflict, "the container is being deleted", field: "name",
        remedy: "Wait until that is done. If it was interrupted, nacre container delete NAME goes on with it.")
}
