import Foundation
import NacreCloudTestSupport
import NacreCloudWire
import Testing

struct Base64Tests {
    @Test func `it agrees with Foundation at every length`() {
        var seed = SeededRandom()
        for count in 0..<200 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &seed) }
            let text = Data(bytes).base64EncodedString()
            #expect(Base64.encode(bytes) == text, "\(seed)")
            #expect(Base64.decode(text) == bytes, "\(seed)")
        }
    }

    @Test(arguments: [
        "A", "AA", "AAA", "AAAAA", "=", "==", "===", "====", "A===", "AA=A", "AA==AA==", "A=AA", "AA AA===", "AAAA\n", " AAAA", "AA-_", "AAé=",
        "AAA\u{0}",
        "QR==", "QUF=", "AAA=AAAA",
    ])
    func `what is not standard base64 is refused`(_ text: String) {
        #expect(Base64.decode(text) == nil)
    }

    /// RFC 4648, section 10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
    ])
    func `published texts`(plain: String, encoded: String) {
        #expect(Base64.encode(Array(plain.utf8)) == encoded)
        #expect(Base64.decode(encoded) == Array(plain.utf8))
    }

    @Test func `every character outside the alphabet is refused at every place`() {
        let valid = Set(Base64.encode(Array(0...255) + [0xfb, 0xff, 0xbf, 0, 0x10, 0x83]).utf8)
        #expect(valid.count == 65)
        for character in (0...127 as ClosedRange<UInt8>).filter({ !valid.contains($0) }) {
            for index in 0..<8 {
                var text = Array("AAAAAAAA".utf8)
                text[index] = character
                #expect(Base64.decode(String(decoding: text, as: UTF8.self)) == nil)
            }
        }
    }
}
