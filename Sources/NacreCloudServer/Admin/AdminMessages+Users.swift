import NacreCloudAccounts
import NacreCloudContainer

extension AdminMessages {
    /// `POST /admin/1/users`
    package struct NewUser: Codable, Hashable, Sendable {
        package var email: String
        package var password: String
        package var givenName: String?
        package var familyName: String?

        package init(email: String, password: String, givenName: String? = nil, familyName: String? = nil) {
            self.email = email
            self.password = password
            self.givenName = givenName
            self.familyName = familyName
        }
    }

    /// `POST /admin/1/users/change-email`
    package struct NewEmail: Codable, Hashable, Sendable {
        /// The account's present address.
        package var email: String
        package var newEmail: String

        package init(email: String, newEmail: String) {
            self.email = email
            self.newEmail = newEmail
        }
    }

    /// `POST /admin/1/users/change-name`
    package struct NewNames: Codable, Hashable, Sendable {
        package var email: String
        /// nil removes the account's name.
        package var givenName: String?
        package var familyName: String?

        package init(email: String, givenName: String?, familyName: String?) {
            self.email = email
            self.givenName = givenName
            self.familyName = familyName
        }
    }

    package struct Names: Codable, Hashable, Sendable {
        package var id: String
        package var email: String
        package var givenName: String?
        package var familyName: String?
    }

    package struct User: Codable, Hashable, Sendable {
        package var id: String
        package var email: String
    }

    /// `GET /admin/1/users`
    package struct Users: Codable, Hashable, Sendable {
        package var users: [UserLine]
        /// The position of the next page; absent on the last. A page before the last may be empty.
        package var next: String?

        package init(users: [UserLine], next: String? = nil) {
            self.users = users
            self.next = next
        }
    }

    package struct UserLine: Codable, Hashable, Sendable {
        package var id: String
        package var email: String
        /// Time of creation, in milliseconds since 1970.
        package var created: Int64
        /// true: the account is deleted, and its data are being removed.
        package var isDeleted: Bool
    }

    /// `POST /admin/1/users/state`
    package struct NewUserState: Codable, Hashable, Sendable {
        package var email: String
        /// An element of `states`.
        package var state: String

        package static let states = AccountState.allCases.map(\.rawValue)

        package init(email: String, state: String) {
            self.email = email
            self.state = state
        }
    }

    package struct UserState: Codable, Hashable, Sendable {
        package var id: String
        package var email: String
        package var state: String
    }

    /// `GET /admin/1/users/show`
    package struct UserDetails: Codable, Hashable, Sendable {
        package var id: String
        package var email: String
        package var givenName: String?
        package var familyName: String?
        /// Time of creation, in milliseconds since 1970.
        package var created: Int64
        /// Whether the user has proved to read mail to the address.
        package var isEmailVerified: Bool
        /// A phone number at which the user has proved to read text messages.
        package var phone: String?
        /// The access to the account's data, a raw value of `AccountState`.
        package var state: String
        package var places: [UserPlace]
        package var sessions: Int
        package var devices: Int
    }

    /// A container and environment in which an account has a user record.
    package struct UserPlace: Codable, Hashable, Sendable {
        package var container: String
        package var environment: String
        package var userRecordName: String
    }

    /// `POST /admin/1/users/delete`
    package struct NewUserDeletion: Codable, Hashable, Sendable {
        package var email: String

        package init(email: String) {
            self.email = email
        }
    }

    /// `POST /admin/1/users/reset-password`
    package struct NewPasswordReset: Codable, Hashable, Sendable {
        package var email: String

        package init(email: String) {
            self.email = email
        }
    }

    package struct PasswordReset: Codable, Hashable, Sendable {
        package var code: String
        /// The URL of the page on which the user sets the password; the code is in it.
        package var url: String
        /// Time of expiry, in milliseconds since 1970.
        package var expires: Int64
    }

    /// `POST /admin/1/users/sign-in`
    package struct NewActing: Codable, Hashable, Sendable {
        package var email: String
        package var container: String
        /// `development`, which is also the default.
        package var environment: String?

        package init(email: String, container: String, environment: String? = nil) {
            (self.email, self.container, self.environment) = (email, container, environment)
        }
    }

    package struct Acting: Codable, Hashable, Sendable {
        /// An account token of the user for the container's development environment.
        package var token: String
        package var userRecordName: String
        /// The ID of the token in the user's list of devices, by which it is ended.
        package var id: String
        /// Time of expiry, in milliseconds since 1970.
        package var expires: Int64
    }

    /// `POST /admin/1/users/passkeys/remove`
    package struct NewPasskeyRemoval: Codable, Hashable, Sendable {
        package var email: String
        package var id: String

        package init(email: String, id: String) {
            self.email = email
            self.id = id
        }
    }

    /// `POST /admin/1/sessions/revoke`
    package struct NewSessionEnd: Codable, Hashable, Sendable {
        package var email: String
        /// The ID of one session or device; nil with `all`.
        package var id: String?
        package var all: Bool?

        package init(email: String, id: String?, all: Bool? = nil) {
            self.email = email
            self.id = id
            self.all = all
        }
    }
}
