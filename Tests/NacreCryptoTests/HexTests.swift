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
