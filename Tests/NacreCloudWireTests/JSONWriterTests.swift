import NacreCloudWire
import Testing

struct JSONWriterTests {
    private func written(_ write: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter(capacity: 1)
        write(&writer)
        return String(decoding: writer.finish(), as: UTF8.self)
    }

    static let strings: [(String, String)] = [
        ("", #""""#),
        ("plain", #""plain""#),
        ("a\"b\\c/d", #""a\"b\\c/d""#),
        ("\u{8}\u{9}\u{A}\u{C}\u{D}", #""\b\t\n\f\r""#),
        ("\u{0}\u{B}\u{F}\u{10}\u{1A}\u{1F}", #""\u0000\u000b\u000f\u0010\u001a\u001f""#),
        ("\u{7F}é語😀\u{2028}", "\"\u{7F}é語😀\u{2028}\""),
        ("eight___nine\"", #""eight___nine\"""#),
    ]

    @Test(arguments: strings)
    func `only what must be escaped is`(_ value: String, _ json: String) {
        #expect(written { $0.string(value) } == json)
    }

    @Test(arguments: 0...40) func `a text is escaped wherever it stands among letters of whatever number`(count: Int) {
        let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".prefix(count))
        let plain = String(letters)
        #expect(written { $0.string(plain) } == "\"\(plain)\"")
        for first in 0...count {
            for second in first...count {
                let parts = [String(letters[..<first]), String(letters[first..<second]), String(letters[second...])]
                #expect(written { $0.string(parts.joined(separator: "\n")) } == "\"\(parts.joined(separator: "\\n"))\"")
            }
        }
    }

    static let integers: [Int64] = [0, 9, 10, 99, 100, -1, -10, 999_999_999_999_999_999, 1_000_000_000_000_000_000, .max, .min]

    @Test(arguments: integers)
    func `an integer is its digits`(_ value: Int64) {
        #expect(written { $0.integer(value) } == value.description)
        #expect(written { $0.quotedInteger(value) } == "\"\(value)\"")
    }

    static let doubles: [(Double, String)] = [
        (0, "0.0"), (-0.0, "-0.0"), (1, "1.0"), (-17, "-17.0"), (0.1, "0.1"), (1e15, "1000000000000000.0"), (1e16, "1e+16"),
        (999_999_999_999_999, "999999999999999.0"),
        (.leastNonzeroMagnitude, "5e-324"), (.greatestFiniteMagnitude, "1.7976931348623157e+308"), (.nan, "null"), (.infinity, "null"),
    ]

    @Test(arguments: doubles)
    func `a double is its shortest digits, and never what JSON cannot say`(_ value: Double, _ json: String) {
        #expect(written { $0.double(value) } == json)
    }

    @Test func `commas stand between values and nowhere else`() {
        let json = written { writer in
            writer.beginObject()
            writer.key("a")
            writer.beginArray()
            writer.beginArray()
            writer.endArray()
            writer.integer(1)
            writer.beginObject()
            writer.endObject()
            writer.null()
            writer.endArray()
            writer.write("b", true)
            writer.write("c", "d")
            writer.write(ifPresent: "e", nil as String?)
            writer.key(String("f\n"))
            writer.base64([1, 2])
            writer.endObject()
        }
        #expect(json == #"{"a":[[],1,{},null],"b":true,"c":"d","f\n":"AQI="}"#)
    }

    @Test func `a long document outgrows its first buffer`() throws {
        let texts = (0..<2000).map { "text number \($0)" }
        let json = written { writer in
            writer.beginArray()
            for text in texts { writer.string(text) }
            writer.endArray()
        }
        #expect(try JSONTree(json) == .array(texts.map { .string($0) }))
    }
}
