extension AdminMessages {
    /// `POST /admin/1/zones/create`, `zones/purge` and `zones/resync`: a zone of a user's private database.
    package struct UserZone: Codable, Hashable, Sendable {
        package var container: String
        package var environment: String
        /// The owner of the zone: an e-mail address or a user record name.
        package var user: String
        package var zone: String

        package init(container: String, environment: String, user: String, zone: String) {
            (self.container, self.environment, self.user, self.zone) = (container, environment, user, zone)
        }
    }

    /// A zone that was made, purged or is fetched anew.
    package struct NamedZone: Codable, Hashable, Sendable {
        package var zone: String
        /// The owner's user record name.
        package var user: String
    }
    /// `POST /admin/1/users/resync`
    package struct NewUserResync: Codable, Hashable, Sendable {
        package var container: String
        package var environment: String
        /// An e-mail address or a user record name.
        package var user: String

        package init(container: String, environment: String, user: String) {
            (self.container, self.environment, self.user) = (container, environment, user)
        }
    }

    /// A user whose devices fetch anew.
    package struct UserResync: Codable, Hashable, Sendable {
        /// The user record name.
        package var user: String
        /// The number of zones that they fetch.
        package var zones: Int
    }
}
