import NacreCrypto
import NacreEncryption
import NacreEncryptionForms
import Testing

/// Both sides of the enrolment of a phone at Ada's first device, up to the answer. Each has the same bytes.
private struct Conversation: ~Copyable {
    let ada: LiveAccount
    let phone: DeviceKeys
    var joining: JoiningDevice
    var admitting: AdmittingDevice
    let answer: EnrolmentAnswer

    init() throws {
        var ada = try LiveAccount("_ada")
        let phone = try DeviceKeys(using: &ada.random)
        let joining = try JoiningDevice(phone, at: 100, using: &ada.random)
        var admitting = AdmittingDevice(ada.device, approvedAt: 100)
        answer = try admitting.answer(EnrolmentCommitment(joining.commitment.bytes), log: ada.log, at: 100, using: &ada.random)
        self.ada = ada
        self.phone = phone
        self.joining = joining
        self.admitting = admitting
    }
}

struct EnrolmentTests {
    private func typed(_ code: EnrolmentCode) throws -> EnrolmentCode { try #require(EnrolmentCode(typed: "\(code)")) }

    /// Returns an answer that the server makes up.
    private func forged(to commitment: EnrolmentCommitment, from account: LiveAccount) -> EnrolmentAnswer {
        EnrolmentAnswer(
            commitment: commitment.hash, fingerprint: account.log.fingerprint, head: account.log.head, device: account.device.id,
            random: sampleDigest("server"))
    }

    @Test func `two devices that show one code add the new one, with the keys that the code was of`() throws {
        var talk = try Conversation()
        let phone = talk.phone
        var log = talk.ada.log
        let (opening, code) = try talk.joining.take(talk.answer, at: 101)
        let shown = try talk.admitting.take(opening, at: 102)
        #expect(shown == code)
        try talk.joining.compare(typed: typed(shown), at: 103)
        #expect(throws: EnrolmentFault.notEnrolled) { try talk.joining.check(log) }
        _ = try talk.admitting.add(typed: typed(code), to: &log, at: 103)
        #expect(log.device(phone.id)?.keys == phone.publicKeys)
        try talk.joining.check(log)
        let eve = try LiveAccount("_eve").log
        #expect(throws: EnrolmentFault.notEnrolled) { try talk.joining.check(eve) }
    }

    @Test func `A6: keys that are swapped after the commitment are refused, and what was compared is what is signed`() throws {
        var talk = try Conversation()
        var deceived = try Conversation()
        var other = try Conversation()
        var log = talk.ada.log
        var random = SeededBytes("server")
        let server = try DeviceKeys(using: &random)
        let (opening, code) = try talk.joining.take(talk.answer, at: 100)
        let swapped = EnrolmentOpening(
            keys: server.publicKeys, random: opening.random, signature: try server.agreement(toJoin: log.head))
        #expect(throws: EnrolmentFault.notCommitted) { try deceived.admitting.take(swapped, at: 100) }
        #expect(throws: EnrolmentFault.unexpected) { try deceived.admitting.take(opening, at: 100) }
        // The server answers the new device itself: its random number makes another code.
        let (_, otherCode) = try other.joining.take(forged(to: other.joining.commitment, from: other.ada), at: 100)
        let shown = try talk.admitting.take(opening, at: 100)
        #expect(shown == code && otherCode != code)
        #expect(throws: EnrolmentFault.otherCode) { try talk.admitting.add(typed: otherCode, to: &log, at: 100) }
        #expect(throws: EnrolmentFault.unexpected) { try talk.admitting.add(typed: code, to: &log, at: 100) }
        #expect(log.enrolled.count == 1)
    }

    @Test func `A6: a new device joins no account that the server made up, since its user types in the other device's code`() throws {
        var talk = try Conversation()
        var server = try LiveAccount("_ada's other account")
        let (opening, _) = try talk.joining.take(forged(to: talk.joining.commitment, from: server), at: 100)
        _ = try server.log.add(opening.keys, agreement: opening.signature, by: .device(server.device))
        let log = server.log
        // Nothing was typed in.
        #expect(throws: EnrolmentFault.unexpected) { try talk.joining.check(log) }
        let shown = try talk.admitting.take(opening, at: 100)
        #expect(throws: EnrolmentFault.otherCode) { try talk.joining.compare(typed: shown, at: 100) }
        #expect(throws: EnrolmentFault.unexpected) { try talk.joining.compare(typed: shown, at: 100) }
        #expect(throws: EnrolmentFault.unexpected) { try talk.joining.check(log) }
    }

    @Test func `A5 and A7: an answer that was not asked for is dropped, and a commitment has one answer and one opening`() throws {
        var talk = try Conversation()
        var other = try Conversation()
        var stranger = try Conversation()
        let answer = talk.answer
        let unasked = EnrolmentAnswer(
            commitment: sampleDigest("another"), fingerprint: answer.fingerprint, head: answer.head, device: answer.device, random: answer.random)
        #expect(throws: EnrolmentFault.unexpected) { try other.joining.take(unasked, at: 100) }
        #expect(throws: EnrolmentFault.unexpected) { try other.joining.take(answer, at: 100) }
        let (opening, _) = try talk.joining.take(answer, at: 100)
        #expect(throws: EnrolmentFault.unexpected) { try talk.joining.take(answer, at: 100) }
        _ = try talk.admitting.take(opening, at: 100)
        #expect(throws: EnrolmentFault.unexpected) { try talk.admitting.take(opening, at: 100) }
        let wrong = EnrolmentOpening(keys: opening.keys, random: sampleDigest("?"), signature: opening.signature)
        #expect(throws: EnrolmentFault.notCommitted) { try stranger.admitting.take(wrong, at: 100) }
    }

    @Test func `A7: one approval by the user answers one commitment`() throws {
        var talk = try Conversation()
        var (random, log) = (SeededBytes("server"), talk.ada.log)
        let guess = try JoiningDevice(DeviceKeys(using: &random), at: 100, using: &random).commitment
        #expect(throws: EnrolmentFault.unexpected) { try talk.admitting.answer(guess, log: log, at: 100, using: &random) }
        // The device that the user approved still joins.
        let (opening, code) = try talk.joining.take(talk.answer, at: 100)
        _ = try talk.admitting.take(opening, at: 100)
        #expect(throws: EnrolmentFault.unexpected) { try talk.admitting.answer(guess, log: log, at: 100, using: &random) }
        _ = try talk.admitting.add(typed: code, to: &log, at: 100)
        #expect(throws: EnrolmentFault.unexpected) { try talk.admitting.answer(guess, log: log, at: 100, using: &random) }
        #expect(log.enrolled.count == 2)
    }

    @Test func `a conversation ends after ten minutes, or when the log has grown`() throws {
        var talk = try Conversation()
        var late = try Conversation()
        var slow = try Conversation()
        var ada = talk.ada
        #expect(throws: EnrolmentFault.expired) { try late.joining.take(late.answer, at: 701) }
        let (opening, code) = try talk.joining.take(talk.answer, at: 700)
        #expect(throws: EnrolmentFault.expired) { try talk.joining.compare(typed: code, at: 701) }
        #expect(throws: EnrolmentFault.expired) { try late.admitting.take(opening, at: 701) }
        _ = try slow.admitting.take(opening, at: 700)
        #expect(throws: EnrolmentFault.expired) { try slow.admitting.add(typed: code, to: &ada.log, at: 701) }
        var approval = AdmittingDevice(ada.device, approvedAt: 100)
        #expect(throws: EnrolmentFault.expired) {
            try approval.answer(talk.joining.commitment, log: ada.log, at: 701, using: &ada.random)
        }
        _ = try talk.admitting.take(opening, at: 700)
        _ = try ada.add()
        #expect(throws: KeyLogFault.notSigned(number: 2)) { try talk.admitting.add(typed: code, to: &ada.log, at: 700) }
    }
}

