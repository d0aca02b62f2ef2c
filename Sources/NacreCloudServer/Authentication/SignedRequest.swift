import FoundationEssentials
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer

/// The parts of a request that a server-to-server key has signed.
///
/// CloudKit: Web Services Reference, "Accessing CloudKit Using a Server-to-Server Key".
struct SignedRequest: Sendable {
    static let keyIDHeader = "X-Apple-CloudKit-Request-KeyID"
    static let dateHeader = "X-Apple-CloudKit-Request-ISO8601Date"
    static let signatureHeader = "X-Apple-CloudKit-Request-SignatureV1"
    /// Characters of the longest signature: on P-256 it has at most 72 bytes.
    private static let signatureCharactersMax = 200

    let keyID: String
    /// The date as it came, since that text is signed.
    private let date: String
    private let time: Timestamp
    private let signature: [UInt8]

    /// Reads the headers; nil if one is missing or malformed.
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

    /// Whether the request was signed recently. On this server: within ten minutes, `Limits.signatureSeconds`; Apple
    /// prints no number.
    func isFresh(at now: Timestamp) -> Bool {
        abs(now.secondsSince2001 - time.secondsSince2001) <= Limits.signatureSeconds
    }

    /// The text that the key has signed, the same for each sending of the same request; nil if the signature is wrong.
    ///
    /// Clients differ, and Apple's service takes all forms: the path with or without its query, an empty body as its
    /// digest or as nothing.
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
