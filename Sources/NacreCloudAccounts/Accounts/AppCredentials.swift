package import NacreCloudStorage
package import NacreCloudWire

/// An API token, a server-to-server key or a management token, as an administrator lists them.
package struct AppCredential: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, Codable, CaseIterable {
        case api
        case server
        case management
    }

    package typealias Position = CredentialCursor<Kind>

    package var kind: Kind
    /// The API token itself, or the ID of a key or of a management token.
    package var id: String
    package var container: String
    /// The environment; nil for a management token, which is for both.
    package var environment: String?
    package var name: String
    package var created: Timestamp
    /// Whether the holder of a server-to-server key is bound by no grant of a public database.
    package var isAdministrator = false
    /// Origins of the pages that may use an API token; nil: any origin.
    package var origins: [String]?
    /// The URL of an API token's sign-in callback; nil if it has none.
    package var redirect: String?
    /// When a management token ends, or an API token that was rotated with a grace.
    package var ends: Timestamp?
    /// The last use, within `Limits.lastUseSeconds`; nil: never used, or not since uses are noted.
    package var used: Timestamp?
}

extension Registry {
    /// Registers the public half of a server-to-server key for an existing container.
    ///
    /// CloudKit: a public key has another ID in each container and environment, and several keys may be active in one.
    /// - Parameters:
    ///   - publicKey: PEM, which the caller has read as a key on P-256.
    ///   - isAdministrator: Whether no grant binds the key. Otherwise it has any user's roles, and those assigned to
    ///     it.
    /// - Returns: The key's ID, 64 hexadecimal digits.
    package func createServerKey(
        container: String, environment: DatabaseKey.Environment, name: String, publicKey: String, isAdministrator: Bool = false
    ) async throws -> String {
        let entry = ServerKeyEntry(
            id: hex(4), container: container, environment: environment.rawValue, name: name, publicKey: publicKey,
            created: clock().secondsSince2001, isAdministrator: isAdministrator ? true : nil)
        return try await write(.server) { database, now, transaction in
            _ = try transaction.requireContainer(container, in: database, at: now)
            try transaction.put([try entry.row(entry.id, in: database)])
            return .commit(entry.id)
        }
    }

    package func serverKey(_ id: String) async throws -> ServerKeyEntry? {
        try await lookUp(ServerKeyEntry.self, id, in: .server)
    }

    /// Makes a management token for an existing container.
    /// - Parameters:
    ///   - digest: SHA-256 of the token's secret, in hexadecimal digits.
    ///   - seconds: The token's lifetime; nil: `Limits.managementTokenSeconds`.
    /// - Returns: The token's ID, 32 hexadecimal digits.
    package func createManagementToken(container: String, name: String, digest: String, seconds: Int?) async throws -> String {
        let life = seconds.map(Double.init) ?? Limits.managementTokenSeconds
        guard (1...Limits.managementTokenSeconds).contains(life) else {
            throw ServerError.badValue(
                "lifeSeconds", "not a number of seconds that a management token may live",
                remedy: "Give 1 to \(Int(Limits.managementTokenSeconds)) seconds, a year.")
        }
        let entry = ManagementTokenEntry(id: hex(2), container: container, name: name, digest: digest, created: clock().secondsSince2001)
        return try await write(.server) { database, now, transaction in
            _ = try transaction.requireContainer(container, in: database, at: now)
            try transaction.put([try entry.row(entry.id, in: database, expires: now + life)])
            return .commit(entry.id)
        }
    }

    package func managementToken(_ id: String) async throws -> ManagementTokenEntry? {
        try await lookUp(ManagementTokenEntry.self, id, in: .server)
    }

    /// Notes that a token or key is used now, unless a use was noted within `Limits.lastUseSeconds` or it has ended.
    package func noteUse<Entry: UsedEntry>(of type: Entry.Type, _ id: String) async throws {
        try await write(.server) { database, now, transaction in
            guard let row = try transaction.entries(in: database, Entry.kind, keys: [id]).living(at: now).first else { return .rollback(()) }
            var entry = try Entry(row)
            guard entry.isUseToBeNoted(at: now) else { return .rollback(()) }
            entry.used = now.secondsSince2001
            try transaction.put([try entry.row(id, in: database, expires: row.expires)])
            return .commit(())
        }
    }

