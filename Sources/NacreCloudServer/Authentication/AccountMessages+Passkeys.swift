extension AccountMessages {
    /// `POST /account/1/passkeys/list`
    package struct PasskeysQuestion: Codable, Hashable, Sendable {
        package var email: String
        package var password: String
    }

    package struct Passkeys: Codable, Hashable, Sendable {
        /// Passkeys, the oldest first.
        package var passkeys: [Passkey]
    }

    package struct Passkey: Codable, Hashable, Sendable {
        package var id: String
        package var name: String
        /// Time of creation, in milliseconds since 1970.
        package var created: Int64
        /// Time of the last sign-in, in milliseconds since 1970; absent: never.
        package var used: Int64?
    }

    /// `POST /account/1/passkeys/remove`
    package struct PasskeyRemoval: Codable, Hashable, Sendable {
        package var email: String
        package var password: String
        package var id: String
    }
}