struct EnrolmentCodeTests {
    private func sample(random: String, signature: Signature? = nil, keys: SampleKeys? = nil) throws -> EnrolmentCode {
        let phone = try SampleKeys("phone")
        let ada = try SampleAccount("_ada")
        let commitment = try EnrolmentCommitment(keys: phone.publicKeys, random: sampleDigest("random"))
        let answer = EnrolmentAnswer(
            commitment: commitment.hash, fingerprint: ada.fingerprint, head: ada.head, device: try ada.first.id, random: sampleDigest(random))
        let opening = EnrolmentOpening(
            keys: try (keys ?? phone).publicKeys, random: sampleDigest("random"), signature: try signature ?? phone.sign([]))
        return try EnrolmentCode(commitment: commitment, answer: answer, opening: opening)
    }

    @Test func `A7: ten million codes and one try for each commitment leave a guess less than one in a million`() {
        #expect(1 / Double(EnrolmentCode.count) < 0x1p-20)
    }

    @Test func `a code has seven digits, and another one for any other message`() throws {
        let codes = [try sample(random: "1"), try sample(random: "2"), try sample(random: "1", keys: SampleKeys("stranger"))]
        #expect(Set(codes).count == 3)
        for code in codes { #expect("\(code)".count == 8 && code.number < EnrolmentCode.count) }
    }

    @Test func `A6 and A7: another signature of the opening makes no other code, so that nobody searches for one`() throws {
        let signatures = try (0..<3).map { try SampleKeys("phone").sign([$0]) }
        #expect(Set(signatures).count == 3)
        #expect(Set(try signatures.map { try sample(random: "1", signature: $0) }).count == 1)
    }

    @Test func `a code is read as it was shown, with spaces anywhere, and nothing else is read`() throws {
        let code = try sample(random: "1")
        #expect(EnrolmentCode(typed: "\(code)") == code)
        #expect(EnrolmentCode(typed: " 0 0 0 0 0 4 2 ")?.number == 42 && EnrolmentCode(typed: "9999999")?.number == 9_999_999)
        for text in ["", "123456", "12345678", "123456x", "-123456", "123-4567", "\u{661}234567"] {
            #expect(EnrolmentCode(typed: text) == nil, "\(text)")
        }
    }
}
