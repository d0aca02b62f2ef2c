package import NacreCrypto

/// The place of a chain: the number and the hash of its newest link.
package struct ChainHead: Hashable, Sendable {
    package let number: UInt64
    package let hash: Digest

    package init(number: UInt64, hash: Digest) {
        (self.number, self.hash) = (number, hash)
    }

    init(reader: inout FormReader) throws(FormFault) {
        number = try reader.integer()
        hash = try reader.fixed()
    }

    func write(to writer: inout FormWriter) {
        writer.integer(number)
        writer.fixed(hash)
    }
}

/// The statements of an account, each verified from the first on: which devices it has, its recovery key and its
/// account key.
///
/// A client takes from a server what `KeyLog` verifies, and nothing else. Each statement takes about 0.2 ms.
package struct KeyLog: Hashable, Sendable {
    /// A device of the account, now or once.
    package struct Device: Hashable, Sendable {
        package let keys: PublicKeys
        package let verifier: Ed25519.PublicKey
        /// The number of the statement that added it.
        package let added: UInt64
        /// The number of the statement that removed it.
        package fileprivate(set) var removed: UInt64?
    }

    /// The number of statements that a log may have. A full log still takes removals of devices and a reset: at most
    /// `devicesMax` and one, since it takes no new device.
    package static let statementsMax: Int = 1_000
    /// The number of devices that may be enrolled at once.
    package static let devicesMax: Int = 100

    package let account: AccountName
    /// The hash of the reset that this log follows; zeros if it is the account's first.
    package let follows: Digest
    /// The keys of the device that began the log.
    package let beginner: PublicKeys
    /// devices[id]: all that were ever enrolled.
    package private(set) var devices: [DeviceID: Device] = [:]
    package private(set) var recovery: PublicKeys
    private var recoveryVerifier: Ed25519.PublicKey
    /// The public account keys: generation 1 first.
    package private(set) var accountKeys: [KeyBytes]
    /// The number of the statement that made each of them.
    private var generationsBegan: [UInt64] = [0]
    /// The hashes of the statements.
    private var hashes: [Digest]
    /// The keys of the device that begins the next log, if the last statement is a reset.
    package private(set) var successor: PublicKeys?
    /// Whether the last statement is a reset, which nothing follows.
    package var isReset: Bool { successor != nil }

    /// Begins a log with its first statement.
    package init(first statement: KeyStatement) throws(KeyLogFault) {
        try self.init(first: statement, isVerified: false)
    }

    private init(first statement: KeyStatement, isVerified: Bool) throws(KeyLogFault) {
        guard case .begin(let beginning, let consent) = statement.action, statement.number == 0, statement.before == .none else {
            throw .notABeginning
        }
        let (id, verifier) = try Self.device(beginning.device)
        guard statement.signer == id, isVerified || statement.isSigned(by: verifier) else { throw .notSigned(number: 0) }
        account = beginning.account
        follows = beginning.reset
        beginner = beginning.device
        devices[id] = Device(keys: beginning.device, verifier: verifier, added: 0)
        recovery = beginning.recovery
        recoveryVerifier = try Self.verifier(beginning.recovery)
        try Self.checkAgreement(beginning.accountKey)
        let agrees = { () throws(CryptoError) in try KeyStatement.consent(to: beginning) }
        guard isVerified || Self.signed(consent, by: recoveryVerifier, agrees) else { throw .notSigned(number: 0) }
        accountKeys = [beginning.accountKey]
        hashes = [statement.hash]
    }

    /// Verifies a log from its first statement on.
    package init(_ statements: [KeyStatement]) throws(KeyLogFault) {
        guard let first = statements.first else { throw .notABeginning }
        try self.init(first: first)
        for statement in statements.dropFirst() { try append(statement) }
    }

    /// Takes the statements of a log that this program has verified before, and that nobody can have changed since.
    /// Everything is checked again but signatures: about 10 µs for each statement, and 0.1 ms for one with new keys.
    package init(verified statements: [KeyStatement]) throws(KeyLogFault) {
        guard let first = statements.first else { throw .notABeginning }
        try self.init(first: first, isVerified: true)
        for statement in statements.dropFirst() { try append(statement, isVerified: true) }
    }

    /// The hash of the first statement, by which people and manifests know the account.
    package var fingerprint: Digest { hashes[0] }
    package var head: ChainHead { ChainHead(number: UInt64(hashes.count - 1), hash: hashes[hashes.count - 1]) }
    /// The generation of the account key, from 1.
    package var generation: UInt32 { UInt32(accountKeys.count) }
    package var accountKey: KeyBytes { accountKeys[accountKeys.count - 1] }
    package var enrolled: [DeviceID: Device] { isReset ? [:] : devices.filter { $0.value.removed == nil } }

    /// Returns a device that is enrolled now.
    package func device(_ id: DeviceID) -> Device? {
        guard !isReset, let device = devices[id], device.removed == nil else { return nil }
        return device
    }

    /// Returns a device that was enrolled when the log had a statement as its newest.
    package func device(_ id: DeviceID, at number: UInt64) -> Device? {
        guard number <= head.number, let device = devices[id], device.added <= number, device.removed.map({ $0 > number }) ?? true else {
            return nil
        }
        return device
    }

    /// Returns the generation of the account key when the log had a statement as its newest.
    package func generation(at number: UInt64) -> UInt32 {
        UInt32(generationsBegan.count { $0 <= number })
    }

    /// Returns the hash of a statement; nil if the log has not as many.
    package func hash(at number: UInt64) -> Digest? {
        number < UInt64(hashes.count) ? hashes[Int(number)] : nil
    }

    /// Verifies the next statement and takes it. On an error the log is as before.
    package mutating func append(_ statement: KeyStatement) throws(KeyLogFault) {
        try append(statement, isVerified: false)
    }

    private mutating func append(_ statement: KeyStatement, isVerified: Bool) throws(KeyLogFault) {
        guard !isReset else { throw .afterReset }
        guard statement.number == head.number + 1, statement.before == head.hash else { throw .notNext(number: statement.number) }
        guard hashes.count < Self.statementsMax || statement.action.isTakenByFullLog else { throw .tooLong }
        guard let verifier = verifier(of: statement.signer), isVerified || statement.isSigned(by: verifier) else {
            throw .notSigned(number: statement.number)
        }
        try take(statement, isVerified: isVerified)
        hashes.append(statement.hash)
    }

    /// Returns the key of a device that is enrolled now, or of the recovery key for nil.
    private func verifier(of signer: DeviceID?) -> Ed25519.PublicKey? {
        guard let signer else { return recoveryVerifier }
        return device(signer)?.verifier
    }

    private mutating func take(_ statement: KeyStatement, isVerified: Bool) throws(KeyLogFault) {
        switch statement.action {
        case .begin: throw .notNext(number: statement.number)
        case .addDevice(let keys, let signature):
            let (id, verifier) = try Self.device(keys)
            guard devices[id] == nil else { throw .knownDevice(id) }
            guard enrolled.count < Self.devicesMax else { throw .tooLong }
            let before = statement.before
            let agrees = { () throws(CryptoError) in try KeyStatement.enrolment(of: keys, after: before) }
            guard isVerified || Self.signed(signature, by: verifier, agrees) else { throw .notSigned(number: statement.number) }
            devices[id] = Device(keys: keys, verifier: verifier, added: statement.number)
        case .removeDevice(let id, let key):
            guard device(id) != nil else { throw .unknownDevice(id) }
            // The one that removes makes the next account key, and must not be the one that is to lose it.
            guard statement.signer != id else { throw .removesItself(id) }
            try takeAccountKey(key, at: statement.number)
            devices[id]?.removed = statement.number
        case .newRecovery(let keys, let key, let consent):
            let verifier = try Self.verifier(keys)
            let before = statement.before
            let agrees = { () throws(CryptoError) in try KeyStatement.consent(to: keys, nextAccountKey: key, after: before) }
            guard isVerified || Self.signed(consent, by: verifier, agrees) else { throw .notSigned(number: statement.number) }
            try takeAccountKey(key, at: statement.number)
            (recovery, recoveryVerifier) = (keys, verifier)
        case .reset(let next):
            _ = try Self.verifier(next)
            successor = next
        }
    }

    private mutating func takeAccountKey(_ key: KeyBytes, at number: UInt64) throws(KeyLogFault) {
        guard !accountKeys.contains(key) else { throw .oldAccountKey }
        try Self.checkAgreement(key)
        accountKeys.append(key)
        generationsBegan.append(number)
    }

    /// Checks the keys of a device.
    private static func device(_ keys: PublicKeys) throws(KeyLogFault) -> (id: DeviceID, verifier: Ed25519.PublicKey) {
        guard let id = try? DeviceID(of: keys) else { throw .malformedKey }
        return (id, try verifier(keys))
    }

    /// Whether a new device or recovery key has signed that it joins a log.
    private static func signed(_ signature: Signature, by verifier: Ed25519.PublicKey, _ message: () throws(CryptoError) -> [UInt8]) -> Bool {
        guard let message = try? message() else { return false }
        return verifier.isValid(signature.bytes, for: message)
    }

    /// Checks both keys. Returns the one that verifies.
    private static func verifier(_ keys: PublicKeys) throws(KeyLogFault) -> Ed25519.PublicKey {
        guard let key = try? Ed25519.PublicKey(keys.signing.bytes) else { throw .malformedKey }
        try checkAgreement(keys.agreement)
        return key
    }

    /// Checks a key that others are to seal for.
    private static func checkAgreement(_ key: KeyBytes) throws(KeyLogFault) {
        do throws(CryptoError) {
            try X25519.PublicKey(key.bytes).checkOrder()
        } catch {
            throw .malformedKey
        }
    }
}

