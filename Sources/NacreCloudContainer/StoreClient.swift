import NacreCloudWire
import NacreLocks

/// What asks a store for clients: finds databases by their names, and turns failures of the store into errors that a client understands.
package protocol StoreClient: Sendable {
    var store: any Store { get }
    var directory: DatabaseDirectory { get }
    /// Gets each failure of the store. Must return at once.
    var failed: @Sendable (StoreError) -> Void { get }
}

/// The 64-bit keys of databases that this process has met.
package final class DatabaseDirectory: Sendable {
    private let known = Locked<[DatabaseKey: DatabaseID]>([:])

    /// Databases whose keys are remembered; beyond it the memory starts afresh. On this server.
    private static let remembered = 50_000

    subscript(_ key: DatabaseKey) -> DatabaseID? { known.withLock { $0[key] } }

    func learn(_ id: DatabaseID, of key: DatabaseKey) {
        known.withLock { known in
            if known.count >= Self.remembered { known.removeAll() }
            known[key] = id
        }
    }
}

extension StoreClient {
    /// The 64-bit key of a database: the first salt under which no other database lives.
    /// - Throws: `ServerError` where no database can have such a name.
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

    /// Turns what the store throws into what a client hears, and tells the server's log what it was.
    /// - Parameters:
    ///   - key: the database that was asked, where one was.
    ///   - zoneID: the zone.
    func stored<Value>(of key: DatabaseKey? = nil, zone zoneID: ZoneID? = nil, _ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as StoreError {
            failed(error.met(in: key, zoneID?.zoneName))
            throw ServerError(error)
        }
    }

    /// Tells the server's log of damaged records that a request met.
    func tell(_ damaged: [StoredRecord], of key: DatabaseKey, _ zoneID: ZoneID) {
        for record in damaged.sorted(by: { ByteOrder.compare($0.row.name, $1.row.name) < 0 }) {
            if let damage = record.damage { failed(damage.met(in: key, zoneID.zoneName)) }
        }
    }
}

extension StoreError {
    /// With where it was met, for logs.
    func met(in key: DatabaseKey?, _ zone: String?) -> StoreError {
        var error = self
        if let key { error.values["database"] = key.text }
        if let zone { error.values["zone"] = zone }
        return error
    }
}

extension DatabaseKey {
    /// For people: `container/environment/scope/owner`, the public database without an owner.
    package var text: String {
        let path = "\(container)/\(environment.rawValue)/\(scope.rawValue)"
        return owner.isEmpty ? path : "\(path)/\(owner)"
    }
}
