import NacreCloudAccounts
import NacreCloudStorage
import NacreCloudWire
import NacreEncryptionForms

// The messages by which a new device joins an account: docs/encryption.md, "Enrolment". The server hands them on. Which
// device may join is decided by the people who compare the code, and by the statement that adds it.

/// A message of an enrolment.
enum EnrolmentMessage: Hashable, Sendable {
    case commitment(EnrolmentCommitment)
    case answer(EnrolmentAnswer)
    case opening(EnrolmentOpening)

    /// Reads a message of a request.
    init(_ bytes: [UInt8]) throws(ServerError) {
        guard bytes.count <= Limits.enrolmentMessageBytes else { throw .enrolmentMessageTooLarge }
        switch bytes.dropFirst().first.flatMap(FormKind.init) {
        case .enrolmentAnswer: self = .answer(try EnrolmentAnswer(of: bytes, in: "message"))
        case .enrolmentOpening: self = .opening(try EnrolmentOpening(of: bytes, in: "message"))
        default: self = .commitment(try EnrolmentCommitment(of: bytes, in: "message"))
        }
    }

    /// The name of the conversation that the message belongs to: the hash of the commitment's form. An opening belongs
    /// to the commitment that it opens, so that no other device can open it.
    var conversation: Digest {
        get throws {
            switch self {
            case .commitment(let commitment): commitment.hash
            case .answer(let answer): answer.commitment
            case .opening(let opening): try EnrolmentCommitment(keys: opening.keys, random: opening.random).hash
            }
        }
    }
}

/// The messages of one new device and of the device that answers it.
struct EnrolmentConversation: Hashable, Sendable {
    let commitment: EnrolmentCommitment
    private(set) var answer: EnrolmentAnswer?
    private(set) var opening: EnrolmentOpening?
    /// The sign-in that sent the commitment; empty for a caller without one.
    let signIn: String
    /// The time after which nobody is told of it.
    let expires: Timestamp

    /// Returns the conversation as it goes on with a message; nil if it has that message already. The first answer and
    /// the first opening count: one commitment allows one try to guess the code.
    /// - Parameters:
    ///   - all: the conversations that the account has.
    ///   - signIn: the sender's. One sign-in has a part of an account's conversations alone, so that none can keep the
    ///     user's other devices out.
    static func next(
        of all: [EnrolmentConversation], with message: EnrolmentMessage, named name: Digest, by signIn: String, at now: Timestamp
    ) throws(ServerError) -> EnrolmentConversation? {
        let kept = all.first { $0.commitment.hash == name }
        switch (message, kept) {
        case (.commitment, _?):
            return nil
        case (.commitment(let commitment), nil):
            guard all.count < Limits.enrolmentsPerAccount else { throw .tooManyEnrolments }
            guard all.count(where: { $0.signIn == signIn }) < Limits.enrolmentsPerSignIn else { throw .tooManyEnrolmentsOfOne }
            return EnrolmentConversation(commitment: commitment, signIn: signIn, expires: now + Limits.enrolmentSeconds)
        case (.answer, nil), (.opening, nil):
            throw .enrolmentNotFound
        case (.answer(let answer), var next?):
            if let first = next.answer, first != answer { throw .enrolmentGoesOn("answer") }
            next.answer = answer
            return next == kept ? nil : next
        case (.opening(let opening), var next?):
            guard next.answer != nil else { throw .enrolmentOpenedTooEarly }
            if let first = next.opening, first != opening { throw .enrolmentGoesOn("opening") }
            next.opening = opening
            return next == kept ? nil : next
        }
    }
}

extension EnrolmentConversation {
    /// Reads a kept conversation.
    init(_ row: EntryRow) throws(StoreError) {
        var reader = ByteReader(row.value)
        do {
            commitment = try EnrolmentCommitment(try reader.block())
            let (answer, opening) = (try reader.block(), try reader.block())
            self.answer = answer.isEmpty ? nil : try EnrolmentAnswer(answer)
            self.opening = opening.isEmpty ? nil : try EnrolmentOpening(opening)
            // Rows of earlier versions have none.
            signIn = reader.isAtEnd ? "" : try reader.string()
            guard reader.isAtEnd, let expires = row.expires else { throw MalformedBytes() }
            self.expires = expires
        } catch {
            throw StoreError(.corrupt, "A kept enrolment is malformed", ["key": row.key.key, "fault": "\(error)"])
        }
    }

    func row(in database: DatabaseID) -> EntryRow {
        var writer = ByteWriter()
        for part in [commitment.bytes, answer?.bytes ?? [], opening?.bytes ?? []] { writer.block(part) }
        writer.string(signIn)
        return EntryRow(key: KeyEntries.enrolment(commitment.hash, in: database), value: writer.bytes, expires: expires)
    }
}