extension KeyLog {
    /// Checks that the log extends the head that was kept of it, and has the fingerprint that was kept.
    package func check(fingerprint: Digest, kept: ChainHead) throws(KeyLogFault) {
        guard self.fingerprint == fingerprint else { throw .otherFingerprint(kept: fingerprint, shown: self.fingerprint) }
        guard let hash = hash(at: kept.number) else { throw .truncated(kept: kept, shown: head) }
        guard hash == kept.hash else { throw .forked(number: kept.number, kept: kept.hash, shown: hash) }
    }

    /// Checks that this log may take the place of one that was kept: the kept one ended with a reset that it signed,
    /// this one names that reset, and the device that the reset names began it.
    package func check(follows kept: KeyLog) throws(KeyLogFault) {
        guard let successor = kept.successor, beginner == successor, follows == kept.head.hash, account == kept.account else {
            throw .otherFingerprint(kept: kept.fingerprint, shown: fingerprint)
        }
    }

    /// Checks that this log may take the place of one that was kept, though no reset leads to it. Call it only after
    /// people have compared fingerprints: the account's user has lost all devices and the recovery key, and begins
    /// anew.
    /// - Parameter compared: The fingerprint that the account's user showed, outside of the server's reach.
    package func check(replaces kept: KeyLog, compared: Digest) throws(KeyLogFault) {
        guard fingerprint == compared, account == kept.account else { throw .otherFingerprint(kept: compared, shown: fingerprint) }
        // The kept log itself may have grown, and not have become shorter.
        if fingerprint == kept.fingerprint { try check(fingerprint: compared, kept: kept.head) }
    }
}

