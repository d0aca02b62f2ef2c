package import NacreCrypto

/// The first message of an enrolment: the new device's promise of its opening, which it has not shown yet.
package struct EnrolmentCommitment: Form {
    package static let kinds: [FormKind] = [.enrolmentCommitment]

    package let commitment: Digest

    package var kind: FormKind { .enrolmentCommitment }

    /// Commits to keys and a random number.
    package init(keys: PublicKeys, random: Digest) throws(CryptoError) {
        commitment = try Digest(label: "nacre enrolment commitment", [keys.signing.bytes, keys.agreement.bytes, random.bytes])
    }

    package init(kind: FormKind, parts reader: inout FormReader) throws(FormFault) {
        commitment = try reader.fixed()
    }

    package func writeParts(to writer: inout FormWriter) {
        writer.fixed(commitment)
    }
}

/// The second message: an enrolled device's random number, and the log that the new device is to join.
package struct EnrolmentAnswer: Form {
    package static let kinds: [FormKind] = [.enrolmentAnswer]

    /// The hash of the commitment's form.
    package let commitment: Digest
    package let fingerprint: Digest
    /// The head that the next statement follows.
    package let head: ChainHead
    package let device: DeviceID
    package let random: Digest

    package var kind: FormKind { .enrolmentAnswer }

    package init(commitment: Digest, fingerprint: Digest, head: ChainHead, device: DeviceID, random: Digest) {
        self.commitment = commitment
        self.fingerprint = fingerprint
        self.head = head
        self.device = device
        self.random = random
    }

    package init(kind: FormKind, parts reader: inout FormReader) throws(FormFault) {
        commitment = try reader.fixed()
        fingerprint = try reader.fixed()
        head = try ChainHead(reader: &reader)
        device = try reader.fixed()
        random = try reader.fixed()
    }

    package func writeParts(to writer: inout FormWriter) {
        writer.fixed(commitment)
        writer.fixed(fingerprint)
        head.write(to: &writer)
        writer.fixed(device)
        writer.fixed(random)
    }
}

/// The third message: what the new device has committed to, and its signature for the statement that adds it.
package struct EnrolmentOpening: Form {
    package static let kinds: [FormKind] = [.enrolmentOpening]

    package let keys: PublicKeys
    package let random: Digest
    /// The signature of `KeyStatement.enrolment(of:after:)` with the answer's head.
    package let signature: Signature

    package var kind: FormKind { .enrolmentOpening }

    package init(keys: PublicKeys, random: Digest, signature: Signature) {
        self.keys = keys
        self.random = random
        self.signature = signature
    }

    package init(kind: FormKind, parts reader: inout FormReader) throws(FormFault) {
        keys = try PublicKeys(reader: &reader)
        random = try reader.fixed()
        signature = try reader.fixed()
    }

    package func writeParts(to writer: inout FormWriter) {
        keys.write(to: &writer)
        writer.fixed(random)
        writer.fixed(signature)
    }
}

/// The seven digits that both devices show for one conversation.
package struct EnrolmentCode: Hashable, Sendable, CustomStringConvertible {
    /// The number of codes. A guess is right once in so many times, and each commitment allows one.
    package static let count: UInt64 = 10_000_000

    package let number: UInt64

    /// Makes the code of a conversation. It covers the opening's keys and random number, to which the new device has
    /// committed. The opening's signature is left out: a holder of the key can make many, until one gives a wanted
    /// code.
    package init(commitment: EnrolmentCommitment, answer: EnrolmentAnswer, opening: EnrolmentOpening) throws(CryptoError) {
        let committed = [opening.keys.signing.bytes, opening.keys.agreement.bytes, opening.random.bytes]
        let hash = try Digest(label: "nacre enrolment code", [commitment.bytes, answer.bytes] + committed)
        number = hash.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } % Self.count
    }

    /// Reads seven digits that a user typed in, with any spaces between them. Returns nil for other text.
    package init?(typed text: String) {
        let digits = text.utf8.filter { $0 != UInt8(ascii: " ") }
        guard digits.count == 7, digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        number = digits.reduce(0) { $0 * 10 + UInt64($1 - UInt8(ascii: "0")) }
    }

    /// Digits in groups of three and four.
    package var description: String {
        let digits = String(number + Self.count).dropFirst()
        return "\(digits.prefix(3)) \(digits.dropFirst(3))"
    }
}
