import NacreCloudWire
import Testing

struct BadDocument: CustomTestStringConvertible, Sendable {
    var bytes: [UInt8]
    var offset: Int
    var problem: JSONError.Problem

    init(_ text: String, _ offset: Int, _ problem: JSONError.Problem) {
        self.init(Array(text.utf8), offset, problem)
    }

    init(_ bytes: [UInt8], _ offset: Int, _ problem: JSONError.Problem) {
        self.bytes = bytes
        self.offset = offset
        self.problem = problem
    }

    var testDescription: String { String(decoding: bytes.prefix(40), as: UTF8.self) }
}

struct JSONStrictnessTests {
    static let structure: [BadDocument] = [
        BadDocument("", 0, .endOfInput),
        BadDocument(" \n\t\r", 4, .endOfInput),
        BadDocument("{", 1, .endOfInput),
        BadDocument("[", 1, .endOfInput),
        BadDocument("[1", 2, .endOfInput),
        BadDocument("[1,", 3, .endOfInput),
        BadDocument("[1,]", 3, .unexpectedByte),
        BadDocument("[,1]", 1, .unexpectedByte),
        BadDocument("[1,,2]", 3, .unexpectedByte),
        BadDocument("[1 2]", 3, .unexpectedByte),
        BadDocument("[1}", 2, .unexpectedByte),
        BadDocument("[}", 1, .unexpectedByte),
        BadDocument("]", 0, .unexpectedByte),
        BadDocument("{]", 1, .unexpectedByte),
        BadDocument("{,}", 1, .unexpectedByte),
        BadDocument(#"{"a"}"#, 4, .unexpectedByte),
        BadDocument(#"{"a":}"#, 5, .unexpectedByte),
        BadDocument(#"{"a":1,}"#, 7, .unexpectedByte),
        BadDocument(#"{"a":1 "b":2}"#, 7, .unexpectedByte),
        BadDocument(#"{"a" 1}"#, 5, .unexpectedByte),
        BadDocument(#"{"a"::1}"#, 5, .unexpectedByte),
        BadDocument(#"{a:1}"#, 1, .unexpectedByte),
        BadDocument(#"{1:1}"#, 1, .unexpectedByte),
        BadDocument(#"{'a':1}"#, 1, .unexpectedByte),
        BadDocument(#"{null:1}"#, 1, .unexpectedByte),
        BadDocument(#"{"a":1"#, 6, .endOfInput),
        BadDocument(#"{"a":1]"#, 6, .unexpectedByte),
        BadDocument("[1]x", 3, .trailingBytes),
        BadDocument("1 2", 2, .trailingBytes),
        BadDocument("{}{}", 2, .trailingBytes),
        BadDocument("[]]", 2, .trailingBytes),
        BadDocument("[] // note", 3, .trailingBytes),
        BadDocument("/* note */ []", 0, .unexpectedByte),
        BadDocument("[1,#\n2]", 3, .unexpectedByte),
        BadDocument("\u{FEFF}[]", 0, .unexpectedByte),
        BadDocument("\u{A0}[]", 0, .unexpectedByte),
        BadDocument("\u{C}[]", 0, .unexpectedByte),
        BadDocument([0], 0, .unexpectedByte),
        BadDocument([0x5B, 0x31, 0, 0x5D], 2, .unexpectedByte),
        BadDocument([0x5B, 0x5D, 0], 2, .trailingBytes),
        // UTF-16 and UTF-32 are not accepted.
        BadDocument([0xFF, 0xFE, 0x5B, 0, 0x5D, 0], 0, .unexpectedByte),
        BadDocument([0, 0x5B, 0, 0x5D], 0, .unexpectedByte),
        BadDocument(String(repeating: "[", count: 65) + String(repeating: "]", count: 65), 64, .tooDeep),
        BadDocument(String(repeating: #"{"a":"#, count: 65), 320, .tooDeep),
        BadDocument(String(repeating: "[", count: 100_000), 64, .tooDeep),
    ]

    static let scalars: [BadDocument] = [
        BadDocument("tru", 3, .endOfInput),
        BadDocument("trux", 3, .unexpectedByte),
        BadDocument("truee", 4, .trailingBytes),
        BadDocument("True", 0, .unexpectedByte),
        BadDocument("nul", 3, .endOfInput),
        BadDocument("nil", 1, .unexpectedByte),
        BadDocument("undefined", 0, .unexpectedByte),
        BadDocument("NaN", 0, .unexpectedByte),
        BadDocument("nan", 1, .unexpectedByte),
        BadDocument("Infinity", 0, .unexpectedByte),
        BadDocument("-Infinity", 1, .invalidNumber),
        BadDocument("-", 1, .endOfInput),
        BadDocument("--1", 1, .invalidNumber),
        BadDocument("+1", 0, .unexpectedByte),
        BadDocument("01", 1, .invalidNumber),
        BadDocument("-01", 2, .invalidNumber),
        BadDocument("00", 1, .invalidNumber),
        BadDocument("1.", 2, .endOfInput),
        BadDocument("[1.]", 3, .invalidNumber),
        BadDocument(".5", 0, .unexpectedByte),
        BadDocument("1.e5", 2, .invalidNumber),
        BadDocument("1e", 2, .endOfInput),
        BadDocument("1e+", 3, .endOfInput),
        BadDocument("[1e-]", 4, .invalidNumber),
        BadDocument("1e1.5", 3, .trailingBytes),
        BadDocument("0x10", 1, .trailingBytes),
        BadDocument("1_000", 1, .trailingBytes),
        BadDocument("1,5", 1, .trailingBytes),
        BadDocument("1f", 1, .trailingBytes),
        BadDocument("٣", 0, .unexpectedByte),
        BadDocument("1e999", 0, .numberOutOfRange),
        BadDocument("-1.8e308", 0, .numberOutOfRange),
        BadDocument("[1e99999999999999999999]", 1, .numberOutOfRange),
        BadDocument("9223372036854775808", 0, .integerOutOfRange),
        BadDocument("-9223372036854775809", 0, .integerOutOfRange),
        BadDocument("18446744073709551616", 0, .integerOutOfRange),
        BadDocument("100000000000000000000000", 0, .integerOutOfRange),
        BadDocument("0." + String(repeating: "1", count: 1023), 0, .numberTooLong),
    ]

    static let strings: [BadDocument] = [
        BadDocument("\"", 1, .endOfInput),
        BadDocument("\"abc", 4, .endOfInput),
        BadDocument("\"abcdefghijkl", 13, .endOfInput),
        BadDocument("\"abc\\", 5, .endOfInput),
        BadDocument("\"abc\\\"", 6, .endOfInput),
        BadDocument("'a'", 0, .unexpectedByte),
        BadDocument("\"a\nb\"", 2, .controlCharacter),
        BadDocument("\"a\tb\"", 2, .controlCharacter),
        BadDocument("\"a\u{0}b\"", 2, .controlCharacter),
        BadDocument("\"abcdefghij\u{1F}\"", 11, .controlCharacter),
        BadDocument(#""\x41""#, 1, .invalidEscape),
        BadDocument(#""\'""#, 1, .invalidEscape),
        BadDocument(#""\a""#, 1, .invalidEscape),
        BadDocument(#""\0""#, 1, .invalidEscape),
        BadDocument(#""\U0041""#, 1, .invalidEscape),
        BadDocument(#""\u12""#, 5, .invalidEscape),
        BadDocument(#""\u12G4""#, 5, .invalidEscape),
        BadDocument(#""\u"#, 3, .endOfInput),
        BadDocument(#""\u00"#, 5, .endOfInput),
        BadDocument("\"\\é\"", 1, .invalidEscape),
        BadDocument(#""\uD800""#, 1, .loneSurrogate),
        BadDocument(#""\uDBFFx""#, 1, .loneSurrogate),
        BadDocument(#""\uDC00""#, 1, .loneSurrogate),
        BadDocument(#""\uDC00\uD800""#, 1, .loneSurrogate),
        BadDocument(#""\uD800\uD800""#, 1, .loneSurrogate),
        BadDocument(#""\uD800\n   ""#, 1, .loneSurrogate),
        BadDocument(#""\uD800A""#, 1, .loneSurrogate),
        BadDocument(#""\uD800\u"#, 9, .endOfInput),
        BadDocument(#"{"\uD800":1}"#, 2, .loneSurrogate),
    ]

    /// Ill-formed UTF-8, each alone in a string and at the end of a longer one.
    static let sequences: [[UInt8]] = [
        [0x80], [0xBF], [0xC0, 0x80], [0xC0, 0xAF], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x80, 0xAF], [0xE0, 0x9F, 0xBF], [0xE2, 0x82],
        [0xE2, 0x28, 0xA1], [0xE2, 0x82, 0x28], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80],
        [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0x98], [0xF0, 0x28, 0x8C, 0xBC], [0xF4, 0x90, 0x80, 0x80],
        [0xF5, 0x80, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFC, 0x84, 0x80, 0x80, 0x80, 0x80], [0xFE], [0xFF], [0xFE, 0xFF],
    ]

    @Test(arguments: structure + scalars + strings)
    func `a bad document is refused where it is bad`(_ document: BadDocument) {
        let expected = JSONError(document.problem, at: document.offset)
        #expect(throws: expected) { try JSONTree(document.bytes) }
    }

    @Test(arguments: structure + scalars.filter { $0.problem != .numberOutOfRange && $0.problem != .integerOutOfRange } + strings)
    func `what is skipped is checked as strictly`(_ document: BadDocument) {
        #expect(throws: JSONError(document.problem, at: document.offset)) {
            try document.bytes.withUnsafeBytes { bytes in
                var reader = JSONReader(bytes)
                try reader.skip()
                try reader.finish()
            }
        }
    }

    @Test(arguments: sequences)
    func `ill-formed UTF-8 is refused`(_ sequence: [UInt8]) {
        for prefix in ["", "é", "sixteen bytes go"] {
            let bytes = Array("[\"\(prefix)".utf8) + sequence + Array("\"]".utf8)
            #expect(throws: JSONError(.invalidUTF8, at: 2 + prefix.utf8.count)) { try JSONTree(bytes) }
        }
    }

    @Test func `a request says the line, the column and the path`() {
        let json = "{\n  \"zones\": [\n    {\"zoneName\": \"a\"},\n    {\"zoneName\": tru}\n  ]\n}"
        let error = #expect(throws: ServerError.self) { try ZonesLookupRequest(json: Array(json.utf8)) }
        #expect(error?.code == .badRequest)
        #expect(error?.reason == "badRequestException: unexpected input at [line: 4, column: 18]")
        #expect(error?.field == "zones[1].zoneName")
        #expect(error?.remedy == "a string is expected here")
    }

    static let good: [(String, JSONTree)] = [
        (" [ ] ", .array([])),
        ("\t{\r\n}", .object([:])),
        ("0", .integer(0)),
        ("-0", .integer(0)),
        ("-9223372036854775808", .integer(.min)),
        ("9223372036854775807", .integer(.max)),
        ("-0.0", .double(-0.0)),
        ("1E+2", .double(100)),
        ("1e-999", .double(0)),
        ("0e999", .double(0)),
        ("1.7976931348623157e308", .double(.greatestFiniteMagnitude)),
        ("4.9e-324", .double(.leastNonzeroMagnitude)),
        ("9007199254740993.0", .double(9_007_199_254_740_992)),
        ("123456789012345678901234567890.0", .double(123_456_789_012_345_677_877_719_597_056)),
        ("0.000000000000000000000000000000000000000000000000000001", .double(1e-54)),
        (#""\u0000\u00e9\uD83D\uDE00\/\b\f\n\r\t\"\\""#, .string("\u{0}é😀/\u{8}\u{C}\n\r\t\"\\")),
        ("\"\u{7F}\u{2028}\u{FFFF}\u{10FFFF}\"", .string("\u{7F}\u{2028}\u{FFFF}\u{10FFFF}")),
        (#"{"a":1,"a":2}"#, .object(["a": .integer(2)])),
        (#"{"":{"":[]}}"#, .object(["": .object(["": .array([])])])),
        (String(repeating: "[", count: 63) + "0" + String(repeating: "]", count: 63), (0..<63).reduce(.integer(0)) { tree, _ in .array([tree]) }),
    ]

    @Test(arguments: good)
    func `a good document is read`(_ json: String, _ tree: JSONTree) throws {
        let read = try JSONTree(json)
        #expect(read == tree)
        if case (.double(let left), .double(let right)) = (read, tree) { #expect(left.sign == right.sign) }
    }
}
