import Testing

@testable import NacreHTTPServer

/// Tests that heads and chunks are found in any pieces of their bytes.
struct ChunkReaderTests {
    private static let body = "5\r\nhello\r\n00006;a=\"b\"\t\r\n world\r\n1 \r\n!\r\n0;x\r\nTrailer: a\r\nOther: b\r\n\r\n"

    /// Reads a text in pieces of `size` bytes, and returns its content, the outcome, and the bytes read.
    private static func read(_ text: String, by size: Int) -> (body: String, outcome: ChunkReader.Outcome, count: Int) {
        let bytes = Array(text.utf8)
        var reader = ChunkReader()
        var body: [UInt8] = []
        var index = 0
        while index < bytes.count {
            let piece = bytes[index..<min(index + size, bytes.count)]
            let (count, outcome) = piece.withUnsafeBytes { reader.read($0, into: &body) }
            index += count
            if outcome != .unfinished { return (String(decoding: body, as: UTF8.self), outcome, index) }
        }
        return (String(decoding: body, as: UTF8.self), .unfinished, index)
    }

    @Test func `a body in chunks is the same in any pieces, and what follows it is left`() {
        for size in 1...Self.body.utf8.count + 10 {
            let (body, outcome, count) = Self.read(Self.body + "GET / HTTP/1.1\r\n", by: size)
            #expect(body == "hello world!" && outcome == .finished && count == Self.body.utf8.count, "in pieces of \(size)")
        }
        // CR LF is one character of a text, and two bytes.
        for length in 0..<Self.body.utf8.count {
            #expect(Self.read(String(decoding: Self.body.utf8.prefix(length), as: UTF8.self), by: 7).outcome == .unfinished)
        }
    }

    @Test(arguments: [
        "g\r\n", "\r\n", ";a\r\n", " 1\r\n", "+1\r\n", "1\n", "1\r\r", "1\rx", "1\r\nxy", "1\r\nx\n", "1\r\nx\r\r", "0\r\n\n", "0\r\nX: a\n",
        "0\r\n\r\r", "1;\u{7F}\r\n",
        "1234567890abcdef\r\n", "1;" + String(repeating: "a", count: ChunkReader.lineBytesMax),
    ])
    func `what is no chunk is malformed`(text: String) {
        for size in [1, 2, text.utf8.count] { #expect(Self.read(text, by: size).outcome == .malformed) }
    }

    @Test func `the end of a head is found once, wherever its bytes are cut, and a line feed alone is told`() {
        for (text, found) in [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET", HeadEnd.Found.at(27)), ("GET / HTTP/1.1\r\nHost: a\r\n", .not), ("\n", .bareLineFeed),
            ("GET / HTTP/1.1\r\nHost: a\n\r\n", .bareLineFeed), ("GET / HTTP/1.1\r\n\n", .bareLineFeed), ("GET / HTTP/1.1\r\n\r\n", .at(18)),
        ] {
            let bytes = Array(text.utf8)
            for cut in 0...bytes.count {
                var end = HeadEnd()
                let first = bytes[..<cut].withUnsafeBytes { end.find(in: $0) }
                let last = first == .not ? bytes.withUnsafeBytes { end.find(in: $0) } : first
                #expect(last == found, "\(text) cut at \(cut)")
            }
        }
    }
}
