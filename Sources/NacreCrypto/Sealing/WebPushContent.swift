/// Messages that only one browser can read, whatever carries them: `aes128gcm` (RFC 8188) with keys agreed by RFC 8291.
package enum WebPushContent {
    /// The longest plaintext that fits into the 4,096 bytes that every push service takes (RFC 8291, section 4).
    package static let plaintextLength: Int = recordLength - headerLength - 1 - AESGCM.tagLength

    private static let recordLength = 4096
    private static let saltLength = 16
    private static let headerLength = saltLength + 4 + 1 + P256.PublicKey.pointLength

    /// The recipient of a message: the keys that a browser gives with its subscription.
    package struct Receiver: Sendable {
        fileprivate let key: P256.PublicKey
        fileprivate let point: [UInt8]
        fileprivate let authentication: [UInt8]

        /// - Parameters:
        ///   - point: `p256dh`, a point of 65 bytes.
        ///   - authentication: `auth`, 16 bytes.
        /// - Throws: `malformedKey` for an invalid point, `invalidKeyLength` for another length of `auth`.
        package init(point: [UInt8], authentication: [UInt8]) throws(CryptoError) {
            guard authentication.count == 16 else { throw CryptoError(.invalidKeyLength) }
            key = try P256.PublicKey(point: point)
            (self.point, self.authentication) = (point, authentication)
        }
    }

    /// Returns a message for one receiver, under new keys at each call.
    /// - Parameter plaintext: At most `plaintextLength` bytes; a longer one throws `invalidLength`.
    /// - Returns: The body of a request with `Content-Encoding: aes128gcm`.
    package static func seal(_ plaintext: [UInt8], for receiver: Receiver) throws(CryptoError) -> [UInt8] {
        try seal(plaintext, for: receiver, under: P256.PrivateKey(), salt: SecureRandom.bytes(saltLength))
    }

    /// - Parameters:
    ///   - sender: A key for this message alone. Only tests choose it.
    ///   - salt: 16 bytes. Only tests choose them.
    static func seal(
        _ plaintext: [UInt8], for receiver: Receiver, under sender: P256.PrivateKey, salt: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        guard plaintext.count <= plaintextLength, salt.count == saltLength else { throw CryptoError(.invalidLength) }
        let point = try sender.publicKey().point()
        let agreed = try HKDFSHA256.expand(
            HKDFSHA256.extract(sender.sharedSecret(with: receiver.key), salt: receiver.authentication),
            info: Array("WebPush: info\u{0}".utf8) + receiver.point + point)
        let derived = HKDFSHA256.extract(agreed, salt: salt)
        let key = try HKDFSHA256.expand(derived, info: Array("Content-Encoding: aes128gcm\u{0}".utf8), count: 16)
        let nonce = try HKDFSHA256.expand(derived, info: Array("Content-Encoding: nonce\u{0}".utf8), count: AESGCM.nonceLength)
        // The only record is also the last one: its padding is a single byte 2.
        var sealer = try AESGCM(key: key)
        let record = try sealer.seal(plaintext + [2], nonce: nonce.exposed, associated: [])
        let length = [
            UInt8(recordLength >> 24 & 0xff), UInt8(recordLength >> 16 & 0xff), UInt8(recordLength >> 8 & 0xff), UInt8(recordLength & 0xff),
        ]
        return salt + length + [UInt8(point.count)] + point + record
    }
}
