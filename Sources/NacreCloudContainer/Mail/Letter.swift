import FoundationEssentials
package import NacreCloudWire

/// A mail that is to be sent: what it is about, and to whom. Its text is made when it is sent.
package struct Letter: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Sendable {
        /// A link by which who has forgotten the password sets another one.
        case newPassword
        /// A link by which who has an account shows that mail to its address is read.
        case verifyAddress
        /// To the address that the account has had.
        case addressChanged

        /// After which it is not sent any more.
        package var seconds: Double {
            switch self {
            case .newPassword: Limits.passwordLinkSeconds
            case .verifyAddress: Limits.addressLinkSeconds
            case .addressChanged: Limits.noticeSeconds
            }
        }
    }

    package var kind: Kind
    package var address: String
    /// Seconds since 2001: when it was asked for.
    package var issued: Double

    package init(_ kind: Kind, to address: String, at now: Timestamp) {
        (self.kind, self.address, issued) = (kind, address, now.secondsSince2001)
    }

    package var expires: Timestamp { Timestamp(secondsSince2001: issued + kind.seconds) }

    /// Whether it still says something: what a link is about may be gone or done by now.
    /// - Parameter account: that has the address.
    func isWanted(by account: AccountEntry?) -> Bool {
        switch kind {
        case .newPassword: account != nil
        case .verifyAddress: account.map { !$0.isEmailVerified } ?? false
        case .addressChanged: true
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
        let soon = clock() + Limits.noticeSeconds
        let waiting = try await stored {
            try await self.store.read {
                try $0.tasks(of: [.sendLetter], dueThrough: soon, limit: Limits.lettersWaiting)
            }
        }
        guard waiting.count < Limits.lettersWaiting else { throw ServerError.tooManyLetters }
        try await write(.mail) { database, now, transaction in
            try transaction.apply(
                WritePlan(putting: SendLetter.task(letter, in: database, due: now)))
            return .commit(())
        }
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

    init(_ task: TaskRow) throws {
        guard let letter = try? JSONDecoder().decode(Letter.self, from: Data(task.payload)) else {
            throw task.malformed
        }
        (self.letter, payload) = (letter, task.payload)
    }

    func chunk(_ turn: TaskTurn) async throws -> Bool {
        let cloud = turn.cloud
        if let mail = cloud.mail, cloud.clock() < letter.expires, Letter.isMailable(letter.address) {
            let account = try await cloud.registry.account(email: letter.address)
            if letter.isWanted(by: account) { try await mail.send(letter, for: account) }
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
        .tryAgainLater, "too many mails wait to be sent", retryAfter: 60)
}