    /// A page of the API tokens, server-to-server keys and management tokens of all containers, or of one.
    /// - Parameter last: The position where the page before ended.
    /// - Returns: The page in the order of kinds and IDs, and the position of the next one; nil after the last.
    package func appCredentials(
        of container: String?, after last: AppCredential.Position?
    ) async throws -> (page: [AppCredential], next: AppCredential.Position?) {
        let database = try await databaseID(Part.server.key)
        let position = last ?? AppCredential.Position(kind: .api)
        let now = clock()
        let rows = try await stored {
            try await self.store.read {
                try $0.entries(in: database, position.kind.entryKind, after: position.id, limit: Limits.resultsPerPage)
            }
        }
        let found = try rows.living(at: now).map(AppCredential.init).filter { container == nil || $0.container == container }
        if rows.count == Limits.resultsPerPage { return (found, AppCredential.Position(kind: position.kind, id: rows.last?.key.key)) }
        return (found, position.kind.next.map { AppCredential.Position(kind: $0) })
    }

    /// Deletes an API token, a server-to-server key or a management token. Requests with it are refused once the
    /// credentials that servers remember expire, within seconds. Sessions begun with an API token end with it.
    /// - Returns: The deleted credential.
    /// - Throws: `NOT_FOUND` if there is none with the ID.
    package func revokeAppCredential(_ id: String) async throws -> AppCredential {
        try await write(.server) { database, now, transaction in
            for kind in AppCredential.Kind.allCases {
                guard let row = try transaction.entries(in: database, kind.entryKind, keys: [id]).first else { continue }
                try transaction.remove([row.key])
                return .commit(try AppCredential(row))
            }
            throw ServerError.noSuchCredential
        }
    }
}

extension AppCredential {
    fileprivate init(_ row: EntryRow) throws(StoreError) {
        switch row.key.kind {
        case .apiToken:
            let entry = try APITokenEntry(row)
            self.init(
                kind: .api, id: row.key.key, container: entry.container, environment: entry.environment, name: entry.name,
                created: Timestamp(secondsSince2001: entry.created), origins: entry.origins, redirect: entry.redirect, ends: row.expires,
                used: entry.lastUse)
        case .managementToken:
            let entry = try ManagementTokenEntry(row)
            self.init(
                kind: .management, id: entry.id, container: entry.container, name: entry.name,
                created: Timestamp(secondsSince2001: entry.created), ends: row.expires, used: entry.lastUse)
        default:
            let entry = try ServerKeyEntry(row)
            self.init(
                kind: .server, id: entry.id, container: entry.container, environment: entry.environment, name: entry.name,
                created: Timestamp(secondsSince2001: entry.created), isAdministrator: entry.isAdministrator ?? false, used: entry.lastUse)
        }
    }
}

extension UsedEntry {
    fileprivate var lastUse: Timestamp? { used.map { Timestamp(secondsSince2001: $0) } }

    /// Whether a use at `now` is to be noted: none was within `Limits.lastUseSeconds`.
    package func isUseToBeNoted(at now: Timestamp) -> Bool {
        guard let used else { return true }
        return abs(now.secondsSince2001 - used) >= Limits.lastUseSeconds
    }
}

extension AppCredential.Kind {
    fileprivate var entryKind: EntryKind {
        switch self {
        case .api: .apiToken
        case .server: .serverKey
        case .management: .managementToken
        }
    }

    /// The next kind in the order of lists; nil after the last.
    fileprivate var next: AppCredential.Kind? {
        switch self {
        case .api: .server
        case .server: .management
        case .management: nil
        }
    }
}

extension ServerError {
    static let noSuchCredential = ServerError(
        .notFound, "no such token or key", field: "id", remedy: "Take an ID that nacre token list prints.")
}
