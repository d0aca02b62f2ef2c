package import NacreCloudWire

/// An API token or a server-to-server key, as an administrator lists them.
package struct AppCredential: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, Codable {
        case api
        case server
    }

    package typealias Position = CredentialPosition<Kind>

    package var kind: Kind
    /// The token itself, or the key's ID.
    package var id: String
    package var container: String
    package var environment: String
    package var name: String
    package var created: Timestamp
    /// Of a server-to-server key: no grant of a public database holds it.
    package var isAdministrator = false
    /// Of an API token: of the pages that may use it; nil: of any.
    package var origins: [String]?
    /// Of an API token: its sign-in callback, where that is a URL.
    package var redirect: String?
    /// Of an API token that another took the place of: when it ends.
    package var ends: Timestamp?
}

extension Registry {
    /// Registers the public half of a server-to-server key for a container that is there.
    ///
    /// CloudKit: the same public key has another ID in each container and environment; several may be active in one.
    /// - Parameters:
    ///   - publicKey: PEM, which the caller has read as a key on P-256.
    ///   - isAdministrator: no grant holds it. Else it has the roles of any user, and those that it is given.
    /// - Returns: its ID, 64 hexadecimal digits.
    package func createServerKey(
        container: String, environment: DatabaseKey.Environment, name: String, publicKey: String, isAdministrator: Bool = false
    ) async throws -> String {
        let entry = ServerKeyEntry(
            id: hex(4), container: container, environment: environment.rawValue, name: name, publicKey: publicKey,
            created: clock().secondsSince2001, isAdministrator: isAdministrator ? true : nil)
        return try await write(.server) { database, now, transaction in
            guard try transaction.entry(ContainerEntry.self, container, in: database, at: now) != nil else {
                throw ServerError.noContainer
            }
            try transaction.put([try entry.row(entry.id, in: database)])
            return .commit(entry.id)
        }
    }

    package func serverKey(_ id: String) async throws -> ServerKeyEntry? {
        try await lookUp(ServerKeyEntry.self, id, in: .server)
    }

    /// API tokens and server-to-server keys of all containers, or of one.
    ///
    /// - Parameters:
    ///   - last: of the page before.
    /// - Returns: a page in the order of kinds and IDs, and where the next one begins; nil when there is none.
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
        return (found, position.kind == .api ? AppCredential.Position(kind: .server) : nil)
    }

    /// Deletes an API token or a server-to-server key. Requests with it are refused within the seconds that servers remember credentials; sessions that
    /// were begun with an API token end with it.
    /// - Returns: what it was.
    /// - Throws: `NOT_FOUND` where there is no such one.
    package func revokeAppCredential(_ id: String) async throws -> AppCredential {
        try await write(.server) { database, now, transaction in
            for kind in [EntryKind.apiToken, .serverKey] {
                guard let row = try transaction.entries(in: database, kind, keys: [id]).first else { continue }
                try transaction.remove([row.key])
                return .commit(try AppCredential(row))
            }
            throw ServerError.noSuchCredential
        }
    }
}

extension AppCredential {
    fileprivate init(_ row: EntryRow) throws(StoreError) {
        if row.key.kind == .apiToken {
            let entry = try APITokenEntry(row)
            self.init(
                kind: .api, id: row.key.key, container: entry.container, environment: entry.environment, name: entry.name,
                created: Timestamp(secondsSince2001: entry.created), origins: entry.origins, redirect: entry.redirect, ends: row.expires)
        } else {
            let entry = try ServerKeyEntry(row)
            self.init(
                kind: .server, id: entry.id, container: entry.container, environment: entry.environment, name: entry.name,
                created: Timestamp(secondsSince2001: entry.created), isAdministrator: entry.isAdministrator ?? false)
        }
    }
}

extension AppCredential.Kind {
    fileprivate var entryKind: EntryKind {
        switch self {
        case .api: .apiToken
        case .server: .serverKey
        }
    }
}

extension ServerError {
    static let noSuchCredential = ServerError(
        .notFound, "no such token or key", field: "id", remedy: "Take an ID that nacre token list prints.")
}
