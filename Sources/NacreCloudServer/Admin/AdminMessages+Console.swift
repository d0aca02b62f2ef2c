import NacreCloudAccounts

extension AdminMessages {
    /// Roles of the console, the least first.
    package static let consoleRoles = ConsoleRole.allCases.map(\.rawValue)

    /// `POST /admin/1/console/links`
    package struct NewConsoleLink: Codable, Hashable, Sendable {
        /// A raw value of `ConsoleRole`; nil: owner.
        package var role: String?
        /// The name of the session in the audit log; nil: none.
        package var name: String?

        package init(role: String?, name: String?) {
            (self.role, self.name) = (role, name)
        }
    }

    /// A link that opens the console once.
    package struct ConsoleLink: Codable, Hashable, Sendable {
        /// The path of the console's page, with the token in its fragment.
        package var path: String
        /// The URL that the path follows; nil: the one at which the link was asked for.
        package var consoleURL: String?
        package var role: String
        /// The time at which the link ends, in milliseconds since 1970.
        package var expires: Int64
    }

    /// `POST /admin/1/console/sign-in`: one of the three.
    package struct NewConsoleSession: Codable, Hashable, Sendable {
        /// The token of a link: the text after `#signin=`.
        package var token: String?
        /// The answer of a member's passkey.
        package var passkey: ConsolePasskey?
        /// The passkey that a member has made by an invitation.
        package var invitation: ConsoleInvitation?
    }

    /// `GET /admin/1/console/session`
    package struct ConsoleSession: Codable, Hashable, Sendable {
        /// The session in the audit log.
        package var id: String
        package var name: String
        package var role: String
        /// The endpoints that the session's role may ask, each a method and a path, such as `GET /admin/1/server`: what
        /// the page shows a person.
        package var actions: [String]
        /// The time at which the session ends if it is not used again, in milliseconds since 1970.
        package var expires: Int64
        /// The key of the session, which the page sends in `X-Nacre-Console`; in the answer to a sign-in alone.
        package var key: String?
    }

    /// `POST /admin/1/console/sign-out` and `POST /admin/1/console/sign-out-all`
    package struct ConsoleSignOut: Codable, Hashable, Sendable {
        package init() {}
    }

    package struct ConsolesSignedOut: Codable, Hashable, Sendable {
        /// The number of sessions that ended.
        package var count: Int
    }
}
