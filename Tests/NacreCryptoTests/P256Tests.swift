import Foundation
import NacreCrypto
import Testing

struct P256Tests {
    static let message = Array("2026-01-01T00:00:00Z:digest:/database/1/iCloud.example/development/public/records/query".utf8)

    @Test func `a signature is valid for its message and its key only`() throws {
        let key = try P256.PrivateKey()
        let signature = try key.sign(Self.message)
        #expect(try key.publicKey().isValid(signature, for: Self.message))
        #expect(try !key.publicKey().isValid(signature, for: Self.message + [0]))
        #expect(try !key.publicKey().isValid(signature, for: []))
        #expect(try !P256.PrivateKey().publicKey().isValid(signature, for: Self.message))
        #expect(signature.count <= 72 && signature.first == 0x30)
    }

    @Test func `a signature damaged anywhere is not valid, nor is what is none`() throws {
        let key = try P256.PrivateKey()
        let publicKey = try key.publicKey()
        let signature = try key.sign(Self.message)
        for signature in damaged(signature) { #expect(try !publicKey.isValid(signature, for: Self.message)) }
        let zeros: [UInt8] = [0x30, 6, 2, 1, 0, 2, 1, 0]
        #expect(try !publicKey.isValid(zeros, for: Self.message))
        #expect(try publicKey.isValid(signature, for: Self.message))
    }

    /// The key of RFC 6979 A.2.5: its secret and its point.
    static let secret = bytes("c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721")
    static let point = bytes(
        """
        60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6
        7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299
        """)

    /// RFC 6979 A.2.5: the signature of "sample" with SHA-256.
    @Test func `a published signature is valid`() throws {
        let key = try P256.PublicKey(pem: Self.pem(point: Self.point))
        let r = bytes("efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716")
        let s = bytes("f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8")
        let signature: [UInt8] = [0x30, 0x46, 2, 0x21, 0] + r + [2, 0x21, 0] + s
        #expect(try key.isValid(signature, for: Array("sample".utf8)))
        #expect(try !key.isValid(signature, for: Array("test".utf8)))
    }

    @Test func `a point that is not on the curve is no key`() {
        let point = [UInt8](repeating: 7, count: 64)
        let error = #expect(throws: CryptoError.self) { try P256.PublicKey(pem: Self.pem(point: point)) }
        #expect(error?.code == .malformedKey)
    }

    @Test func `the point at infinity is no key`() {
        let der = bytes("3019301306072a8648ce3d020106082a8648ce3d030107030200") + [0]
        let error = #expect(throws: CryptoError.self) { try P256.PublicKey(pem: Self.pem("PUBLIC KEY", der)) }
        #expect(error?.code == .malformedKey)
    }

    @Test func `a private key whose halves do not belong together is no key`() throws {
        let key = try P256.PrivateKey(pem: Self.pem(secret: Self.secret))
        #expect(try key.publicKey().pem() == P256.PublicKey(pem: Self.pem(point: Self.point)).pem())
        for index in [0, 31] {
            var other = Self.secret
            other[index] ^= 1
            let error = #expect(throws: CryptoError.self) { try P256.PrivateKey(pem: Self.pem(secret: other)) }
            #expect(error?.code == .malformedKey)
        }
    }

    @Test func `keys come back from their text`() throws {
        let key = try P256.PrivateKey()
        let text = try key.pem()
        #expect(text.hasPrefix("-----BEGIN PRIVATE KEY-----\n") && text.hasSuffix("-----END PRIVATE KEY-----\n"))
        let copy = try P256.PrivateKey(pem: text)
        let publicText = try key.publicKey().pem()
        #expect(publicText.hasPrefix("-----BEGIN PUBLIC KEY-----\n"))
        #expect(try copy.publicKey().pem() == publicText)
        #expect(try P256.PublicKey(pem: publicText).isValid(copy.sign(Self.message), for: Self.message))
        #expect(try P256.PrivateKey().pem() != text)
    }

    @Test func `one kind of key is not taken for the other`() throws {
        let key = try P256.PrivateKey()
        #expect(throws: CryptoError.self) { try P256.PrivateKey(pem: key.publicKey().pem()) }
        #expect(throws: CryptoError.self) { try P256.PublicKey(pem: key.pem()) }
    }

    @Test(arguments: [
        "", "x", "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        String(repeating: "-----BEGIN PUBLIC KEY-----\n", count: 1_000),
    ])
    func `text that is no key is refused`(text: String) {
        #expect(throws: CryptoError.self) { try P256.PublicKey(pem: text) }
        #expect(throws: CryptoError.self) { try P256.PrivateKey(pem: text) }
    }

    @Test func `many tasks may use one key at once`() async throws {
        let key = try P256.PrivateKey()
        let publicKey = try key.publicKey()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<32 as Range<UInt8> {
                group.addTask {
                    for _ in 0..<5 {
                        let signature = try key.sign([number])
                        let isValid = try publicKey.isValid(signature, for: [number])
                        let isValidForOther = try publicKey.isValid(signature, for: [number &+ 1])
                        #expect(isValid && !isValidForOther)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Returns a SubjectPublicKeyInfo on P-256 with the two coordinates of a point.
    static func pem(point: [UInt8]) -> String {
        pem("PUBLIC KEY", bytes("3059301306072a8648ce3d020106082a8648ce3d03010703420004") + point)
    }

    /// Returns an ECPrivateKey (SEC 1) on P-256 with this secret and the published point.
    static func pem(secret: [UInt8]) -> String {
        pem("EC PRIVATE KEY", bytes("30770201010420") + secret + bytes("a00a06082a8648ce3d030107a14403420004") + point)
    }

    static func pem(_ label: String, _ der: [UInt8]) -> String {
        let text = Data(der).base64EncodedString()
        let lines = stride(from: 0, to: text.count, by: 64).map { text.dropFirst($0).prefix(64) }
        return "-----BEGIN \(label)-----\n\(lines.joined(separator: "\n"))\n-----END \(label)-----\n"
    }
}
