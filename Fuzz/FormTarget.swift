import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer

/// Fuzzes forms with files, and the sign-in page's input from browsers and administrators: forms, origins, the URLs of
/// callbacks.
enum FormTarget {
    static func run(_ input: UnsafeRawBufferPointer) {
        let bytes = [UInt8](input)
        let text = String(decoding: bytes, as: UTF8.self)
        if let value = FormFields(bytes)["a"] {
            let written = FormFields(Array("a=\(PercentEncoding.ofQueryValue(value))".utf8))
            promise("a field that was read is written as the same field", written["a"] == value)
        }
        let whole = Result { () throws(FileFormFault) in try file(in: bytes, pieces: max(1, bytes.count)) }
        promise("a form has the same file or fault however it is cut", whole == Result { () throws(FileFormFault) in try file(in: bytes, pieces: 1) })
        promise("a file is shorter than its form", (try? whole.get()).map { $0.count < bytes.count } ?? true)
        if let origin = WebOrigin(text) {
            promise("an origin is as it was written", origin.text == text)
            promise("an origin has nothing but a scheme, a host and a port", !text.dropFirst(8).contains { "/?#@\\% ".contains($0) })
            promise("an origin is the origin of its URLs", WebOrigin(ofURL: text + "/a@b?c#d") == origin)
        }
        if let callback = try? SignInCallback(text) {
            let url = callback.url(with: [("a", text)])
            promise("a URL with values begins as the callback", url.hasPrefix(text))
            promise(
                "values bring nothing but escapes",
                url.dropFirst(text.count + 1).utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "#") })
            promise("a callback has a place to show", callback.place.count > 1)
        }
    }

    /// Reads a form with the boundary `b`, in pieces of a size.
    private static func file(in form: [UInt8], pieces size: Int) throws(FileFormFault) -> [UInt8] {
        guard var reader = try FileForm(contentType: "multipart/form-data; boundary=b") else { throw .notFormData }
        var file: [UInt8] = []
        var rest = form[...]
        while !rest.isEmpty {
            file += try reader.file(in: Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        try reader.end()
        return file
    }
}
