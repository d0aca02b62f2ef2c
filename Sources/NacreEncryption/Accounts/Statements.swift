package import NacreCrypto
package import NacreEncryptionForms

extension DeviceKeys {
    /// Begins an account with this device as its first.
    /// - Parameter ended: The log that a reset has ended; nil if the account had no keys before, or has lost all of
    ///   them.
    /// - Returns: The log with its first statement, and the account key of generation 1.
    /// - Throws: `KeyLogFault.otherFingerprint` if the reset does not name this device.
    package func begin(
        _ account: AccountName, recovery: RecoveryKey, after ended: KeyLog? = nil, using random: inout some RandomBytes
    ) throws -> (statement: KeyStatement, log: KeyLog, key: AccountKey) {
        let key = try AccountKey(generation: 1, using: &random)
        let beginning = KeyStatement.Beginning(
            account: account, device: publicKeys, recovery: recovery.publicKeys, accountKey: key.publicKey,
            reset: ended?.head.hash ?? .none)
        let consent = try recovery.keys.sign(KeyStatement.consent(to: beginning))
        let statement = try KeyStatement(number: 0, before: .none, action: .begin(beginning, consent), signer: id) { (bytes) throws(CryptoError) in
            try keys.sign(bytes)
        }
        let log = try KeyLog(first: statement)
        if let ended { try log.check(follows: ended) }
        return (statement, log, key)
    }

    /// Returns the signature by which this device agrees to join a log, behind its head.
    package func agreement(toJoin head: ChainHead) throws(CryptoError) -> Signature {
        try keys.sign(KeyStatement.enrolment(of: publicKeys, after: head.hash))
    }
}

extension KeyLog {
    /// Signs the next statement, and appends it.
    /// - Throws: `KeyLogFault` for a statement that others would refuse.
    package mutating func sign(_ action: KeyStatement.Action, by signer: Signer) throws -> KeyStatement {
        let statement = try KeyStatement(number: head.number + 1, before: head.hash, action: action, signer: signer.id) {
            (bytes) throws(CryptoError) in try signer.sign(bytes)
        }
        try append(statement)
        return statement
    }

    /// Adds a device that agreed to join behind this head.
    package mutating func add(_ keys: PublicKeys, agreement: Signature, by signer: Signer) throws -> KeyStatement {
        try sign(.addDevice(keys, agreement), by: signer)
    }

    /// Removes a device, and makes the next account key. Wrap that for the devices that stay, and make new versions of
    /// the scope keys that the account owns.
    package mutating func remove(
        _ device: DeviceID, by signer: Signer, using random: inout some RandomBytes
    ) throws -> (statement: KeyStatement, key: AccountKey) {
        let key = try AccountKey(generation: generation + 1, using: &random)
        return (try sign(.removeDevice(device, nextAccountKey: key.publicKey), by: signer), key)
    }

    /// Puts a new recovery key in the place of the old one, and makes the next account key.
    package mutating func replaceRecovery(
        with recovery: RecoveryKey, by signer: Signer, using random: inout some RandomBytes
    ) throws -> (statement: KeyStatement, key: AccountKey) {
        let key = try AccountKey(generation: generation + 1, using: &random)
        let (keys, next) = (recovery.publicKeys, key.publicKey)
        let consent = try recovery.keys.sign(KeyStatement.consent(to: keys, nextAccountKey: next, after: head.hash))
        return (try sign(.newRecovery(keys, nextAccountKey: next, consent), by: signer), key)
    }

    /// Ends the log. All that its keys open is lost.
    /// - Parameters:
    ///   - next: The device that begins the next log. It need not be enrolled: a new one has the recovery key sign.
    package mutating func reset(by signer: Signer, next: PublicKeys) throws -> KeyStatement {
        try sign(.reset(next: next), by: signer)
    }
}
