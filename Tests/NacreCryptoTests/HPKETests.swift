import NacreCloudTestSupport
import Testing

@testable import NacreCrypto

struct HPKETests {
    private static let info = bytes("4f6465206f6e2061204772656369616e2055726e")
    private static let associated = bytes("436f756e742d30")
    private static let secret = SecretBytes(Array("Beauty is truth, truth beauty".utf8))

    /// RFC 9180, A.1.1, and the same for AES-256-GCM from the vectors that its authors publish beside it.
    @Test(arguments: [
        (
            HPKE.Cipher.aes128, "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736",
            "4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8",
            "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d",
            """
            37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431
            f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a
            """
        ),
        (
            HPKE.Cipher.aes256, "179d4b53b6365c45b600c4163b61d95cbc2f4d9e36f1695558dce265ab8bab11",
            "497b4502664cfea5d5af0b39934dac72242a74f8480451e1aee7d6a53320333d",
            "430f4b9859665145a6b1ba274024487bd66f03a2dd577d7753c68d7d7d00c00c",
            """
            6c93e09869df3402d7bf231bf540fadd35cd56be14f97178f0954db94b7fc256
            e5d84cd531cfb583096e7cfa9641bd3079cf3a91cda813c52deb5f512be9931980a41de125a925cdad859d5b7a
            """
        ),
    ])
    func `a published secret is sealed and opened as published`(
        cipher: HPKE.Cipher, ephemeral: String, recipient: String, publicKey: String, expected: String
    ) throws {
        let key = try X25519.PrivateKey(SecretBytes(bytes(recipient)))
        #expect(key.publicKey.bytes == bytes(publicKey))
        let sealed = try HPKE.seal(
            Self.secret, for: key.publicKey, info: Self.info, associated: Self.associated, under: X25519.PrivateKey(SecretBytes(bytes(ephemeral))),
            cipher: cipher)
        #expect(sealed == bytes(expected))
        #expect(try HPKE.open(sealed, with: key, info: Self.info, associated: Self.associated, cipher: cipher) == Self.secret)
    }

    @Test func `the public calls are those of the suite with AES-256`() throws {
        let key = try X25519.PrivateKey()
        let sealed = try HPKE.seal(Self.secret, for: key.publicKey, info: Self.info, associated: Self.associated)
        #expect(sealed.count == Self.secret.count + HPKE.overhead)
        #expect(try HPKE.open(sealed, with: key, info: Self.info, associated: Self.associated) == Self.secret)
        #expect(try HPKE.open(sealed, with: key, info: Self.info, associated: Self.associated, cipher: .aes256) == Self.secret)
        #expect(throws: CryptoError(.notAuthentic)) {
            try HPKE.open(sealed, with: key, info: Self.info, associated: Self.associated, cipher: .aes128)
        }
        let again = try HPKE.seal(Self.secret, for: key.publicKey, info: Self.info, associated: Self.associated)
        #expect(again.prefix(32) != sealed.prefix(32) && again.dropFirst(32) != sealed.dropFirst(32))
    }

    @Test func `a sealed secret damaged anywhere does not open`() throws {
        let key = try X25519.PrivateKey()
        for sealed in damaged(try HPKE.seal(Self.secret, for: key.publicKey, info: Self.info)) {
            #expect(throws: CryptoError(.notAuthentic)) { try HPKE.open(sealed, with: key, info: Self.info) }
        }
        #expect(throws: CryptoError(.notAuthentic)) { try HPKE.open([], with: key, info: Self.info) }
    }

    /// A coordinate with its highest bit set is the same point, and another encapsulated key.
    @Test func `the encapsulated key is bound in the form that was sent`() throws {
        let key = try X25519.PrivateKey()
        var sealed = try HPKE.seal(Self.secret, for: key.publicKey, info: Self.info)
        sealed[31] ^= 0x80
        #expect(throws: CryptoError(.notAuthentic)) { try HPKE.open(sealed, with: key, info: Self.info) }
    }

    @Test func `a secret opens for its key, purpose and associated data only`() throws {
        let key = try X25519.PrivateKey()
        let sealed = try HPKE.seal(Self.secret, for: key.publicKey, info: Self.info, associated: Self.associated)
        let (other, info, associated) = (try X25519.PrivateKey(), Self.info, Self.associated)
        for (key, info, associated) in [
            (other, info, associated), (key, info + [0], associated), (key, [], associated), (key, info, associated + [0]), (key, info, []),
            (key, associated, info), (key, info + associated, []),
        ] {
            #expect(throws: CryptoError(.notAuthentic)) { try HPKE.open(sealed, with: key, info: info, associated: associated) }
        }
    }

    /// A server that sends such a key for somebody would know what it is sealed under.
    @Test func `nothing is sealed for a key of small order, nor opened under one`() throws {
        let key = try X25519.PrivateKey()
        let zero = [UInt8](repeating: 0, count: 32)
        let recipient = try X25519.PublicKey(zero)
        #expect(throws: CryptoError(.malformedKey)) { try HPKE.seal(Self.secret, for: recipient, info: Self.info) }
        let sealed = try HPKE.seal(Self.secret, for: key.publicKey, info: Self.info)
        #expect(throws: CryptoError(.notAuthentic)) { try HPKE.open(zero + sealed.dropFirst(32), with: key, info: Self.info) }
    }

    @Test func `secrets of any length come back, also none`() throws {
        var random = SeededRandom(seed: 9180)
        let key = try X25519.PrivateKey(SecretBytes(random.bytes(32)))
        for length in Array(0...33) + [10_000] {
            let secret = SecretBytes(random.bytes(length))
            let (info, associated) = (random.bytes(length), random.bytes(length))
            let sealed = try HPKE.seal(
                secret, for: key.publicKey, info: info, associated: associated, under: X25519.PrivateKey(SecretBytes(random.bytes(32))))
            #expect(try HPKE.open(sealed, with: key, info: info, associated: associated) == secret)
        }
    }
}
