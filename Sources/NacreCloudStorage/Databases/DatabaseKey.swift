package import NacreCloudWire

/// The name of a database, which its 64-bit key stands for.
package struct DatabaseKey: Hashable, Sendable {
    package enum Environment: String, Codable, Hashable, Sendable, CaseIterable {
        case development
        case production
    }

    package enum Scope: String, Hashable, Sendable, CaseIterable {
        case `public`
        case `private`
        case shared
        /// Data of this server about containers, accounts and tokens. CloudKit has no such scope.
        case registry
    }

    package var container: String
    package var environment: Environment
    package var scope: Scope
    /// The owner's user record name; empty for a public database.
    package var owner: String

    package init(container: String, environment: Environment, scope: Scope, owner: String) {
        self.container = container
        self.environment = environment
        self.scope = scope
        self.owner = owner
    }

    /// The fault of the name; nil: none. Engines store its parts as text, and not every engine's text can hold a NUL.
    package var fault: ServerError? {
        for (field, text) in [("container", container), ("owner", owner)] where text.utf8.contains(0) {
            return .badValue(field, "a database's name holds the character U+0000", remedy: "Take the character out of the name.")
        }
        return nil
    }

    /// A zone of this database as answers name it: with its owner, except in the public database.
    package func zoneID(_ name: String) -> ZoneID {
        ZoneID(zoneName: name, ownerRecordName: scope == .public ? nil : owner)
    }

    /// A zone that a request named, as answers name it.
    package func shown(_ zoneID: ZoneID) -> ZoneID {
        ZoneID(zoneName: zoneID.zoneName, ownerRecordName: zoneID.ownerRecordName ?? self.zoneID(zoneID.zoneName).ownerRecordName)
    }

    /// CloudKit: custom zones have a feed of changes; the default zone and the public database have none.
    package func hasFeed(inZoneNamed name: String) -> Bool {
        scope != .public && name != ZoneID.defaultZoneName
    }
}

extension DatabaseID {
    /// The key of a database: 64 bits of FNV-1a over its parts, mixed so that similar names lie far apart.
    ///
    /// Names are made by this server and by administrators, so a client cannot choose a collision. A collision shows by
    /// another name in the row; the next `salt` then gives the next candidate.
    package init(_ key: DatabaseKey, salt: UInt64 = 0) {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325 ^ salt
        for part in [key.container, key.environment.rawValue, key.scope.rawValue, key.owner] {
            for byte in part.utf8 {
                hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
            }
            hash = (hash ^ 0xff) &* 0x0000_0100_0000_01b3
        }
        hash = (hash ^ (hash >> 30)) &* 0xbf58_476d_1ce4_e5b9
        hash = (hash ^ (hash >> 27)) &* 0x94d0_49bb_1331_11eb
        self.init(rawValue: Int64(bitPattern: hash ^ (hash >> 31)))
    }
}
