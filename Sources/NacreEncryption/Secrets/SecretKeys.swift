package import NacreCrypto
package import NacreEncryptionForms

/// The two private keys of a device or of the recovery key: one signs, one opens.
package struct SecretKeys: Secret {
    let signing: Ed25519.PrivateKey
    let agreement: X25519.PrivateKey
    package let publicKeys: PublicKeys

    init(signing: SecretBytes, agreement: SecretBytes) throws(CryptoError) {
        self.signing = try Ed25519.PrivateKey(seed: signing)
        self.agreement = try X25519.PrivateKey(agreement)
        guard let signing = KeyBytes(self.signing.publicKey.bytes), let agreement = KeyBytes(self.agreement.publicKey.bytes) else {
            throw CryptoError(.libraryFailure)
        }
        publicKeys = PublicKeys(signing: signing, agreement: agreement)
    }

    func sign(_ message: [UInt8]) throws(CryptoError) -> Signature {
        guard let signature = Signature(try signing.sign(message)) else { throw CryptoError(.libraryFailure) }
        return signature
    }
}

/// The keys of a device. They are made on it, and never leave it.
package struct DeviceKeys: Secret {
    let keys: SecretKeys
    package let id: DeviceID

    /// Makes the keys of a new device.
    package init(using random: inout some RandomBytes) throws(CryptoError) {
        try self.init(signing: random.secret(32), agreement: random.secret(32))
    }

    /// Takes the keys that the device has kept.
    /// - Parameters:
    ///   - signing: The seed of the Ed25519 key, 32 bytes.
    ///   - agreement: The X25519 key, 32 bytes.
    package init(signing: SecretBytes, agreement: SecretBytes) throws(CryptoError) {
        keys = try SecretKeys(signing: signing, agreement: agreement)
        id = try DeviceID(of: keys.publicKeys)
    }

    package var publicKeys: PublicKeys { keys.publicKeys }
    /// The two keys, for the store of the device's secrets.
    package var kept: (signing: SecretBytes, agreement: SecretBytes) { (keys.signing.seed, keys.agreement.bytes) }
}

/// The recovery key of an account: 32 bytes that its user has written down as 24 words. It signs and opens in the place
/// of a device.
package struct RecoveryKey: Secret {
    let secret: SecretBytes
    let keys: SecretKeys

    /// Makes a new recovery key.
    package init(of account: AccountName, using random: inout some RandomBytes) throws(CryptoError) {
        try self.init(random.secret(RecoveryWords.secretLength), of: account)
    }

    /// Takes the secret of `RecoveryWords`. Other accounts have other keys, also with the same words.
    package init(_ secret: SecretBytes, of account: AccountName) throws(CryptoError) {
        let info = try Digest(label: "nacre recovery key", [Place(account).bytes]).bytes
        let both = try HKDFSHA256.expand(HKDFSHA256.extract(secret, salt: []), info: info, count: 64)
        self.secret = secret
        keys = try SecretKeys(signing: both.part(0..<32), agreement: both.part(32..<64))
    }

    package var publicKeys: PublicKeys { keys.publicKeys }

    /// Words for the user to write down. Nothing wipes them.
    package func words() throws(CryptoError) -> [String] { try RecoveryWords.words(for: secret) }
}

/// The key that signs a statement.
package enum Signer: Secret {
    case device(DeviceKeys)
    case recovery(RecoveryKey)

    /// The device; nil for the recovery key.
    var id: DeviceID? {
        switch self {
        case .device(let device): device.id
        case .recovery: nil
        }
    }

    func sign(_ message: [UInt8]) throws(CryptoError) -> Signature {
        switch self {
        case .device(let device): try device.keys.sign(message)
        case .recovery(let recovery): try recovery.keys.sign(message)
        }
    }
}
