import Testing

@testable import NacreHTTPServer

/// Tests of the file in a form, as clients send it.
@Suite struct FileFormTests {
    private static let disposition = "Content-Disposition: form-data; name=\"file\"; filename=\"a;b\\\"c.jpg\""
    private static let type = "Content-Type: image/jpeg"

    /// Reads a form in pieces of a size, and returns the bytes of its file.
    private func file(in form: String, boundary: String = "b", pieces size: Int) throws -> String {
        var reader = try #require(try FileForm(contentType: "multipart/form-data; charset=utf-8; boundary=\(boundary)"))
        var file: [UInt8] = []
        var rest = Array(form.utf8)[...]
        while !rest.isEmpty {
            file += try reader.file(in: Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        try reader.end()
        return String(decoding: file, as: UTF8.self)
    }

    @Test(
        arguments: [
            ("--b\r\n\(disposition)\r\n\r\nbytes\r\n--b--\r\n", "bytes"), ("\r\n--b \r\n\(disposition)\r\n\r\nbytes\r\n--b--", "bytes"),
            (
                "--b\r\n\(disposition)\r\n\(type)\r\nContent-Transfer-Encoding: binary\r\n\r\n\r\n\r\n--\r\n--a\r\r\n-\r\n--b--\r\n \r\n",
                "\r\n\r\n--\r\n--a\r\r\n-"
            ),
            ("--b\r\ncontent-disposition: FORM-DATA; name=f\r\n\(type)\r\n\r\n\r\n--b--\r\n", ""),
        ] as [(String, String)])
    func `the one file of a form is read byte by byte, however the form is cut`(_ form: String, _ bytes: String) throws {
        for size in 1...form.utf8.count { #expect(try file(in: form, pieces: size) == bytes, "\(size)") }
    }

    @Test(
        arguments: [
            ("", .cut), ("\r", .cut), ("--b", .cut), ("--b\r\n\(disposition)\r\n\r\nbytes", .cut),
            ("--b\r\n\(disposition)\r\n\r\nbytes\r\n--b", .cut),
            ("--b\r\n\(disposition)\r\n\r\nbytes\r\n--b-", .cut), ("bytes", .malformed), ("\r\n\r\n--b", .malformed), ("--bc\r\n\r\n", .malformed),
            ("--b\r\n\r\nbytes\r\n--b--", .malformed), ("--b\r\n\(type)\r\n\r\nbytes\r\n--b--", .malformed),
            ("--b\r\n \(disposition)\r\n\r\nbytes\r\n--b--", .malformed), ("--b\r\n\(disposition)\n\(type)\r\n\r\nbytes\r\n--b--", .malformed),
            ("--b\r\n\(disposition)\r\n\r\nbytes\r\n--bc--", .malformed), ("--b\r\n\(disposition)\r\n\r\nbytes\r\n--b--\r\nmore", .malformed),
            ("--b--\r\n", .noFile), ("--b\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\ntext\r\n--b--", .noFile),
            ("--b\r\n\(disposition)\r\n\r\nbytes\r\n--b\r\n\(disposition)\r\n\r\nbytes\r\n--b--", .severalParts),
            ("--b\r\n\(disposition)\r\nContent-Transfer-Encoding: base64\r\n\r\nAQI=\r\n--b--", .encoded),
            ("--b\r\n\(disposition)\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n\r\n--b--", .encoded),
            ("--b\r\n\(disposition)\r\nX: \(String(repeating: "x", count: FileForm.envelopeBytesMax))\r\n\r\n\r\n--b--", .longHead),
            ("--b\r\n\(disposition)\r\n\r\n\r\n--b--\(String(repeating: "\r\n", count: FileForm.envelopeBytesMax / 2))", .malformed),
        ] as [(String, FileFormFault)])
    func `a form that is not one file is refused, however it is cut`(_ form: String, _ fault: FileFormFault) {
        for size in [1, 2, 3, 5, 4096, 20_000] {
            #expect(throws: fault) { try file(in: form, pieces: size) }
        }
    }

    @Test func `a boundary may be quoted, and has 70 visible characters at most`() throws {
        let (long, file) = (String(repeating: "b", count: 70), "\(Self.disposition)\r\n\r\nbytes\r\n")
        #expect(try self.file(in: "--a;b c\r\n\(file)--a;b c--", boundary: "\"a;b c\"", pieces: 7) == "bytes")
        #expect(try self.file(in: "--\(long)\r\n\(file)--\(long)--", boundary: long, pieces: 7) == "bytes")
        for boundary in ["", "\"\"", long + "b", "\u{e4}", "\"a\tb\""] {
            #expect(throws: FileFormFault.noBoundary, "\(boundary)") { try FileForm(contentType: "multipart/form-data; boundary=\(boundary)") }
        }
        #expect(throws: FileFormFault.noBoundary) { try FileForm(contentType: "Multipart/Form-Data") }
        #expect(throws: FileFormFault.notFormData) { try FileForm(contentType: "multipart/mixed; boundary=b") }
        for type in ["", "image/jpeg", "application/x-www-form-urlencoded; boundary=b"] { #expect(try FileForm(contentType: type) == nil, "\(type)") }
    }
}
