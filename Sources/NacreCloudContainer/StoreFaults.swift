import NacreCloudWire

extension Cloud {
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
