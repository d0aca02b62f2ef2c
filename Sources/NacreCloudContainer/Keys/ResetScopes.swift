import NacreCloudAccounts
import NacreCloudStorage
import NacreCloudWire

extension Cloud {
    /// Ends the scopes of a database whose user's log of keys has ended, since nobody can open what is sealed with
    /// them. Idempotent: the next statement repeats it after a crash.
    ///
    /// CloudKit: a user who resets the keychain has the zones with encrypted fields reset, and apps learn the reason
    /// from the database's changes. The default zone cannot be deleted, and loses its scope alone.
    func resetScopes(of database: CallerDatabase) async throws {
        let key = database.key
        for zone in try await stored(of: key, { try await self.store.read { try $0.zonesWithScopes(in: database.id) } }) {
            if zone.name == ZoneID.defaultZoneName {
                while try await stored(of: key, { try await self.store.write { .commit(try $0.forgetScope(of: zone.address)) } }) {}
            } else {
                _ = try await removeZone(zone.name, of: key.owner, in: key.container, key.environment, because: .encryptedDataReset)
            }
        }
    }
}

extension ReadTransaction {
    fileprivate func zonesWithScopes(in database: DatabaseID) throws -> [ZoneRow] {
        let prefixes = Set(try allEntries(.scopeKeyWrap, in: database).compactMap { $0.key.key.split(separator: " ").first })
        return prefixes.isEmpty ? [] : try allZones(in: database).filter { prefixes.contains("\($0.address.zone)") }
    }
}

extension WriteTransaction {
    /// Removes some entries of a zone's scope.
    /// - Returns: whether there were any.
    fileprivate func forgetScope(of zone: ZoneAddress) throws -> Bool {
        let gone = try scopeEntries(of: zone, limit: Limits.resultsPerPage)
        if gone.isEmpty { return false }
        try remove(gone)
        return true
    }
}
