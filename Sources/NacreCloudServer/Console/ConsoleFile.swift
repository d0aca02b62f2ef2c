import NacreCloudWire
import NacreCrypto

/// A file of the console's page, as `Scripts/console/embed` makes it of the files of `Web/console`.
struct ConsoleFile: Sendable {
    /// The path below `/console/`, which is that below `Web/console`.
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

    /// The gzip of each file, by path.
    static let all: [String: (digest: String, length: Int, gzip: [UInt8])] = {
        let files = embedded.compactMap { file in
            Base64.decode(file.gzip.description).map { (file.path, (digest: file.digest, length: file.length, gzip: $0)) }
        }
        return Dictionary(files, uniquingKeysWith: { first, _ in first })
    }()

    static func digest(of content: [UInt8]) -> String { String(Hex.encode(SHA256.digest(content)).prefix(16)) }
}
