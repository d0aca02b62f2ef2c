import Glibc
import NacreCloudStorage
import NacreCrypto

/// Signs requests with AWS's Signature Version 4. A value; the same request at the same moment has the same signature.
struct S3Signature: Sendable {
    /// One request to be signed, with all its headers.
    struct Request: Sendable {
        var method: String
        /// The percent-encoded path, from the first slash on.
        var path: String
        /// The query, not encoded yet, in any order.
        var query: [(name: String, value: String)] = []
        /// The headers, with names in any case.
        var headers: [(name: String, value: String)]
        /// The SHA-256 of the body, in hexadecimal digits.
        var payload: String
    }

    var credentials: AssetBucket.Credentials
    var region: String
    var service = "s3"

    /// Returns the value of the header `Authorization`.
    /// - Parameter time: The time as `time` writes it. One of the headers must have the same.
    func authorization(of request: Request, at time: String) -> String {
        let headers = request.headers.map { (name: $0.name.lowercased(), value: Self.trimmed($0.value)) }.sorted { $0.name < $1.name }
        let names = headers.map(\.name).joined(separator: ";")
        let canonical = [
            request.method, request.path, Self.query(request.query), headers.map { "\($0.name):\($0.value)\n" }.joined(), names, request.payload,
        ].joined(separator: "\n")
        let day = String(time.prefix(8))
        let scope = "\(day)/\(region)/\(service)/aws4_request"
        let text = "AWS4-HMAC-SHA256\n\(time)\n\(scope)\n\(HexText.encode(SHA256.digest(Array(canonical.utf8))))"
        var key = Array("AWS4\(credentials.secretKey)".utf8)
        for part in [day, region, service, "aws4_request", text] { key = HMACSHA256.code(for: Array(part.utf8), key: key) }
        return "AWS4-HMAC-SHA256 Credential=\(credentials.accessKey)/\(scope), SignedHeaders=\(names), Signature=\(HexText.encode(key))"
    }

    /// Returns the query sorted and encoded, as it is signed and sent.
    static func query(_ query: [(name: String, value: String)]) -> String {
        query.map { (encoded($0.name), encoded($0.value)) }.sorted { $0.0 < $1.0 }.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
    }

    /// Percent-encodes every byte except RFC 3986's unreserved ones.
    /// - Parameter kept: Further bytes that stay as they are.
    static func encoded(_ text: String, keeping kept: String = "") -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x41...0x5a, 0x61...0x7a, 0x30...0x39, 0x2d, 0x2e, 0x5f, 0x7e: bytes.append(byte)
            case _ where kept.utf8.contains(byte): bytes.append(byte)
            default: bytes += [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the value without spaces at its ends, and with single spaces inside.
    private static func trimmed(_ value: String) -> String {
        value.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
    }

    /// Returns a time like `20130524T000000Z`.
    /// - Parameter seconds: The seconds since 1970.
    static func time(_ seconds: Int) -> String {
        var (seconds, parts) = (time_t(seconds), tm())
        gmtime_r(&seconds, &parts)
        func digits(_ number: Int32, _ count: Int = 2) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
        }
        return digits(parts.tm_year + 1900, 4) + digits(parts.tm_mon + 1) + digits(parts.tm_mday) + "T" + digits(parts.tm_hour)
            + digits(parts.tm_min) + digits(parts.tm_sec) + "Z"
    }
}
