import FoundationEssentials
import NacreCloudContainer
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer

/// What a request says that a server-to-server key has signed.
///
/// CloudKit: Web Services Reference, "Accessing CloudKit Using a Server-to-Server Key".
struct SignedRequest: Sendable {
    static let keyIDHeader = "X-Apple-CloudKit-Request-KeyID"
    static let dateHeader = "X-Apple-CloudKit-Request-ISO8601Date"
    static let signatureHeader = "X-Apple-CloudKit-Request-SignatureV1"
    /// A longer one is none: a signature on P-256 has at most 72 bytes.
    private static let signatureCharactersMax = 200

    let keyID: String
    /// As it came: it is signed so.
    private let date: String
    private let time: Timestamp
    private let signature: [UInt8]

    /// nil where a part is missing or malformed.
    init?(_ request: HTTPRequest) {
        guard let keyID = request.header(Self.keyIDHeader), let date = request.header(Self.dateHeader),
            let text = request.header(Self.signatureHeader), text.utf8.count <= Self.signatureCharactersMax,
            let signature = Base64.decode(text), let time = try? Date(date, strategy: .iso8601)
        else { return nil }
        self.keyID = keyID
        self.date = date
        self.time = Timestamp(secondsSince2001: time.timeIntervalSinceReferenceDate)
        self.signature = signature
    }

    /// Whether it was signed about now. On this server: ten minutes, `Limits.signatureSeconds`; Apple prints no number.
    func isFresh(at now: Timestamp) -> Bool {
        abs(now.secondsSince2001 - time.secondsSince2001) <= Limits.signatureSeconds
    }

    /// What the key has signed, if it has: the text that verifies, which is the same for each sending of the same request.
    ///
    /// Clients differ, and Apple's service takes both: the path is signed with its query and without, an empty body as the digest of nothing and as
    /// nothing.
    /// - Throws: `CryptoError.libraryFailure`. Takes 50 µs for each of four texts at most.
    func verifiedText(of request: HTTPRequest, body: [UInt8], by key: P256.PublicKey) throws -> [UInt8]? {
        var digests = [Base64.encode(SHA256.digest(body))]
        if body.isEmpty { digests.append("") }
        let paths = request.rawQuery.isEmpty ? [request.rawPath] : [request.rawPath, request.target]
        for path in paths {
            for digest in digests {
                let text = Array("\(date):\(digest):\(path)".utf8)
                WorkMeter.current?.add(rows: Limits.signatureCost)
                if try key.isValid(signature, for: text) { return text }
            }
        }
        return nil
    }
}
