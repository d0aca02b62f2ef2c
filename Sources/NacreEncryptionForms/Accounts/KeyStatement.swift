package import NacreCrypto

/// A statement of an account about its keys, signed by one of its devices or by its recovery key. Each names the hash
/// of the one before.
package struct KeyStatement: SignedForm {
    /// The first statement.
    package struct Beginning: Hashable, Sendable {
        package let account: AccountName
        package let device: PublicKeys
        package let recovery: PublicKeys
        /// The account key of generation 1.
        package let accountKey: KeyBytes
        /// The hash of the reset that ended the log before; zeros if there was none.
        package let reset: Digest

        package init(account: AccountName, device: PublicKeys, recovery: PublicKeys, accountKey: KeyBytes, reset: Digest = .none) {
            self.account = account
            self.device = device
            self.recovery = recovery
            self.accountKey = accountKey
            self.reset = reset
        }
    }

    package enum Action: Hashable, Sendable {
        /// The signature is that of `consent(to:)`, by the recovery key.
        case begin(Beginning, Signature)
        /// The device's keys, and its signature of `enrolment(of:after:)`.
        case addDevice(PublicKeys, Signature)
        case removeDevice(DeviceID, nextAccountKey: KeyBytes)
        /// The signature is that of `consent(to:nextAccountKey:after:)`, by the new recovery key.
        case newRecovery(PublicKeys, nextAccountKey: KeyBytes, Signature)
        /// The end of the log. The keys are those of the device that begins the next one.
        case reset(next: PublicKeys)
    }

    package static let kinds: [FormKind] = [.statement]

    package let number: UInt64
    /// The hash of the statement before; zeros for the first.
    package let before: Digest
    package let action: Action
    /// The device that signed; nil for the recovery key.
    package let signer: DeviceID?
    package let signature: Signature

    package var kind: FormKind { .statement }

    /// Makes a statement.
    /// - Parameter sign: Signs the bytes for the signer.
    package init<Failure: Error>(
        number: UInt64, before: Digest, action: Action, signer: DeviceID?, sign: ([UInt8]) throws(Failure) -> Signature
    ) throws(Failure) {
        self.number = number
        self.before = before
        self.action = action
        self.signer = signer
        var writer = FormWriter(capacity: 512)
        writer.integer(Suite.current)
        writer.integer(FormKind.statement.rawValue)
        Self.write(number: number, before: before, action: action, signer: signer, to: &writer)
        signature = try sign(writer.written)
    }

    package init(kind: FormKind, parts reader: inout FormReader) throws(FormFault) {
        number = try reader.integer()
        before = try reader.fixed()
        let number = try reader.integer(UInt8.self)
        var body = FormReader(try reader.prefixed())
        action = try Action(number: number, reader: &body)
        try body.end()
        let signer = try reader.fixed(DeviceID.self)
        self.signer = signer.bytes == DeviceID.zeros ? nil : signer
        signature = try reader.fixed()
    }

    package func writeSignedParts(to writer: inout FormWriter) {
        Self.write(number: number, before: before, action: action, signer: signer, to: &writer)
    }

    private static func write(number: UInt64, before: Digest, action: Action, signer: DeviceID?, to writer: inout FormWriter) {
        writer.integer(number)
        writer.fixed(before)
        writer.integer(action.number)
        writer.bytes(action.body)
        writer.raw(signer?.bytes ?? DeviceID.zeros)
    }

    /// Returns the hash that a new device signs: it agrees to join this log, here, with these keys.
    package static func enrolment(of keys: PublicKeys, after before: Digest) throws(CryptoError) -> [UInt8] {
        try Digest(label: "nacre enrolment", [before.bytes, keys.signing.bytes, keys.agreement.bytes]).bytes
    }

    /// Returns the hash that the recovery key of a first statement signs. Only the holder of the 24 words can sign it,
    /// so that they tell the account.
    package static func consent(to beginning: Beginning) throws(CryptoError) -> [UInt8] {
        try Digest(label: "nacre recovery", [Digest.none.bytes, beginning.bytes]).bytes
    }

    /// Returns the hash that a new recovery key signs: it is to open this log, here, with this account key.
    package static func consent(to keys: PublicKeys, nextAccountKey: KeyBytes, after before: Digest) throws(CryptoError) -> [UInt8] {
        let body = keys.signing.bytes + keys.agreement.bytes + nextAccountKey.bytes
        return try Digest(label: "nacre recovery", [before.bytes, body]).bytes
    }
}

extension KeyStatement.Action {
    /// Whether a log takes the statement though it has as many as it may have: it ends what a device can do.
    package var isTakenByFullLog: Bool {
        switch self {
        case .removeDevice, .reset: true
        case .begin, .addDevice, .newRecovery: false
        }
    }

    fileprivate init(number: UInt8, reader: inout FormReader) throws(FormFault) {
        switch number {
        case 1: self = .begin(try KeyStatement.Beginning(reader: &reader), try reader.fixed())
        case 2: self = .addDevice(try PublicKeys(reader: &reader), try reader.fixed())
        case 3: self = .removeDevice(try reader.fixed(), nextAccountKey: try reader.fixed())
        case 4: self = .newRecovery(try PublicKeys(reader: &reader), nextAccountKey: try reader.fixed(), try reader.fixed())
        case 5: self = .reset(next: try PublicKeys(reader: &reader))
        default: throw .invalid("kind of statement")
        }
    }

    fileprivate var number: UInt8 {
        switch self {
        case .begin: 1
        case .addDevice: 2
        case .removeDevice: 3
        case .newRecovery: 4
        case .reset: 5
        }
    }

    fileprivate var body: [UInt8] {
        var writer = FormWriter(capacity: 256)
        switch self {
        case .begin(let beginning, let consent):
            beginning.write(to: &writer)
            writer.fixed(consent)
        case .addDevice(let keys, let signature):
            keys.write(to: &writer)
            writer.fixed(signature)
        case .removeDevice(let device, let key):
            writer.fixed(device)
            writer.fixed(key)
        case .newRecovery(let keys, let key, let consent):
            keys.write(to: &writer)
            writer.fixed(key)
            writer.fixed(consent)
        case .reset(let next): next.write(to: &writer)
        }
        return writer.written
    }
}

extension KeyStatement.Beginning {
    fileprivate init(reader: inout FormReader) throws(FormFault) {
        account = try AccountName(reader: &reader)
        device = try PublicKeys(reader: &reader)
        recovery = try PublicKeys(reader: &reader)
        accountKey = try reader.fixed()
        reset = try reader.fixed()
    }

    fileprivate var bytes: [UInt8] {
        var writer = FormWriter(capacity: 512)
        write(to: &writer)
        return writer.written
    }

    fileprivate func write(to writer: inout FormWriter) {
        account.write(to: &writer)
        device.write(to: &writer)
        recovery.write(to: &writer)
        writer.fixed(accountKey)
        writer.fixed(reset)
    }
}

extension PublicKeys {
    package init(reader: inout FormReader) throws(FormFault) {
        signing = try reader.fixed()
        agreement = try reader.fixed()
    }

    func write(to writer: inout FormWriter) {
        writer.fixed(signing)
        writer.fixed(agreement)
    }
}
