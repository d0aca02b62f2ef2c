extension AdminMessages {
    /// `POST /admin/1/shares/list`
    package struct NewShareList: Codable, Hashable, Sendable {
        package var container: String
        package var environment: String
        /// The owner of the shares: an e-mail address or a user record name.
        package var user: String

        package init(container: String, environment: String, user: String) {
            (self.container, self.environment, self.user) = (container, environment, user)
        }
    }

    package struct Shares: Codable, Hashable, Sendable {
        package var shares: [ShareLine]
    }

    package struct ShareLine: Codable, Hashable, Sendable {
        package var zone: String
        /// The name of the share's record.
        package var share: String
        /// The root of the shared hierarchy; nil: the whole zone is shared.
        package var root: String?
        /// NONE, READ_ONLY or READ_WRITE.
        package var publicPermission: String
        /// The number of participants, including the owner.
        package var participants: Int
    }

    /// `POST /admin/1/shares/create`
    package struct NewShare: Codable, Hashable, Sendable {
        package var container: String
        package var environment: String
        /// The owner: an e-mail address or a user record name.
        package var user: String
        package var zone: String
        /// The root of the shared hierarchy; nil: the whole zone is shared.
        package var record: String?
        package var title: String?
        /// NONE, READ_ONLY or READ_WRITE; nil: NONE.
        package var publicPermission: String?
        /// E-mail addresses, phone numbers that begin with a plus, or user record names; nil: nobody is invited.
        package var participants: [String]?
        /// The permission of each participant, READ_ONLY or READ_WRITE; nil: READ_ONLY.
        package var permission: String?

        package init(container: String, environment: String, user: String, zone: String, record: String?) {
            (self.container, self.environment, self.user, self.zone, self.record) = (container, environment, user, zone, record)
        }
    }

    /// A share that was made.
    package struct CreatedShare: Codable, Hashable, Sendable {
        package var zone: String
        /// The name of the share's record.
        package var share: String
        /// The root of the shared hierarchy; nil: the whole zone is shared.
        package var root: String?
        /// The URL by which participants accept.
        package var url: String
        /// NONE, READ_ONLY or READ_WRITE.
        package var publicPermission: String
        /// The number of participants, including the owner.
        package var participants: Int
    }

    /// `POST /admin/1/shares/manage`
    package struct NewShareLink: Codable, Hashable, Sendable {
        package var container: String
        package var environment: String
        /// The owner: an e-mail address, or in production a user record name.
        package var user: String
        package var zone: String
        /// The record that is shared or is to be, or the share's own record; nil: the whole zone.
        package var record: String?

        package init(container: String, environment: String, user: String, zone: String, record: String?) {
            (self.container, self.environment, self.user, self.zone, self.record) = (container, environment, user, zone, record)
        }
    }

    /// A link to the page of a share.
    package struct ShareLink: Codable, Hashable, Sendable {
        package var url: String
        /// Whether the owner has to sign in on the page; otherwise it opens once.
        package var signsIn: Bool
        /// When the link ends, in milliseconds since 1970.
        package var expires: Int64
    }

    /// `POST /admin/1/shares/who`
    package struct NewShareQuestion: Codable, Hashable, Sendable {
        package var container: String
        package var environment: String
        /// The owner of the zone: an e-mail address or a user record name.
        package var user: String
        package var zone: String
        package var record: String

        package init(container: String, environment: String, user: String, zone: String, record: String) {
            (self.container, self.environment, self.user, self.zone, self.record) = (container, environment, user, zone, record)
        }
    }

    package struct ShareAnswer: Codable, Hashable, Sendable {
        /// The name of the share's record; nil: only the owner sees the record.
        package var share: String?
        package var root: String?
        /// Record names from the record to the root.
        package var path: [String]
        /// Users with access, the owner first.
        package var people: [SharePerson]
    }

    package struct SharePerson: Codable, Hashable, Sendable {
        package var user: String?
        /// The address that was invited.
        package var invited: String?
        /// OWNER, ADMINISTRATOR, USER or PUBLIC_USER.
        package var role: String
        package var mayRead: Bool
        package var mayWrite: Bool
        package var because: String
    }
}
