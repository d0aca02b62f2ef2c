extension AdminMessages {
    /// `POST /admin/1/zones/create` and `POST /admin/1/zones/purge`: a zone of a user's private database.
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

    /// A zone that was made or purged.
    package struct NamedZone: Codable, Hashable, Sendable {
        package var zone: String
        /// The owner's user record name.
        package var user: String
    }
}
