/// `POST users/discover`.
package struct UsersDiscoverRequest: Equatable, Sendable {
    package var lookupInfos: [UserLookupInfo]
    package var `extension`: RequestExtension

    package init(lookupInfos: [UserLookupInfo], extension: RequestExtension = RequestExtension()) {
        self.lookupInfos = lookupInfos
        self.extension = `extension`
    }
}

/// The answer to `users/discover`: the users found, in the order of the request. Others are left out.
package struct UsersDiscoverResponse: Equatable, Sendable {
    package var users: [UserIdentity]

    package init(users: [UserIdentity]) {
        self.users = users
    }
}

/// `POST users/lookup/email` and `POST users/lookup/id`, older forms of `users/discover`.
package struct UsersLookupRequest: Equatable, Sendable {
    /// A user to look up. Members that the endpoint does not use are ignored, so that answers may be sent back.
    package struct Item: Equatable, Sendable {
        package var emailAddress: String?
        package var userRecordName: String?

        package init(emailAddress: String? = nil, userRecordName: String? = nil) {
            self.emailAddress = emailAddress
            self.userRecordName = userRecordName
        }
    }

    package var users: [Item]
    package var `extension`: RequestExtension

    package init(users: [Item], extension: RequestExtension = RequestExtension()) {
        self.users = users
        self.extension = `extension`
    }
}

/// A user's answer to the question whether others of a container may find them. CloudKit:
/// `CKContainer.ApplicationPermissionStatus`.
package enum Discoverability: String, Hashable, Sendable, CaseIterable {
    /// The user was not asked yet.
    case initialState = "INITIAL_STATE"
    case denied = "DENIED"
    case granted = "GRANTED"
}

/// `POST users/permission`, an endpoint of ours.
package struct UsersPermissionRequest: Equatable, Sendable {
    package var userDiscoverability: Discoverability
    package var `extension`: RequestExtension

    package init(userDiscoverability: Discoverability, extension: RequestExtension = RequestExtension()) {
        self.userDiscoverability = userDiscoverability
        self.extension = `extension`
    }
}

/// The answer to `users/permission`: the current value.
package struct UsersPermissionResponse: Equatable, Sendable {
    package var userDiscoverability: Discoverability

    package init(userDiscoverability: Discoverability) {
        self.userDiscoverability = userDiscoverability
    }
}

/// The answer to `GET users/contact-key`, an endpoint of ours: the key with which the container's clients hash e-mail
/// addresses.
package struct UsersContactKeyResponse: Equatable, Sendable {
    package var contactKey: [UInt8]

    package init(contactKey: [UInt8]) {
        self.contactKey = contactKey
    }
}

/// `POST users/web-auth-token`, an endpoint of ours.
package struct WebAuthTokenRequest: Equatable, Sendable {
    /// The API token with which the web auth token is to be valid.
    package var apiToken: String
    package var `extension`: RequestExtension

    package init(apiToken: String, extension: RequestExtension = RequestExtension()) {
        self.apiToken = apiToken
        self.extension = `extension`
    }
}

/// The answer to `users/web-auth-token`.
package struct WebAuthTokenResponse: Equatable, Sendable {
    package var webAuthToken: String

    package init(webAuthToken: String) {
        self.webAuthToken = webAuthToken
    }
}

/// The bytes to hash for an e-mail address or a phone number, the same for clients and the server.
package enum HashedAddress {
    /// Returns the message for HMAC-SHA256 under the container's contact key. The code in lowercase hexadecimal
    /// digits is `contactHash`.
    package static func message(emailAddress: String) -> [UInt8] {
        Array("email:\(emailAddress.lowercased())".utf8)
    }

    /// Returns the same for a phone number.
    /// - Parameter phoneNumber: As `PhoneNumber.normalised` writes it.
    package static func message(phoneNumber: String) -> [UInt8] {
        Array("phone:\(phoneNumber)".utf8)
    }

    /// Returns a hash in hexadecimal digits.
    package static func text(of code: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: code.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Returns whether a text has the form of `contactHash`.
    package static func isHash(_ text: String) -> Bool {
        text.utf8.count == 64 && text.utf8.allSatisfy { Names.isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
    }
}
