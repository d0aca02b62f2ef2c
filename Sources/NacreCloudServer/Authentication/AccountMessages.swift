/// What sign-up, sign-in and sign-out take and give: JSON objects with these keys. Server and command line share them.
package enum AccountMessages {
    /// `POST /account/1/sign-up`
    package struct SignUp: Codable, Hashable, Sendable {
        package var email: String
        package var password: String
    }

    package struct SignedUp: Codable, Hashable, Sendable {
        package var email: String
    }

    /// `POST /account/1/sign-in`
    package struct SignIn: Codable, Hashable, Sendable {
        package enum Kind: String, Codable, Sendable {
            /// A web auth token, for `ckWebAuthToken`.
            case web
            /// An account token, for the framework.
            case account
        }

        package var email: String
        package var password: String
        package var apiToken: String
        package var container: String
        package var environment: String
        /// nil: `web`.
        package var kind: Kind?
        /// For an account token: the device that will hold it.
        package var device: String?
        /// For a web auth token: whether it lives two weeks.
        package var keepSignedIn: Bool?

        package init(
            email: String, password: String, apiToken: String, container: String, environment: String, kind: Kind, device: String? = nil,
            keepSignedIn: Bool? = nil
        ) {
            self.email = email
            self.password = password
            self.apiToken = apiToken
            self.container = container
            self.environment = environment
            self.kind = kind
            self.device = device
            self.keepSignedIn = keepSignedIn
        }
    }

    package struct SignedIn: Codable, Hashable, Sendable {
        package var token: String
        package var userRecordName: String
    }

    /// `POST /account/1/sign-out`
    package struct SignedOut: Codable, Hashable, Sendable {}
}
