/// `POST users/discover`.
package struct UsersDiscoverRequest: Equatable, Sendable {
    package var lookupInfos: [UserLookupInfo]
    package var `extension`: RequestExtension

    package init(lookupInfos: [UserLookupInfo], extension: RequestExtension = RequestExtension()) {
        self.lookupInfos = lookupInfos
        self.extension = `extension`
    }
}

/// The answer to `users/discover`: those who were found, in the order in which they were asked for. Of all others it says nothing.
package struct UsersDiscoverResponse: Equatable, Sendable {
    package var users: [UserIdentity]

    package init(users: [UserIdentity]) {
        self.users = users
    }
}

/// `POST users/lookup/email` and `POST users/lookup/id`, older forms of `users/discover`.
package struct UsersLookupRequest: Equatable, Sendable {
    /// What the endpoint is not about is ignored: what it answered may be sent back.
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

/// What a user has answered to the question whether others of a container may find them. CloudKit: `CKContainer.ApplicationPermissionStatus`.
package enum Discoverability: String, Hashable, Sendable, CaseIterable {
    /// Nobody has asked yet.
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

/// The answer to `users/permission`: what holds now.
package struct UsersPermissionResponse: Equatable, Sendable {
    package var userDiscoverability: Discoverability

    package init(userDiscoverability: Discoverability) {
        self.userDiscoverability = userDiscoverability
    }
}

/// The answer to `GET users/contact-key`, an endpoint of ours: under which key the container's clients hash e-mail addresses.
package struct UsersContactKeyResponse: Equatable, Sendable {
    package var contactKey: [UInt8]

    package init(contactKey: [UInt8]) {
        self.contactKey = contactKey
    }
}

/// `POST users/web-auth-token`, an endpoint of ours.
package struct WebAuthTokenRequest: Equatable, Sendable {
    /// Beside which the web auth token is to be good.
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

/// What is hashed of an e-mail address or a phone number, so that clients and the server hash the same.
package enum HashedAddress {
    /// To be hashed by HMAC-SHA256 under the container's contact key; the code in hexadecimal digits of lower case is `contactHash`.
    package static func message(emailAddress: String) -> [UInt8] {
        Array("email:\(emailAddress.lowercased())".utf8)
    }

    /// The same of a phone number.
    /// - Parameter phoneNumber: as `PhoneNumber.normalised` writes it.
    package static func message(phoneNumber: String) -> [UInt8] {
        Array("phone:\(phoneNumber)".utf8)
    }

    /// A hash as text.
    package static func text(of code: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: code.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Whether a text is one that `contactHash` may hold.
    package static func isHash(_ text: String) -> Bool {
        text.utf8.count == 64 && text.utf8.allSatisfy { Names.isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
    }
}
