import NacreCloudWire
import NacreCrypto
import NacreHTTPServer

/// A file that is part of the program: one of the console's page, as `Scripts/console/embed` makes it of the files of
/// `Web/console`, or CloudKit JS.
struct ConsoleFile: Sendable {
    /// The path below `/console/`, which is that below `Web/console`; the name of a file of CloudKit JS.
    let path: String
    /// The first 16 hexadecimal digits of the content's SHA-256.
    let digest: String
    /// Bytes of the content.
    let length: Int
    /// The content as gzip, in base64.
    let gzip: StaticString

    /// Types of the files that are served, by extension.
    static let mediaTypes = [
        "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml",
        "png": "image/png", "txt": "text/plain; charset=utf-8",
    ]

    /// A file whose gzip is read: its digest, the bytes of its content, and the gzip.
    typealias Packed = (digest: String, length: Int, gzip: [UInt8])

    /// The gzip of each file of the console, by path.
    static let all = packed(embedded)

    static func packed(_ files: [ConsoleFile]) -> [String: Packed] {
        let files = files.compactMap { file in
            Base64.decode(file.gzip.description).map { (file.path, (digest: file.digest, length: file.length, gzip: $0)) }
        }
        return Dictionary(files, uniquingKeysWith: { first, _ in first })
    }

    /// Returns an answer with a file, packed if the client takes that; nil if it cannot be unpacked.
    static func response(_ file: Packed, type: String, headers: HTTPHeaders, to request: HTTPRequest) -> HTTPResponse? {
        var response = HTTPResponse(.ok, headers: headers)
        response.headers["Content-Type"] = type
        // Weak: the gzip and the plain content have one tag.
        response.headers["ETag"] = "W/\"\(file.digest)\""
        response.headers["Vary"] = "Accept-Encoding"
        response.mayCompress = false
        if Compression.isAccepted(request.headerValues("Accept-Encoding")) {
            response.headers["Content-Encoding"] = "gzip"
            response.body = .bytes(file.gzip)
        } else {
            guard let content = Compression.gunzip(file.gzip, length: file.length) else { return nil }
            response.body = .bytes(content)
        }
        return response
    }

    static func digest(of content: [UInt8]) -> String { String(Hex.encode(SHA256.digest(content)).prefix(16)) }
}
