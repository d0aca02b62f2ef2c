package import NacreCrypto
package import NacreEncryptionForms

/// The reason why an enrolment ends without a new device.
package enum EnrolmentFault: Error, Equatable, Sendable {
    /// The message does not belong to this conversation, or to this point of it.
    case unexpected
    /// The opening is not what the new device had committed to.
    case notCommitted
    /// The conversation took too long.
    case expired
    /// The users saw two codes.
    case otherCode
    /// The log does not have the device, or is another than the one that the code was of.
    case notEnrolled
}

extension EnrolmentFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unexpected: "The message does not belong to this enrolment: begin again"
        case .notCommitted: "The new device shows other keys than it had committed to: begin again, and see who is in between"
        case .expired: "The enrolment took more than \(Enrolment.seconds / 60) minutes: begin again"
        case .otherCode: "The codes differ: nothing was added; somebody may be in between"
        case .notEnrolled: "The account's log does not have this device: begin again"
        }
    }
}

package enum Enrolment {
    /// The time that a conversation has, in seconds.
    package static let seconds: UInt64 = 600

    fileprivate static func check(_ now: UInt64, after began: UInt64) throws(EnrolmentFault) {
        guard now >= began, now - began <= seconds else { throw .expired }
    }
}

/// The new device's side of an enrolment. Each conversation needs a new value, which cannot be copied: a second answer
/// would be a second guess of the code.
package struct JoiningDevice: ~Copyable, Sendable {
    private enum State {
        case committed
        case opened(EnrolmentAnswer, EnrolmentCode)
        case compared(EnrolmentAnswer)
        case ended
    }

    private let device: DeviceKeys
    private let random: Digest
    private let began: UInt64
    private var state: State = .committed
    /// The first message.
    package let commitment: EnrolmentCommitment

    /// - Parameter now: Seconds of any clock that only rises.
    package init(_ device: DeviceKeys, at now: UInt64, using random: inout some RandomBytes) throws(CryptoError) {
        let number = try random.digest()
        commitment = try EnrolmentCommitment(keys: device.publicKeys, random: number)
        self.device = device
        self.random = number
        began = now
    }

    /// Takes the answer. Returns the opening for the other device, and the code for the user to type in there.
    package mutating func take(_ answer: EnrolmentAnswer, at now: UInt64) throws -> (opening: EnrolmentOpening, code: EnrolmentCode) {
        guard case .committed = state else { throw EnrolmentFault.unexpected }
        state = .ended
        try Enrolment.check(now, after: began)
        guard answer.commitment == commitment.hash else { throw EnrolmentFault.unexpected }
        let opening = EnrolmentOpening(
            keys: device.publicKeys, random: random, signature: try device.agreement(toJoin: answer.head))
        let code = try EnrolmentCode(commitment: commitment, answer: answer, opening: opening)
        state = .opened(answer, code)
        return (opening, code)
    }

    /// Takes the code that the user read on the other device and typed in here. Without it a server could have this
    /// device join an account that the server made up. A wrong code ends the conversation.
    package mutating func compare(typed code: EnrolmentCode, at now: UInt64) throws(EnrolmentFault) {
        guard case .opened(let answer, let own) = state else { throw .unexpected }
        state = .ended
        try Enrolment.check(now, after: began)
        guard code == own else { throw .otherCode }
        state = .compared(answer)
    }

    /// Checks that the account of the code has this device now, after `compare(typed:at:)`. From here on the device
    /// keeps the log's fingerprint and head.
    /// - Parameter log: The verified log that the server shows.
    package func check(_ log: KeyLog) throws(EnrolmentFault) {
        guard case .compared(let answer) = state else { throw .unexpected }
        guard log.fingerprint == answer.fingerprint, log.hash(at: answer.head.number) == answer.head.hash,
            log.device(device.id)?.added == answer.head.number + 1
        else { throw .notEnrolled }
    }
}

/// The side of the device that is enrolled already. A value is one approval by the user, and cannot be copied: it
/// answers one commitment. Another commitment needs another approval, or a server could try as many as it likes.
package struct AdmittingDevice: ~Copyable, Sendable {
    private enum State {
        case approved
        case answered(EnrolmentCommitment, EnrolmentAnswer)
        case opened(EnrolmentOpening, EnrolmentCode)
        case ended
    }

    private let device: DeviceKeys
    private let began: UInt64
    private var state: State = .approved

    /// - Parameters:
    ///   - device: The enrolled device, on which the user has just approved that another one joins.
    ///   - now: Seconds of any clock that only rises.
    package init(_ device: DeviceKeys, approvedAt now: UInt64) {
        self.device = device
        began = now
    }

    /// Answers a commitment.
    /// - Parameter log: The newest log of the account, verified and checked against what was kept.
    /// - Throws: `EnrolmentFault.unexpected` for a second commitment.
    package mutating func answer(
        _ commitment: EnrolmentCommitment, log: KeyLog, at now: UInt64, using random: inout some RandomBytes
    ) throws -> EnrolmentAnswer {
        guard case .approved = state else { throw EnrolmentFault.unexpected }
        state = .ended
        try Enrolment.check(now, after: began)
        let answer = EnrolmentAnswer(
            commitment: commitment.hash, fingerprint: log.fingerprint, head: log.head, device: device.id, random: try random.digest())
        state = .answered(commitment, answer)
        return answer
    }

    /// Takes the opening. Returns the code for the user to type in on the new device.
    package mutating func take(_ opening: EnrolmentOpening, at now: UInt64) throws -> EnrolmentCode {
        guard case .answered(let commitment, let answer) = state else { throw EnrolmentFault.unexpected }
        state = .ended
        try Enrolment.check(now, after: began)
        guard try EnrolmentCommitment(keys: opening.keys, random: opening.random) == commitment else { throw EnrolmentFault.notCommitted }
        let code = try EnrolmentCode(commitment: commitment, answer: answer, opening: opening)
        state = .opened(opening, code)
        return code
    }

    /// Adds the device whose keys the code was of. A wrong code ends the conversation.
    /// - Parameters:
    ///   - code: The code that the user read on the new device and typed in here.
    ///   - log: The account's log, which the statement is appended to.
    /// - Throws: `KeyLogFault.notSigned` if the log has grown since the answer.
    package mutating func add(typed code: EnrolmentCode, to log: inout KeyLog, at now: UInt64) throws -> KeyStatement {
        guard case .opened(let opening, let own) = state else { throw EnrolmentFault.unexpected }
        state = .ended
        try Enrolment.check(now, after: began)
        guard code == own else { throw EnrolmentFault.otherCode }
        return try log.add(opening.keys, agreement: opening.signature, by: .device(device))
    }
}
