import NacreCrypto
import Testing

struct HexTests {
    @Test func `every byte has two lower-case digits and comes back from either case`() throws {
        let all = Array(UInt8.min...UInt8.max)
        let text = Hex.encode(all)
        #expect(text.hasPrefix("000102") && text.hasSuffix("fdfeff") && text.utf8.count == 512)
        #expect(try Hex.decode(text) == all)
        #expect(try Hex.decode(text.uppercased()) == all)
        #expect(Hex.encode([]).isEmpty)
        #expect(try Hex.decode("").isEmpty)
    }

    @Test(arguments: ["0", "abc", "0g", "g0", " 00", "0x00", "+1", "00\n0", "é", "１２", "@@", "``", "//", "::"])
    func `text that is not hexadecimal is refused`(text: String) {
        #expect(throws: CryptoError(.malformedText)) { try Hex.decode(text) }
    }
}

struct Base64Tests {
    /// RFC 4648 §10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
    ])
    func `published texts, with padding and without`(plain: String, encoded: String) throws {
        let unpadded = encoded.filter { $0 != "=" }
        #expect(Base64.encode(Array(plain.utf8), alphabet: .standard) == encoded)
        #expect(Base64.encode(Array(plain.utf8), alphabet: .urlSafe) == unpadded)
        #expect(try Base64.decode(encoded, alphabet: .standard) == Array(plain.utf8))
        #expect(try Base64.decode(unpadded, alphabet: .urlSafe) == Array(plain.utf8))
    }

    @Test func `the alphabets differ in their last two characters`() throws {
        #expect(Base64.encode([0xfb, 0xff, 0xfe], alphabet: .standard) == "+//+")
        #expect(Base64.encode([0xfb, 0xff, 0xfe], alphabet: .urlSafe) == "-__-")
        #expect(throws: CryptoError(.malformedText)) { try Base64.decode("-__-", alphabet: .standard) }
        #expect(throws: CryptoError(.malformedText)) { try Base64.decode("+//+", alphabet: .urlSafe) }
    }

    @Test(arguments: [
        "Zg", "Zg=", "Zg===", "Z===", "====", "=", "==", "Zm9v=", "Zm9v====", "Zm8=Zm8=", "Z=g=", "Zm9v\n", " Zm9v", "Zm 9", "Zm9é", "Zh==", "Zm9=",
        "Zm9v Zg=",
    ])
    func `padded text that is not strict is refused`(text: String) {
        #expect(throws: CryptoError(.malformedText)) { try Base64.decode(text, alphabet: .standard) }
    }

    @Test(arguments: ["Z", "Zm9vZ", "Zg==", "Zm8=", "Zh", "Zm9", "Zm9v\n", "Zm9v\u{0}", "Zm9.", "éé"])
    func `unpadded text that is not strict is refused`(text: String) {
        #expect(throws: CryptoError(.malformedText)) { try Base64.decode(text, alphabet: .urlSafe) }
    }

    @Test(arguments: Base64.Alphabet.allCases)
    func `every character outside the alphabet is refused at every place`(alphabet: Base64.Alphabet) {
        let valid = Set(Base64.encode(Array(0...255) + [0xfb, 0xff, 0xbf, 0, 0x10, 0x83], alphabet: alphabet).utf8)
        for character in (0...127 as ClosedRange<UInt8>).filter({ !valid.contains($0) }) {
            for place in 0..<4 {
                var text = Array("AAAAAAAA".utf8)
                text[place] = character
                #expect(throws: CryptoError.self) { try Base64.decode(String(decoding: text, as: UTF8.self), alphabet: alphabet) }
            }
        }
    }

    /// Two-byte texts: all four-character ends, so exactly one text stands for each value.
    @Test func `each pair of bytes has one text only`() {
        let characters = Base64.encode(Array(0...255), alphabet: .urlSafe)
        var accepted = 0
        for last in Set(characters) where (try? Base64.decode("AA\(last)", alphabet: .urlSafe)) != nil { accepted += 1 }
        #expect(accepted == 16)
    }

    @Test(arguments: Base64.Alphabet.allCases)
    func `random bytes of every length come back`(alphabet: Base64.Alphabet) throws {
        var random = Seeded(4648)
        for length in Array(0...100) + [10_000] {
            let plain = random.bytes(length)
            #expect(try Base64.decode(Base64.encode(plain, alphabet: alphabet), alphabet: alphabet) == plain)
        }
    }
}
