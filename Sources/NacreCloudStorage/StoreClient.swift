package import NacreCloudWire
import NacreLocks

/// A client of a store. It finds databases by their names, and turns failures of the store into errors for clients.
package protocol StoreClient: Sendable {
    var store: any Store { get }
    var directory: DatabaseDirectory { get }
    /// Receives each failure of the store. Must return at once.
    var failed: @Sendable (StoreError) -> Void { get }
}

/// The 64-bit keys of databases that this process has met.
package final class DatabaseDirectory: Sendable {
    private let known = Locked<[DatabaseKey: DatabaseID]>([:])

    /// Databases whose keys are remembered; when there are more, all are forgotten. On this server.
    private static let remembered = 50_000

    package init() {}

    package subscript(_ key: DatabaseKey) -> DatabaseID? { known.withLock { $0[key] } }

    package func learn(_ id: DatabaseID, of key: DatabaseKey) {
        known.withLock { known in
            if known.count >= Self.remembered { known.removeAll() }
            known[key] = id
        }
    }
}

extension StoreClient {
    /// The 64-bit key of a database: the first salt whose key no other database has.
    /// - Throws: `ServerError` if no database can have this name.
    package func databaseID(_ key: DatabaseKey) async throws -> DatabaseID {
        if let known = directory[key] { return known }
        if let fault = key.fault { throw fault }
        for salt in 0..<UInt64.max {
            let id = DatabaseID(key, salt: salt)
            guard let row = try await stored({ try await self.store.read { try $0.databases([id]).first } }) else { return id }
            guard row.key == key else { continue }
            directory.learn(id, of: key)
            return id
        }
        throw ServerError.internalError
    }

    /// Turns an error of the store into one for clients, and reports it to the server's log.
    /// - Parameters:
    ///   - key: The database, if known.
    ///   - zoneID: The zone, if known.
    package func stored<Value>(of key: DatabaseKey? = nil, zone zoneID: ZoneID? = nil, _ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as StoreError {
            failed(error.met(in: key, zoneID?.zoneName))
            throw ServerError(error)
        }
    }
}

extension StoreError {
    /// Returns the error with the database and the zone where it was met, for logs.
    package func met(in key: DatabaseKey?, _ zone: String?) -> StoreError {
        var error = self
        if let key { error.values["database"] = key.text }
        if let zone { error.values["zone"] = zone }
        return error
    }
}

extension DatabaseKey {
    /// The name for people: `container/environment/scope/owner`, without an owner for the public database.
    package var text: String {
        let path = "\(container)/\(environment.rawValue)/\(scope.rawValue)"
        return owner.isEmpty ? path : "\(path)/\(owner)"
    }
}
