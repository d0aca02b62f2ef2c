import NacreCloudWire
import NacreLocks

/// The security roles of who asks, but for `_creator`, which depends on the record.
package struct CallerRoles: Hashable, Sendable {
    let isSignedIn: Bool
    /// Those of the schema's own roles that an administrator gave.
    let custom: Set<String>
    /// Who administrates the container: no grant holds them.
    let mayAll: Bool

    init(_ caller: Caller, custom: Set<String> = []) {
        isSignedIn = caller.userRecordName != nil
        self.custom = custom
        mayAll = caller.isAdministrator
    }
}

/// The roles of a schema's own that a user or a server-to-server key has, by their numbers: a role that is made again under its name is
/// another one, and nobody has it. CloudKit: the `roles` of a user's record.
package struct RoleAssignmentEntry: RegistryEntry {
    package static let kind = EntryKind.roleAssignment
    package var roles: [Int64]
}

/// Which roles users have in one version of a schema: each change of a user's roles makes another version, which everybody who reads it looks at. So a role
/// that is taken away is gone with the next request, on every server. No part of what a schema is.
package final class AssignmentMemory: Sendable, Hashable {
    private let users = Locked<[String: Set<String>]>([:])

    /// Users that are remembered; beyond it the memory starts afresh. On this server.
    private static let remembered = 20_000

    func roles(of user: String) -> Set<String>? { users.withLock { $0[user] } }

    func learn(_ roles: Set<String>, of user: String) {
        users.withLock { users in
            if users.count >= Self.remembered { users.removeAll() }
            users[user] = roles
        }
    }

    package static func == (left: AssignmentMemory, right: AssignmentMemory) -> Bool { true }
    package func hash(into hasher: inout Hasher) {}
}

extension RoleAssignmentEntry {
    /// As other entries are read, for less: each request of a user in a public database reads one.
    init(_ row: EntryRow) throws(StoreError) {
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
    /// What somebody may do with records of a type.
    func permissions(of roles: CallerRoles, on type: String, asCreator: Bool) -> Permissions {
        let grants = types[type]?.ownGrants ?? .defaults(of: type)
        return grants.permissions(of: roles, asCreator: asCreator)
    }

    /// In the order in which they were declared.
    var rolesInOrder: [String] { roles.sorted { $0.value < $1.value }.map(\.key) }

    /// A role that it does not have, under a number that none had.
    mutating func declare(role: String) {
        roles[role] = nextRole
        nextRole += 1
    }

    /// The schema's own roles that have these numbers.
    func roles(numbered numbers: [Int64]) -> Set<String> {
        Set(roles.lazy.filter { numbers.contains($0.value) }.map(\.key))
    }
}

extension KnownSchema {
    /// Where it stands which roles a caller has; nil where there are none to have.
    func assignmentKey(of caller: Caller) -> EntryKey? {
        guard !schema.roles.isEmpty, let user = caller.userRecordName else { return nil }
        return EntryKey(database, .roleAssignment, user)
    }

    /// - Parameter entries: what a transaction found, with `assignmentKey` among what it looked for.
    func roles(of caller: Caller, by entries: [EntryRow]) throws -> CallerRoles {
        guard let key = assignmentKey(of: caller), let row = entries.first(where: { $0.key == key }) else { return CallerRoles(caller) }
        return CallerRoles(caller, custom: schema.roles(numbered: try RoleAssignmentEntry(row).roles))
    }

    /// Costs no call of the store where they were read on a snapshot with this very version of the schema.
    func roles(of caller: Caller, _ transaction: any ReadTransaction) throws -> CallerRoles {
        guard let key = assignmentKey(of: caller) else { return CallerRoles(caller) }
        if let known = schema.assignments.roles(of: key.key) { return CallerRoles(caller, custom: known) }
        let found = try roles(of: caller, by: transaction.entries(in: key.database, key.kind, keys: [key.key]))
        schema.assignments.learn(found.custom, of: key.key)
        return found
    }
}
