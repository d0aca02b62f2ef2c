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
}

/// The new device's side of an enrolment. Each conversation needs a new value, and has one answer: a second one would
/// be a second guess of the code.
package struct JoiningDevice: Secret {
    private enum State {
        case committed
        case opened(EnrolmentAnswer)
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
        self.device = device
        self.random = try random.digest()
        began = now
        commitment = EnrolmentCommitment(keys: device.publicKeys, random: self.random)
    }

    /// Takes the answer. Returns the opening for the other device, and the code for the user to compare.
    package mutating func take(_ answer: EnrolmentAnswer, at now: UInt64) throws -> (opening: EnrolmentOpening, code: EnrolmentCode) {
        guard case .committed = state else { throw EnrolmentFault.unexpected }
        state = .ended
        guard now >= began, now - began <= Enrolment.seconds else { throw EnrolmentFault.expired }
        guard answer.commitment == commitment.hash else { throw EnrolmentFault.unexpected }
        let opening = EnrolmentOpening(
            keys: device.publicKeys, random: random, signature: try device.agreement(toJoin: answer.head))
        state = .opened(answer)
        return (opening, EnrolmentCode(commitment: commitment, answer: answer, opening: opening))
    }

    /// Checks that the account of the code has this device now. From here on the device keeps the log's fingerprint and
    /// head.
    /// - Parameter log: The verified log that the server shows.
    package func check(_ log: KeyLog) throws(EnrolmentFault) {
        guard case .opened(let answer) = state, log.fingerprint == answer.fingerprint, log.hash(at: answer.head.number) == answer.head.hash,
            log.device(device.id)?.added == answer.head.number + 1
        else { throw .notEnrolled }
    }
}

/// The side of the device that is enrolled already.
package struct AdmittingDevice: Secret {
    private enum State {
        case answered
        case opened(EnrolmentOpening, EnrolmentCode)
        case ended
    }

    private let device: DeviceKeys
    private let commitment: EnrolmentCommitment
    private let began: UInt64
    private var state: State = .answered
    /// The second message.
    package let answer: EnrolmentAnswer

    /// Answers a commitment.
    /// - Parameters:
    ///   - log: The newest log of the account, verified and checked against what was kept.
    ///   - now: Seconds of any clock that only rises.
    package init(
        _ device: DeviceKeys, log: KeyLog, commitment: EnrolmentCommitment, at now: UInt64, using random: inout some RandomBytes
    ) throws(CryptoError) {
        self.device = device
        self.commitment = commitment
        began = now
        answer = EnrolmentAnswer(
            commitment: commitment.hash, fingerprint: log.fingerprint, head: log.head, device: device.id, random: try random.digest())
    }

    /// Takes the opening. Returns the code for the user to compare.
    package mutating func take(_ opening: EnrolmentOpening, at now: UInt64) throws(EnrolmentFault) -> EnrolmentCode {
        guard case .answered = state else { throw .unexpected }
        state = .ended
        guard now >= began, now - began <= Enrolment.seconds else { throw .expired }
        guard EnrolmentCommitment(keys: opening.keys, random: opening.random) == commitment else { throw .notCommitted }
        let code = EnrolmentCode(commitment: commitment, answer: answer, opening: opening)
        state = .opened(opening, code)
        return code
    }

    /// Adds the device whose keys the code was of, after the user has seen the same code on both.
    /// - Parameters:
    ///   - code: The code that the new device shows.
    ///   - log: The account's log, which the statement is appended to.
    /// - Throws: `KeyLogFault.notSigned` if the log has grown since the answer.
    package mutating func add(code: EnrolmentCode, to log: inout KeyLog, at now: UInt64) throws -> KeyStatement {
        guard case .opened(let opening, let own) = state else { throw EnrolmentFault.unexpected }
        state = .ended
        guard now >= began, now - began <= Enrolment.seconds else { throw EnrolmentFault.expired }
        guard code == own else { throw EnrolmentFault.otherCode }
        return try log.add(opening.keys, agreement: opening.signature, by: .device(device))
    }
}
