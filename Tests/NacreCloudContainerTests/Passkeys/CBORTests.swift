import NacreCloudTestSupport
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer

struct CBORTests {
    private static let values: [CBOR] = [
        .integer(0), .integer(23), .integer(24), .integer(255), .integer(256), .integer(65_536),
        .integer(1 << 32), .integer(.max),
        .integer(-1), .integer(-7), .integer(-257), .integer(.min), .bytes([]),
        .bytes([UInt8](0..<200)), .text("fmt"), .text("Ünïcode 🦪"),
        .array([]), .array([.integer(1), .text("a"), .null]), .map([:]), .boolean(true),
        .boolean(false), .null,
        .map([
            .integer(1): .integer(2), .integer(3): .integer(-7),
            .text("x5c"): .array([.bytes([1])]),
        ]),
        .array([.array([.array([.array([])])])]),
    ]

    @Test func `what is written is read as the same value, and no part of it is one`() {
        for value in Self.values {
            let written = value.written
            #expect(CBOR(written) == value)
            for count in 0..<written.count {
                #expect(CBOR(Array(written[..<count])) == nil, "\(value) \(count)")
            }
            #expect(CBOR(written + [0]) == nil)
            var reader = CBORReader((written + [9, 9])[...])
            #expect(reader.value() == value && reader.rest == [9, 9])
        }
    }

    @Test(
        arguments: [
            ("a length without an end", [0x9f, 0xff]),
            ("a text without an end", [0x7f, 0x61, 0x61, 0xff]), ("a tag", [0xc0, 0x60]),
            ("a fraction", [0xf9, 0x3c, 0x00]), ("undefined", [0xf7]),
            ("a number longer than it is", [0x18, 23]),
            ("a length longer than it is", [0x58, 1, 0]),
            ("a number beyond 63 bits", [0x1b, 0xff, 0, 0, 0, 0, 0, 0, 0]),
            ("a text that is no UTF-8", [0x61, 0xff]), ("a key twice", [0xa2, 1, 1, 1, 2]),
            ("a list as a key", [0xa1, 0x81, 1, 1]),
            ("five levels", [0x81, 0x81, 0x81, 0x81, 0x80]),
            ("a list of more than there is", [0x9a, 0xff, 0xff, 0xff, 0xff, 1]),
            (
                "a map of more than there is",
                [0xbb, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]
            ),
            (
                "bytes of more than there are",
                [0x5b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]
            ), ("a reserved length", [0x1c]),
            ("nothing", []),
        ] as [(String, [UInt8])])
    func `what authenticators do not write is no value`(_ label: String, _ bytes: [UInt8]) {
        #expect(CBOR(bytes) == nil, "\(label)")
    }

    @Test(arguments: ["A", "AA=", "A+", "A/", "AB", "A A", "AAAA=", "ä"])
    func `base64 for URLs is written in one way`(_ text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test func `base64 for URLs comes back as it was`() {
        for count in 0..<40 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 251) }
            let text = Base64URL.encode(bytes)
            #expect(Base64URL.decode(text) == bytes && !text.contains { "+/=".contains($0) })
        }
    }
}
