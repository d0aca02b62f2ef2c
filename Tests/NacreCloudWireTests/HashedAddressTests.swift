import NacreCloudWire
import Testing

/// Tests of the hash message of an e-mail address, on clients and the server.
@Suite struct HashedAddressTests {
    @Test func `one address has one hash, however it is spelled`() {
        #expect(HashedAddress.message(emailAddress: "Ada@Example.COM") == Array("email:ada@example.com".utf8))
        #expect(HashedAddress.message(emailAddress: "ada@example.com") != HashedAddress.message(emailAddress: "ada@example.co"))
    }

    @Test func `a hash is 64 hexadecimal digits in lower case`() {
        let text = HashedAddress.text(of: (0..<32).map { UInt8($0 * 8 + 7) })
        #expect(text.hasPrefix("070f171f") && text.hasSuffix("f7ff") && HashedAddress.isHash(text))
        for other in ["", "07", text + "0", text.uppercased(), String(text.dropLast()) + "g", String(text.dropLast(2)) + "ü"] {
            #expect(!HashedAddress.isHash(other), "\(other)")
        }
    }
}
