import FoundationEssentials
package import NacreCloudStorage
package import NacreCloudWire

/// A mail or a text message to be sent: its subject and its receiver. Its text is made when it is sent.
package struct Letter: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Sendable {
        /// A link with which a user who forgot the password sets another one.
        case newPassword
        /// A link with which a user verifies that mail to the account's address is read.
        case verifyAddress
        /// A notice to the account's former address.
        case addressChanged
        /// A notice of a device, or of a session that is kept.
        case newSignIn
        /// A notice of a new passkey.
        case newPasskey
        /// A notice of a changed password.
        case passwordChanged
        /// A text message with a code with which a user verifies a phone number.
        case phoneCode

        /// Seconds after which the letter is not sent any more.
        package var seconds: Double {
            switch self {
            case .newPassword: Limits.passwordLinkSeconds
            case .verifyAddress: Limits.addressLinkSeconds
            case .addressChanged, .newSignIn, .newPasskey, .passwordChanged: Limits.noticeSeconds
            case .phoneCode: Limits.phoneCodeSeconds
            }
        }
    }

    package var kind: Kind
    /// An e-mail address, or the phone number of a text message.
    package var address: String
    /// The ID of the account that it is for; nil: the account that has the address.
    package var account: String?
    /// When it was posted, in seconds since 2001.
    package var issued: Double

    package init(_ kind: Kind, to address: String, of account: String? = nil, at now: Timestamp) {
        (self.kind, self.address, self.account, issued) = (kind, address, account, now.secondsSince2001)
    }

    package var expires: Timestamp { Timestamp(secondsSince2001: issued + kind.seconds) }

    /// Whether the letter is still useful: its link may be used by now, or its account gone.
    /// - Parameter account: The account that the letter is for; nil: it is gone.
    package func isWanted(by account: AccountEntry?) -> Bool {
        switch kind {
        case .newPassword: account != nil
        case .verifyAddress: account.map { !$0.isEmailVerified } ?? false
        case .addressChanged: true
        case .newSignIn, .newPasskey, .passwordChanged: account != nil
        case .phoneCode: account?.phoneCode.map { $0.number == address && $0.expires == expires.secondsSince2001 } ?? false
        }
    }

    /// Whether mail is sent to an address. Only addresses that every server reads alike are, not all of RFC 5321.
    package static func isMailable(_ address: String) -> Bool {
        let parts = address.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty && !$0.hasPrefix("-") }),
            parts[0].utf8.count <= 64
        else { return false }
        func isPlain(_ byte: UInt8, _ more: String) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: more.utf8.contains(byte)
            }
        }
        return parts[0].utf8.allSatisfy { isPlain($0, ".!#$%&'*+/=?^_`{|}~-") }
            && parts[1].utf8.allSatisfy { isPlain($0, ".-") }
    }
}

/// A sender of letters.
package protocol Mailing: Sendable {
    /// Sends a letter, and returns once another server has taken it.
    /// - Parameter account: The account that the letter is for; nil: it is gone.
    func send(_ letter: Letter, for account: AccountEntry?) async throws
}

extension Registry {
    /// Leaves a letter in the outbox, whether or not the address has an account: that is looked up only when it is
    /// sent. A waiting letter of the same kind to the same address is replaced.
    /// - Throws: `ServerError.tooManyLetters`.
    package func post(_ letter: Letter) async throws {
        try await requireRoomForLetter()
        try await write(.mail) { database, now, transaction in
            try transaction.apply(
                WritePlan(putting: SendLetter.task(letter, in: database, due: now)))
            return .commit(())
        }
    }
}

extension Registry {
    /// Checks that fewer than `Limits.lettersWaiting` letters wait.
    /// - Throws: `ServerError.tooManyLetters`.
    func requireRoomForLetter() async throws {
        let soon = clock() + Limits.noticeSeconds
        let waiting = try await stored {
            try await self.store.read {
                try $0.tasks(of: [.sendLetter], dueThrough: soon, limit: Limits.lettersWaiting)
            }
        }
        guard waiting.count < Limits.lettersWaiting else { throw ServerError.tooManyLetters }
    }
}

/// The task that sends a letter. It is repeated after growing pauses until the letter expires.
package struct SendLetter: Sendable {
    package let letter: Letter
    package let payload: [UInt8]

    package static func task(_ letter: Letter, in database: DatabaseID, due: Timestamp) throws -> TaskRow {
        // A number stands for the address, because logs name tasks and must not name addresses.
        let number = DatabaseID(Registry.Part.email(letter.address).key, salt: 0).rawValue
        return TaskRow(
            key: TaskKey(database, .sendLetter, "\(letter.kind.rawValue) \(number)"),
            payload: [UInt8](try JSONEncoder().encode(letter)), due: due)
    }

    /// Returns the task of a notice to an account's address; none if the address is not verified.
    package static func notice(_ kind: Letter.Kind, to account: AccountEntry, in database: DatabaseID, at now: Timestamp) throws -> [TaskRow] {
        guard account.isEmailVerified else { return [] }
        return [try task(Letter(kind, to: account.email, of: account.id, at: now), in: database, due: now)]
    }

    package init(_ task: TaskRow) throws {
        guard let letter = try? JSONDecoder().decode(Letter.self, from: Data(task.payload)) else {
            throw task.malformed
        }
        (self.letter, payload) = (letter, task.payload)
    }
}

extension ServerError {
    package static let tooManyLetters = ServerError(
        .tryAgainLater, "too many mails and texts wait to be sent", retryAfter: 60)
}
