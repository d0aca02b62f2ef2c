import NacreCloudStorage

/// The permissions of security roles on records of one type. They count only in the public database: private data
/// belong to their owner.
///
/// CloudKit: `GRANT READ, CREATE, WRITE TO role` in a type of a schema. See
/// `docs/decisions/roles.md`.
package struct Grants: Hashable, Sendable {
    /// CloudKit: every caller, with or without an account.
    package static let worldRole = "_world"
    /// CloudKit: callers who are signed in, and server-to-server keys.
    package static let signedInRole = "_icloud"
    /// CloudKit: the user who made the record.
    package static let creatorRole = "_creator"
    /// CloudKit: roles that every schema has, and none declares.
    package static let builtInRoles: Set<String> = [worldRole, signedInRole, creatorRole]

    private var world: Permissions = []
    private var signedIn: Permissions = []
    private var creator: Permissions = []
    /// Permissions of the roles that a schema declares. No value is empty.
    private var custom: [String: Permissions] = [:]

    package init() {}

    /// CloudKit: the grants of a type whose schema sets none.
    package static let defaults = {
        var grants = Grants()
        grants[creatorRole] = .write
        grants[signedInRole] = .create
        grants[worldRole] = .read
        return grants
    }()

    /// CloudKit: no role may make user records.
    private static let usersDefaults = {
        var grants = defaults
        grants[signedInRole] = []
        return grants
    }()

    package static func defaults(of type: String) -> Grants {
        type == UserRecord.type ? usersDefaults : defaults
    }

    package subscript(role: String) -> Permissions {
        get {
            switch role {
            case Self.worldRole: world
            case Self.signedInRole: signedIn
            case Self.creatorRole: creator
            default: custom[role] ?? []
            }
        }
        set {
            switch role {
            case Self.worldRole: world = newValue
            case Self.signedInRole: signedIn = newValue
            case Self.creatorRole: creator = newValue
            default: custom[role] = newValue.isEmpty ? nil : newValue
            }
        }
    }

    /// The roles that have a permission, in the order of their bytes.
    package var roles: [String] {
        (Self.builtInRoles.filter { !self[$0].isEmpty } + custom.keys).sorted { ByteOrder.compare($0, $1) < 0 }
    }

    package var isEmpty: Bool { world.isEmpty && signedIn.isEmpty && creator.isEmpty && custom.isEmpty }

    /// The permissions of a caller on a record of the type: the union over its roles. Allocates nothing.
    ///
    /// CloudKit: a caller who is not signed in can only read, whatever `_world` is granted.
    /// - Parameter asCreator: Whether the caller made the record; false for a record that does not exist yet.
    package func permissions(of roles: CallerRoles, asCreator: Bool) -> Permissions {
        if roles.mayAll { return [.read, .create, .write] }
        guard roles.isSignedIn else { return world.intersection(.read) }
        var all = world.union(signedIn)
        if asCreator { all.formUnion(creator) }
        if !custom.isEmpty { for role in roles.custom { all.formUnion(custom[role] ?? []) } }
        return all
    }
}

/// The JSON form: `{"Editor":["READ","WRITE"],"_world":["READ"]}`.
extension Grants: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        for (role, words) in try container.decode([String: [String]].self) {
            for word in words {
                // An unknown permission is an error: to skip it could change what the grants mean.
                guard let permission = Permissions(word: word) else {
                    throw DecodingError.dataCorruptedError(in: container, debugDescription: "unknown permission")
                }
                self[role].insert(permission)
            }
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Dictionary(uniqueKeysWithValues: roles.map { ($0, self[$0].words) }))
    }
}
