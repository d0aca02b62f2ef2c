/// Requests and answers of the account endpoints: JSON objects with these keys. The server and the command line share
/// them.
package enum AccountMessages {
    /// `POST /account/1/sign-up`
    package struct SignUp: Codable, Hashable, Sendable {
        package var email: String
        package var password: String
        package var givenName: String?
        package var familyName: String?
    }

    package struct SignedUp: Codable, Hashable, Sendable {
        package var email: String
    }

    /// `POST /account/1/sign-in`
    package struct SignIn: Codable, Hashable, Sendable {
        package enum Kind: String, Codable, Sendable, CaseIterable {
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
        /// nil means `web`.
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

    /// `POST /account/1/sessions/list`
    package struct SessionsQuestion: Codable, Hashable, Sendable {
        /// The e-mail address. Both it and the password are absent if the request has a token.
        package var email: String?
        package var password: String?
        /// The `next` of the previous page.
        package var after: String?
    }

    package struct Sessions: Codable, Hashable, Sendable {
        package var sessions: [Session]
        /// The position of the next page; absent on the last page. A page before the last may be empty.
        package var next: String?

        package init(sessions: [Session], next: String? = nil) {
            self.sessions = sessions
            self.next = next
        }
    }

    /// A session on the web, or a device.
    package struct Session: Codable, Hashable, Sendable {
        package var id: String
        /// `web` or `account`, as in a sign-in.
        package var kind: String
        package var containers: [String]
        package var environment: String
        /// The device's name; absent on the web.
        package var device: String?
        /// Time of the sign-in, in milliseconds since 1970.
        package var created: Int64
        /// true for the session of the request itself.
        package var isCurrent: Bool?
    }

    /// `POST /account/1/sessions/end`
    package struct SessionEnd: Codable, Hashable, Sendable {
        package var email: String?
        package var password: String?
        package var id: String
    }

    /// `POST /account/1/sessions/end-others`
    package struct OthersEnd: Codable, Hashable, Sendable {
        package var email: String?
        package var password: String?
    }

    package struct SessionsEnded: Codable, Hashable, Sendable {
        /// The number of sessions and devices that were ended.
        package var count: Int
    }

    /// `POST /account/1/usage`
    package struct UsageQuestion: Codable, Hashable, Sendable {
        package var email: String?
        package var password: String?
    }

    package struct AccountUsage: Codable, Hashable, Sendable {
        package var databases: [PlaceUsage]
    }

    /// The use of the account's private database in a container and environment.
    package struct PlaceUsage: Codable, Hashable, Sendable {
        package var container: String
        package var environment: String
        package var bytes: Int64
        /// The quota in bytes; absent: no limit but the server's disk.
        package var limit: Int64?
    }

    /// `POST /account/1/change-password`
    package struct PasswordChange: Codable, Hashable, Sendable {
        package var email: String
        package var password: String
        package var newPassword: String
        /// true: devices stay signed in.
        package var keepsDevices: Bool?
    }

    /// `POST /account/1/reset-password`
    package struct PasswordByCode: Codable, Hashable, Sendable {
        package var email: String
        package var code: String
        package var newPassword: String
    }

    /// `POST /account/1/change-email`
    package struct EmailChange: Codable, Hashable, Sendable {
        package var email: String
        package var password: String
        package var newEmail: String
    }

    package struct EmailChanged: Codable, Hashable, Sendable {
        package var email: String
    }

    /// `POST /account/1/verify-email`
    package struct AddressQuestion: Codable, Hashable, Sendable {
        package var email: String
        package var password: String
        /// true: the address gets a mail with a link, if it is not verified.
        package var sends: Bool?
    }

    package struct AddressState: Codable, Hashable, Sendable {
        package var email: String
        package var isVerified: Bool
        /// true: a mail is on its way.
        package var isSent: Bool
    }

    /// `POST /account/1/verify-phone`
    package struct PhoneQuestion: Codable, Hashable, Sendable {
        package var email: String
        package var password: String
        package var phone: String
        /// true: the number gets a message with a code, if it is not the account's.
        package var sends: Bool?
    }

    package struct PhoneState: Codable, Hashable, Sendable {
        /// The number in the form `+49301234567`.
        package var phone: String
        package var isVerified: Bool
        /// true: a message is on its way.
        package var isSent: Bool
    }

    /// `POST /account/1/confirm-phone`
    package struct PhoneCode: Codable, Hashable, Sendable {
        package var email: String
        package var password: String
        package var phone: String
        package var code: String
    }

    /// `POST /account/1/remove-phone`
    package struct PhoneRemoval: Codable, Hashable, Sendable {
        package var email: String
        package var password: String
    }

    package struct PhoneRemoved: Codable, Hashable, Sendable {
        package var email: String
    }

    /// `POST /account/1/change-name`
    package struct NameChange: Codable, Hashable, Sendable {
        package var email: String
        package var password: String
        /// nil removes the account's name.
        package var givenName: String?
        package var familyName: String?
    }

    package struct NameChanged: Codable, Hashable, Sendable {
        package var email: String
        package var givenName: String?
        package var familyName: String?
    }

    /// `POST /account/1/discoverability`
    package struct DiscoverabilityAnswer: Codable, Hashable, Sendable {
        package var email: String
        package var password: String
        package var container: String
        package var environment: String
        /// `GRANTED` or `DENIED`.
        package var userDiscoverability: String
    }

    package struct DiscoverabilityAnswered: Codable, Hashable, Sendable {
        package var userDiscoverability: String
    }

    /// `POST /account/1/delete`
    package struct Deletion: Codable, Hashable, Sendable {
        package var email: String
        package var password: String
    }

    package struct Deleted: Codable, Hashable, Sendable {
        /// The address of the deleted account.
        package var email: String
    }
}
