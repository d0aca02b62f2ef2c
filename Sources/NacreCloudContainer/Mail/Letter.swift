import FoundationEssentials
package import NacreCloudWire

/// A mail or a text message that is to be sent: what it is about, and to whom. Its text is made when it is sent.
package struct Letter: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Sendable {
        /// A link by which who has forgotten the password sets another one.
        case newPassword
        /// A link by which who has an account shows that mail to its address is read.
        case verifyAddress
        /// To the address that the account has had.
        case addressChanged
        /// The notice of a device, or of a session that is kept.
        case newSignIn
        /// The notice of a passkey.
        case newPasskey
        /// The notice of another password.
        case passwordChanged
        /// A text message with the code by which who has an account shows that they read texts to a number.
        case phoneCode

        /// After which it is not sent any more.
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
    /// An e-mail address; of a text message a phone number.
    package var address: String
    /// Whose it is; nil: of the account that has the address.
    package var account: String?
    /// Seconds since 2001: when it was asked for.
    package var issued: Double

    package init(_ kind: Kind, to address: String, of account: String? = nil, at now: Timestamp) {
        (self.kind, self.address, self.account, issued) = (kind, address, account, now.secondsSince2001)
    }

    package var expires: Timestamp { Timestamp(secondsSince2001: issued + kind.seconds) }

    /// Whether it still says something: what a link is about may be gone or done by now.
    /// - Parameter account: whose it is.
    func isWanted(by account: AccountEntry?) -> Bool {
        switch kind {
        case .newPassword: account != nil
        case .verifyAddress: account.map { !$0.isEmailVerified } ?? false
        case .addressChanged: true
        case .newSignIn, .newPasskey, .passwordChanged: account != nil
        case .phoneCode: account?.phoneCode.map { $0.number == address && $0.expires == expires.secondsSince2001 } ?? false
        }
    }

    /// Whether mail is sent to an address at all: to those that no server reads in two ways, which is less than RFC 5321 allows.
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

/// Sends letters.
package protocol Mailing: Sendable {
    /// Returns once another server has taken the letter.
    /// - Parameter account: that has the address; nil: it has none any more.
    func send(_ letter: Letter, for account: AccountEntry?) async throws
}

extension Registry {
    /// Leaves a letter in the outbox, whether the address has an account or not: that is looked for when the letter is sent, and nobody waits for it.
    /// A letter of the same kind to the same address that waits is this one.
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

/// The task that sends a letter. One that cannot be sent is tried again after growing pauses, until it is too old.
struct SendLetter: TaskHandler {
    private let letter: Letter
    let payload: [UInt8]

    static func task(_ letter: Letter, in database: DatabaseID, due: Timestamp) throws -> TaskRow {
        // A number of the address in its place: the log names tasks, and no addresses.
        let number = DatabaseID(Registry.Part.email(letter.address).key, salt: 0).rawValue
        return TaskRow(
            key: TaskKey(database, .sendLetter, "\(letter.kind.rawValue) \(number)"),
            payload: [UInt8](try JSONEncoder().encode(letter)), due: due)
    }

    /// The notice of a new way into an account, to its address; none where nobody has verified that it is its user's.
    static func notice(_ kind: Letter.Kind, to account: AccountEntry, in database: DatabaseID, at now: Timestamp) throws -> [TaskRow] {
        guard account.isEmailVerified else { return [] }
        return [try task(Letter(kind, to: account.email, of: account.id, at: now), in: database, due: now)]
    }

    init(_ task: TaskRow) throws {
        guard let letter = try? JSONDecoder().decode(Letter.self, from: Data(task.payload)) else {
            throw task.malformed
        }
        (self.letter, payload) = (letter, task.payload)
    }

    func chunk(_ turn: TaskTurn) async throws -> Bool {
        let cloud = turn.cloud
        let isText = letter.kind == .phoneCode
        if let courier = isText ? cloud.texts : cloud.mail, cloud.clock() < letter.expires, isText || Letter.isMailable(letter.address) {
            let registry = cloud.registry
            let account =
                if let id = letter.account { try await registry.account(id: id) } else { try await registry.account(email: letter.address) }
            if letter.isWanted(by: account) { try await courier.send(letter, for: account) }
        }
        try await cloud.store.write { transaction in
            try turn.requireLease(transaction)
            try transaction.apply(WritePlan(finishing: turn.key))
            return .commit(())
        }
        return false
    }

    static func remade(_ row: TaskRow, at now: Timestamp, zone: (ZoneAddress) throws -> ZoneRow?)
        throws -> TaskRow?
    { nil }
}

extension ServerError {
    package static let tooManyLetters = ServerError(
        .tryAgainLater, "too many mails and texts wait to be sent", retryAfter: 60)
}
