import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// The key by which Apple's push services know an app of a container.
package struct PushKeyEntry: RegistryEntry {
    package static let kind = EntryKind.pushKey
    package var container: String
    package var environment: String
    /// The `.p8` key, sealed by the server.
    package var sealed: String
    /// The IDs of the key and the team, as the developer's page names them: ten characters each.
    package var keyID: String
    package var teamID: String
    /// The app's bundle ID.
    package var topic: String
    /// Seconds since 2001.
    package var created: Double

    package init(container: String, environment: APNsEnvironment, sealed: String, keyID: String, teamID: String, topic: String, created: Timestamp) {
        (self.container, self.environment, self.sealed) = (container, environment.rawValue, sealed)
        (self.keyID, self.teamID, self.topic, self.created) = (keyID, teamID, topic, created.secondsSince2001)
    }

    fileprivate static func name(_ container: String, _ environment: APNsEnvironment) -> String { "\(container) \(environment.rawValue)" }

    fileprivate var name: String { "\(container) \(environment)" }
}

/// The key by which push services of browsers know the server (VAPID, RFC 8292).
private struct PushIdentityEntry: RegistryEntry {
    static let kind = EntryKind.pushIdentity
    /// The key of the only entry.
    static let place = "browsers"
    /// A key, sealed by the server.
    var sealed: String
}

/// The keys of push services, for all environments of a container: Apple's services have their own environments.
extension Registry {
    /// Returns the key of a container for one of Apple's environments; nil: none was given.
    package func pushKey(of container: String, _ environment: APNsEnvironment) async throws -> PushKeyEntry? {
        try await lookUp(PushKeyEntry.self, PushKeyEntry.name(container, environment), in: .server)
    }

    /// Sets the key of a container for one of Apple's environments. It replaces the one before.
    package func setPushKey(_ entry: PushKeyEntry) async throws {
        try await write(.server) { database, now, transaction in
            _ = try transaction.requireContainer(entry.container, in: database, at: now)
            try transaction.put([try entry.row(entry.name, in: database)])
            return .commit(())
        }
    }

    /// - Returns: the key that was there; nil: there was none.
    package func removePushKey(of container: String, _ environment: APNsEnvironment) async throws -> PushKeyEntry? {
        let name = PushKeyEntry.name(container, environment)
        return try await write(.server) { database, now, transaction in
            guard let entry = try transaction.entry(PushKeyEntry.self, name, in: database, at: now) else { return .rollback(nil) }
            try transaction.remove([EntryKey(database, .pushKey, name)])
            return .commit(entry)
        }
    }

    /// Returns the server's key for push services of browsers, sealed; `make` gives the first one. The key stays for
    /// ever, because browsers that subscribed to another one would not be reached any more.
    package func pushIdentity(make: @escaping @Sendable () throws -> String) async throws -> String {
        if let known = try await lookUp(PushIdentityEntry.self, PushIdentityEntry.place, in: .server) { return known.sealed }
        let fresh = PushIdentityEntry(sealed: try make())
        return try await write(.server) { database, now, transaction in
            if let known = try transaction.entry(PushIdentityEntry.self, PushIdentityEntry.place, in: database, at: now) {
                return .rollback(known.sealed)
            }
            try transaction.put([try fresh.row(PushIdentityEntry.place, in: database)])
            return .commit(fresh.sealed)
        }
    }
}
