extension HPKE {
    /// Seals a secret under an ephemeral key that the caller draws.
    /// - Parameter ephemeral: A new random key, for this secret alone: a second one under it would tell both.
    package static func seal(
        _ secret: SecretBytes, for recipient: X25519.PublicKey, info: [UInt8], associated: [UInt8], ephemeral: X25519.PrivateKey
    ) throws(CryptoError) -> [UInt8] {
        try seal(secret, for: recipient, info: info, associated: associated, under: ephemeral)
    }
}