/// The reason why a log of keys is refused.
package enum KeyLogFault: Error, Equatable, Sendable {
    /// The first statement does not begin an account.
    case notABeginning
    /// The statement is not signed by an enrolled device or the recovery key, or the new device or recovery key did not
    /// sign that it joins.
    case notSigned(number: UInt64)
    /// The statement does not follow the head.
    case notNext(number: UInt64)
    case afterReset
    case tooLong
    /// The device is enrolled already, or was removed.
    case knownDevice(DeviceID)
    case unknownDevice(DeviceID)
    /// A device cannot remove itself.
    case removesItself(DeviceID)
    /// The account key was one before.
    case oldAccountKey
    /// A key is none of Ed25519 or X25519, or a point of small order.
    case malformedKey
    /// The account is another one than was kept or compared, and no signed reset leads to it.
    case otherFingerprint(kept: Digest, shown: Digest)
    /// The log is shorter than it was.
    case truncated(kept: ChainHead, shown: ChainHead)
    /// Two logs of one account differ at a number.
    case forked(number: UInt64, kept: Digest, shown: Digest)
}

extension KeyLogFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notABeginning: "The log of keys does not start with the beginning of an account"
        case .notSigned(let number): "Statement \(number) is not signed by a device of the account or its recovery key"
        case .notNext(let number): "Statement \(number) does not follow the newest one: read the log again"
        case .afterReset: "The account was reset: its log has ended"
        case .tooLong: "The log has \(KeyLog.statementsMax) statements, or \(KeyLog.devicesMax) devices: remove a device, or reset the account"
        case .knownDevice(let id): "Device \(id) was enrolled before: a device that returns makes new keys"
        case .unknownDevice(let id): "Device \(id) is not enrolled"
        case .removesItself(let id): "Device \(id) cannot remove itself: another device or the recovery key removes it"
        case .oldAccountKey: "The next account key was one before: make a new one"
        case .malformedKey: "A key is not one of Ed25519 or X25519, or a point of small order"
        case .otherFingerprint(let kept, let shown):
            "The account has fingerprint \(shown), and not \(kept), and no signed reset leads to it: compare fingerprints with its user"
        case .truncated(let kept, let shown): "The log ends at statement \(shown.number), and had statement \(kept.number)"
        case .forked(let number, let kept, let shown): "Statement \(number) has hash \(shown), and had \(kept): the server has shown two logs"
        }
    }
}
