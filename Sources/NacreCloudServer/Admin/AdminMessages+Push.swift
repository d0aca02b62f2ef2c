extension AdminMessages {
    /// The description of a key for Apple's push services, without the private key.
    package struct PushKey: Codable, Hashable, Sendable {
        /// The environment of Apple's service: development or production.
        package var environment: String
        package var keyID: String
        package var teamID: String
        package var topic: String
        /// Time of creation, in milliseconds since 1970.
        package var created: Int64
    }

    /// `GET /admin/1/push/apns`
    package struct PushKeys: Codable, Hashable, Sendable {
        package var keys: [PushKey]
    }

    /// `POST /admin/1/push/apns/set`
    package struct NewPushKey: Codable, Hashable, Sendable {
        package var container: String
        package var environment: String
        /// The text of the `.p8` file.
        package var key: String
        package var keyID: String
        package var teamID: String
        /// The app's bundle ID.
        package var topic: String

        package init(container: String, environment: String, key: String, keyID: String, teamID: String, topic: String) {
            (self.container, self.environment, self.key) = (container, environment, key)
            (self.keyID, self.teamID, self.topic) = (keyID, teamID, topic)
        }
    }

    /// `POST /admin/1/push/apns/remove`
    package struct NewPushKeyRemoval: Codable, Hashable, Sendable {
        package var container: String
        package var environment: String

        package init(container: String, environment: String) {
            (self.container, self.environment) = (container, environment)
        }
    }
}
