package import NacreCloudAccounts
package import NacreCloudStorage
import NacreCloudWire
import NacreLocks

/// The security roles of a caller, except `_creator`, which depends on the record.
package struct CallerRoles: Hashable, Sendable {
    package let isSignedIn: Bool
    /// The schema's own roles that an administrator assigned.
    package let custom: Set<String>
    /// Whether the caller administrates the container, and no grant binds it.
    let mayAll: Bool

    package init(_ caller: Caller, custom: Set<String> = []) {
        isSignedIn = caller.userRecordName != nil
        self.custom = custom
        mayAll = caller.isAdministrator
    }
}

/// The schema's own roles of a user or a server-to-server key, by number. A role that is declared again under its old
/// name has a new number and no users. CloudKit: the `roles` of a user's record.
package struct RoleAssignmentEntry: RegistryEntry {
    package static let kind = EntryKind.roleAssignment
    package var roles: [Int64]
}

/// The roles of users under one version of a schema. Each change of roles makes a new version, which every reader
/// checks. A revoked role is therefore gone with the next request, on every server. All memories compare equal, because
/// they are no part of a schema.
package final class AssignmentMemory: Sendable, Hashable {
    private let users = Locked<[String: Set<String>]>([:])

    /// Users remembered; when there are more, all are forgotten. On this server.
    private static let remembered = 20_000

    package func roles(of user: String) -> Set<String>? { users.withLock { $0[user] } }

    package func learn(_ roles: Set<String>, of user: String) {
        users.withLock { users in
            if users.count >= Self.remembered { users.removeAll() }
            users[user] = roles
        }
    }

    package static func == (left: AssignmentMemory, right: AssignmentMemory) -> Bool { true }
    package func hash(into hasher: inout Hasher) {}
}

extension RoleAssignmentEntry {
    /// Decodes faster than other entries: each request of a user in a public database reads one.
    package init(_ row: EntryRow) throws(StoreError) {
        do {
            self.init(roles: try row.value.withUnsafeBytes { bytes throws(JSONError) in try Self.roles(bytes) })
        } catch {
            throw StoreError(.corrupt, "A registry entry is malformed", ["kind": String(row.key.kind.rawValue)])
        }
    }

    private static func roles(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> [Int64] {
        var reader = JSONReader(bytes)
        var roles: [Int64]?
        _ = try reader.beginObject()
        while let key = try reader.nextKey() {
            if key.matches("roles") {
                roles = try reader.array { reader throws(JSONError) in try reader.int64() }
            } else {
                try reader.skip()
            }
        }
        try reader.finish()
        guard let roles else { throw JSONError(.missingKey, at: 0, missingKey: "roles") }
        return roles
    }
}

extension Schema {
    /// The permissions of a caller on records of a type.
    package func permissions(of roles: CallerRoles, on type: String, asCreator: Bool) -> Permissions {
        let grants = types[type]?.ownGrants ?? .defaults(of: type)
        return grants.permissions(of: roles, asCreator: asCreator)
    }

    /// The schema's roles, in the order of their declaration.
    var rolesInOrder: [String] { roles.sorted { $0.value < $1.value }.map(\.key) }

    /// Declares a role that the schema does not have, under a number that was never used.
    mutating func declare(role: String) {
        roles[role] = nextRole
        nextRole += 1
    }

    /// The schema's own roles that have these numbers.
    package func roles(numbered numbers: [Int64]) -> Set<String> {
        Set(roles.lazy.filter { numbers.contains($0.value) }.map(\.key))
    }
}

extension KnownSchema {
    /// The key of the entry with a caller's roles; nil if the schema declares no roles or the caller has no user.
    func assignmentKey(of caller: Caller) -> EntryKey? {
        guard !schema.roles.isEmpty, let user = caller.userRecordName else { return nil }
        return EntryKey(database, .roleAssignment, user)
    }

    /// The roles of a caller, from entries that a transaction has read.
    /// - Parameter entries: The result of a read that included `assignmentKey`.
    package func roles(of caller: Caller, by entries: [EntryRow]) throws -> CallerRoles {
        guard let key = assignmentKey(of: caller), let row = entries.first(where: { $0.key == key }) else { return CallerRoles(caller) }
        return CallerRoles(caller, custom: schema.roles(numbered: try RoleAssignmentEntry(row).roles))
    }

    /// The roles of a caller. Costs no call of the store if they were read before under this version of the schema.
    package func roles(of caller: Caller, _ transaction: any ReadTransaction) throws -> CallerRoles {
        guard let key = assignmentKey(of: caller) else { return CallerRoles(caller) }
        if let known = schema.assignments.roles(of: key.key) { return CallerRoles(caller, custom: known) }
        let found = try roles(of: caller, by: transaction.entries(in: key.database, key.kind, keys: [key.key]))
        schema.assignments.learn(found.custom, of: key.key)
        return found
    }
}
