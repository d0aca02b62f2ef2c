import NacreCrypto

/// A key that is sealed for an account, a device or a recovery key, and signed by the device that sealed it.
package struct KeyWrap: SignedForm {
    /// The key that is sealed, and for which key.
    package enum Subject: Hashable, Sendable {
        /// A scope key, for the recipient's account key.
        case scopeKey(KeyID)
        /// The recipient's own account key, for a device; nil for the recovery key.
        case accountKey(DeviceID?)
    }

    package static let kinds: [FormKind] = [.scopeKeyWrap, .accountKeyWrap]
    /// The length of the encapsulated key, the sealed key and the tag, in bytes.
    package static let sealedLength: Int = HPKE.overhead + 32

    package let subject: Subject
    /// The fingerprint of the recipient's account.
    package let recipient: Digest
    /// The generation of the recipient's account key.
    package let generation: UInt32
    package let sender: DeviceID
    /// The encapsulated key, the ciphertext and the tag.
    package let sealed: [UInt8]
    package let signature: Signature

    package var kind: FormKind { subject.kind }

    /// Makes a wrap. Returns nil for generation 0, and for bytes of another length than a sealed key has.
    package init?<Failure: Error>(
        subject: Subject, recipient: Digest, generation: UInt32, sender: DeviceID, sealed: [UInt8],
        sign: ([UInt8]) throws(Failure) -> Signature
    ) throws(Failure) {
        guard generation > 0, sealed.count == Self.sealedLength else { return nil }
        self.subject = subject
        self.recipient = recipient
        self.generation = generation
        self.sender = sender
        self.sealed = sealed
        signature = try sign(Self.associated(subject: subject, recipient: recipient, generation: generation, sender: sender) + sealed)
    }

    package init(kind: FormKind, parts reader: inout FormReader) throws(FormFault) {
        if kind == .scopeKeyWrap {
            subject = .scopeKey(try KeyID(reader: &reader))
        } else {
            let device = try reader.fixed(DeviceID.self)
            subject = .accountKey(device.bytes == DeviceID.zeros ? nil : device)
        }
        recipient = try reader.fixed()
        generation = try reader.integer()
        guard generation > 0 else { throw .invalid("generation") }
        sender = try reader.fixed()
        sealed = try reader.take(Self.sealedLength)
        signature = try reader.fixed()
    }

    package func writeSignedParts(to writer: inout FormWriter) {
        Self.writeHead(subject: subject, recipient: recipient, generation: generation, sender: sender, to: &writer)
        writer.raw(sealed)
    }

    private static func writeHead(subject: Subject, recipient: Digest, generation: UInt32, sender: DeviceID, to writer: inout FormWriter) {
        switch subject {
        case .scopeKey(let id): id.write(to: &writer)
        case .accountKey(let device): writer.raw(device?.bytes ?? DeviceID.zeros)
        }
        writer.fixed(recipient)
        writer.integer(generation)
        writer.fixed(sender)
    }

    /// The parts in front of the encapsulated key, to which the ciphertext is bound.
    package var associated: [UInt8] { Self.associated(subject: subject, recipient: recipient, generation: generation, sender: sender) }

    package static func associated(subject: Subject, recipient: Digest, generation: UInt32, sender: DeviceID) -> [UInt8] {
        var writer = FormWriter(capacity: 160)
        writer.integer(Suite.current)
        writer.integer(subject.kind.rawValue)
        writeHead(subject: subject, recipient: recipient, generation: generation, sender: sender, to: &writer)
        return writer.written
    }
}

extension KeyWrap.Subject {
    fileprivate var kind: FormKind {
        switch self {
        case .scopeKey: .scopeKeyWrap
        case .accountKey: .accountKeyWrap
        }
    }
}

extension KeyWrap {
    /// Returns the reason why a wrap is not to be opened; nil if it may be.
    /// - Parameters:
    ///   - senders: The verified log of the account that the sender belongs to.
    ///   - recipients: The verified log of the recipient's account.
    package func fault(senders: KeyLog, recipients: KeyLog) -> KeyWrapFault? {
        if let fault = fault(senders: senders) { return fault }
        guard recipient == recipients.fingerprint else { return .otherRecipient(kept: recipients.fingerprint, named: recipient) }
        guard generation <= recipients.generation else { return .unknownGeneration(generation) }
        return nil
    }

    /// Returns the reason why a wrap does not count, whoever it is for; nil if an enrolled device has signed it.
    package func fault(senders: KeyLog) -> KeyWrapFault? {
        guard let device = senders.device(sender), isSigned(by: device.verifier) else { return .unknownSender(device: sender, key: subject) }
        return nil
    }
}

/// The reason why a wrap is not opened.
package enum KeyWrapFault: Error, Equatable, Sendable {
    /// No device that is enrolled now has signed it.
    case unknownSender(device: DeviceID, key: KeyWrap.Subject)
    /// The wrap is for another account than it was shown for.
    case otherRecipient(kept: Digest, named: Digest)
    case unknownGeneration(UInt32)
}

extension KeyWrapFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unknownSender(let device, .scopeKey(let key)): "Key \(key) comes from device \(device), which is not enrolled or did not sign it"
        case .unknownSender(let device, .accountKey): "The account key comes from device \(device), which is not enrolled or did not sign it"
        case .otherRecipient(let kept, let named): "The key is for the account with fingerprint \(named), and not for \(kept)"
        case .unknownGeneration(let generation): "The key is for generation \(generation) of the account key, which the log does not have"
        }
    }
}
