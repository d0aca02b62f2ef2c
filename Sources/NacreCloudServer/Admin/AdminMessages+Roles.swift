extension AdminMessages {
    /// `GET /admin/1/roles`
    package struct Roles: Codable, Hashable, Sendable {
        /// Roles that the schema declares, in the order of their declaration.
        package var roles: [String]
        package var holders: [RoleHolder]
        /// The position of the next page of holders; absent on the last. A page before the last may be empty.
        package var next: String?

        package init(roles: [String], holders: [RoleHolder], next: String? = nil) {
            self.roles = roles
            self.holders = holders
            self.next = next
        }
    }

    package struct RoleHolder: Codable, Hashable, Sendable {
        /// The user record name; a server-to-server key has its own.
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
        /// An e-mail address or a user record name; nil without `key`: a caller without an account.
        package var user: String?
        /// A server-to-server key's ID.
        package var key: String?
        /// `READ`, `CREATE` or `WRITE`.
        package var operation: String
        /// The name of a record in the public database.
        package var record: String?
        /// The type of a record that is to be created.
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
        /// The user record name; absent: a caller without an account.
        package var user: String?
        /// true for a server-to-server key that grants do not restrict.
        package var isAdministrator: Bool
        package var recordType: String
        /// The record's creator; absent if there is no such record.
        package var creator: String?
        /// The caller's roles here, with `_creator` if the caller created the record.
        package var roles: [String]
        /// The roles to which the type grants the operation.
        package var grantedTo: [String]
        /// The caller's roles that permit the operation; empty if it is not permitted.
        package var because: [String]
    }
}
