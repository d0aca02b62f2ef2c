/// `POST keys/append`, an endpoint of this server's own: adds a statement to the caller's log of keys, and keeps the
/// keys that are sealed for it. All parts are forms of docs/encryption.md.
package struct KeysAppendRequest: Equatable, Sendable {
    package var statement: [UInt8]
    /// The account key, sealed for devices and the recovery key.
    package var wraps: [[UInt8]]
    /// The account key of the generation before, sealed under the next one.
    package var olderKey: [UInt8]?
    package var `extension`: RequestExtension

    package init(
        statement: [UInt8], wraps: [[UInt8]] = [], olderKey: [UInt8]? = nil, extension: RequestExtension = RequestExtension()
    ) {
        self.statement = statement
        self.wraps = wraps
        self.olderKey = olderKey
        self.extension = `extension`
    }
}

/// The answer to `keys/append`.
package struct KeysAppendResponse: Equatable, Sendable {
    /// The statement's place among those of all logs of the account, from 0.
    package var place: Int

    package init(place: Int) {
        self.place = place
    }
}

/// `POST keys/log`, an endpoint of this server's own: asks for the statements of an account's logs.
package struct KeysLogRequest: Equatable, Sendable {
    /// The name of the user's record; nil: the caller's.
    package var user: String?
    /// The place of the last statement that the client has; nil: none.
    package var after: Int?
    package var `extension`: RequestExtension

    package init(user: String? = nil, after: Int? = nil, extension: RequestExtension = RequestExtension()) {
        self.user = user
        self.after = after
        self.extension = `extension`
    }
}

/// The answer to `keys/log`.
package struct KeysLogResponse: Equatable, Sendable {
    package var statements: [[UInt8]]
    package var moreComing: Bool
    /// The caller's account key, sealed for devices and the recovery key. Like the older keys, it comes with the last
    /// page of the caller's own log; nil: this is none.
    package var wraps: [[UInt8]]?
    /// The account keys of earlier generations, the oldest first, each sealed under the next one.
    package var olderKeys: [[UInt8]]?

    package init(statements: [[UInt8]], moreComing: Bool = false, wraps: [[UInt8]]? = nil, olderKeys: [[UInt8]]? = nil) {
        self.statements = statements
        self.moreComing = moreComing
        self.wraps = wraps
        self.olderKeys = olderKeys
    }
}
