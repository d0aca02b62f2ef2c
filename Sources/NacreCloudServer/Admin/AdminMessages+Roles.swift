extension AdminMessages {
    /// `GET /admin/1/roles`
    package struct Roles: Codable, Hashable, Sendable {
        /// Those that the schema declares, in the order in which it came by them.
        package var roles: [String]
        package var holders: [RoleHolder]
        /// Where the next page of holders begins; absent: there is none. A page may be empty and not the last.
        package var next: String?

        package init(roles: [String], holders: [RoleHolder], next: String? = nil) {
            self.roles = roles
            self.holders = holders
            self.next = next
        }
    }

    package struct RoleHolder: Codable, Hashable, Sendable {
        /// The user record name; of a server-to-server key, its own.
        package var user: String
        package var roles: [String]
    }

    /// `POST /admin/1/roles/assign` and `/admin/1/roles/revoke`
    package struct NewRoleChange: Codable, Hashable, Sendable {
        package var container: String
        package var environment: String
        package var role: String
        /// An e-mail address or a user record name; nil with `key`.
        package var user: String?
        /// A server-to-server key's ID; nil with `user`.
        package var key: String?

        package init(container: String, environment: String, role: String, user: String?, key: String?) {
            self.container = container
            self.environment = environment
            self.role = role
            self.user = user
            self.key = key
        }
    }

    /// `POST /admin/1/roles/why`
    package struct NewPermissionQuestion: Codable, Hashable, Sendable {
        package var container: String
        package var environment: String
        /// An e-mail address or a user record name; nil, and no `key`: somebody without an account.
        package var user: String?
        /// A server-to-server key's ID.
        package var key: String?
        /// `READ`, `CREATE` or `WRITE`.
        package var operation: String
        /// Its name in the public database.
        package var record: String?
        /// Of a record to be made.
        package var recordType: String?

        package init(
            container: String, environment: String, user: String?, key: String?, operation: String, record: String?, recordType: String?
        ) {
            self.container = container
            self.environment = environment
            self.user = user
            self.key = key
            self.operation = operation
            self.record = record
            self.recordType = recordType
        }
    }

    package struct PermissionAnswer: Codable, Hashable, Sendable {
        package var isPermitted: Bool
        /// The user record name; absent: somebody without an account.
        package var user: String?
        /// A server-to-server key that no grant holds.
        package var isAdministrator: Bool
        package var recordType: String
        /// Who made the record; absent where none is there.
        package var creator: String?
        /// Those that who asks has here, `_creator` where the record is theirs.
        package var roles: [String]
        /// Those to which the type grants the operation.
        package var grantedTo: [String]
        /// The roles that it follows from; none where it is not permitted.
        package var because: [String]
    }
}
