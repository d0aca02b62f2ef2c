import Foundation
import NacreCloudTestSupport
import Testing

@testable import NacreCrypto

/// Tests of the cryptography of web push, by the vectors of its standards.
struct WebPushContentTests {
    /// Decodes a vector in the form of the RFCs: base64 for URLs.
    private func vector(_ text: String) -> [UInt8] {
        let standard = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        let padded = standard + String(repeating: "=", count: (4 - standard.count % 4) % 4)
        return Data(base64Encoded: padded).map(Array.init) ?? []
    }

    /// RFC 5903, 8.1.
    @Test func `two keys come to the published secret, from either side`() throws {
        let (x, y) = (
            bytes("dad0b65394221cf9b051e1feca5787d098dfe637fc90b9ef945d0c3772581180"),
            bytes("5271a0461cdb8252d61f1c456fa3e59ab1f45b33accf5f58389e0577b8990bb3")
        )
        let secret = bytes("c88f01f510d9ac3f70a292daa2316de544e9aab8afe84049c62a9c57862d1433")
        let key = try P256.PrivateKey(pem: Self.pem(secret: secret, point: x + y))
        let other = try P256.PublicKey(
            x: bytes("d12dfb5289c8d4f81208b70270398c342296970a0bccb74c736fc7554494bf63"),
            y: bytes("56fbf3ca366cc23e8157854c13c58d6aac23f046ada30f8353e74f33039872ab"))
        #expect(try key.sharedSecret(with: other).exposed == bytes("d6840f6b42f6edafd13116e0e12565202fef8e9ece7dce03812464d04b9442de"))
        let mine = try P256.PrivateKey()
        #expect(try mine.sharedSecret(with: key.publicKey()) == key.sharedSecret(with: mine.publicKey()))
        #expect(try key.publicKey().point() == [4] + x + y)
    }

    private static let receiver =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    private static let sender =
        "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8"

    /// RFC 8291, section 5.
    @Test func `a message is sealed as published`() throws {
        let point = vector(Self.sender)
        let sender = try P256.PrivateKey(
            pem: Self.pem(secret: vector("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"), point: Array(point.dropFirst())))
        let receiver = try WebPushContent.Receiver(point: vector(Self.receiver), authentication: vector("BTBZMqHH6r4Tts7J_aSIgg"))
        let sealed = try WebPushContent.seal(
            Array("When I grow up, I want to be a watermelon".utf8), for: receiver, under: sender, salt: vector("DGv6ra1nlYgDCS1FRnbzlw"))
        let published =
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf"
            + "1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        #expect(sealed == vector(published))
    }

    @Test func `a message has its room, and each is sealed under other keys`() throws {
        let receiver = try WebPushContent.Receiver(point: vector(Self.receiver), authentication: vector("BTBZMqHH6r4Tts7J_aSIgg"))
        #expect(WebPushContent.plaintextLength == 3993)
        let longest = [UInt8](repeating: 65, count: WebPushContent.plaintextLength)
        let sealed = try WebPushContent.seal(longest, for: receiver)
        #expect(sealed.count == 4096)
        #expect(try WebPushContent.seal(longest, for: receiver) != sealed)
        #expect(throws: CryptoError(.invalidLength)) { try WebPushContent.seal(longest + [65], for: receiver) }
        #expect(try WebPushContent.seal([], for: receiver).count == 86 + 17)
    }

    @Test func `a receiver is a point on the curve and a secret of 16 bytes`() throws {
        let point = vector(Self.receiver)
        let secret = [UInt8](repeating: 1, count: 16)
        var compressed = Array(point.prefix(33))
        compressed[0] = 2
        var elsewhere = point
        elsewhere[64] ^= 1
        for wrong in [[], compressed, elsewhere, point + [0], Array(point.dropFirst())] {
            #expect(throws: CryptoError.self) { try WebPushContent.Receiver(point: wrong, authentication: secret) }
        }
        for wrong in [[], Array(secret.dropFirst()), secret + [1]] {
            #expect(throws: CryptoError(.invalidKeyLength)) { try WebPushContent.Receiver(point: point, authentication: wrong) }
        }
    }

    @Test(arguments: 0..<200) func `a signature as a pair of numbers is valid, whatever numbers they are`(_: Int) throws {
        let key = try P256.PrivateKey()
        let pair = try key.signPair(Array("token".utf8))
        #expect(pair.count == 64)
        #expect(try key.publicKey().isValid(pair: pair, for: Array("token".utf8)))
        #expect(try !key.publicKey().isValid(pair: pair, for: Array("other".utf8)))
    }

    @Test func `numbers of a signature are as long as the curve's, short ones too`() {
        let short = DER.sequence(DER.integer([0, 0, 5]), DER.integer([0xff]))
        #expect(DER.pair(short, of: 32) == [UInt8](repeating: 0, count: 31) + [5] + [UInt8](repeating: 0, count: 31) + [0xff])
        let long = DER.sequence(DER.integer([UInt8](repeating: 0xff, count: 33)), DER.integer([1]))
        #expect(DER.pair(long, of: 32) == nil)
        for wrong in damaged(short) where wrong.count < short.count { #expect(DER.pair(wrong, of: 32) == nil) }
        for wrong in damaged(short) { _ = DER.pair(wrong, of: 32) }
    }

    /// Returns an ECPrivateKey (SEC 1) on P-256.
    private static func pem(secret: [UInt8], point: [UInt8]) -> String {
        P256Tests.pem("EC PRIVATE KEY", bytes("30770201010420") + secret + bytes("a00a06082a8648ce3d030107a14403420004") + point)
    }
}
