import FoundationEssentials
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer
import NacreLocks

/// Requests that are sent again but carried out once, by the header `Idempotency-Key`
/// (draft-ietf-httpapi-idempotency-key-header). See `docs/decisions/administration.md`.
extension AdminAPI {
    /// Routes whose answers are shown once, and not kept.
    private static let shownOnce: Set = [
        "/admin/1/users/reset-password", actingPath, "/admin/1/console/links", "/admin/1/team", "/admin/1/team/invite",
        consoleSignInPath, consoleChallengePath,
    ]

    /// Routes that change nothing. Asked again they look again and are noted again: their answers may be private, and
    /// are not kept.
    private static let looks: Set = readingRoutes.union([
        "/admin/1/query/explain", "/admin/1/records/lookup", "/admin/1/zones/list", "/admin/1/zones/changes", "/admin/1/subscriptions/list",
        "/admin/1/subscriptions/why", "/admin/1/shares/list", "/admin/1/shares/who", "/admin/1/assets/verify",
    ])

    /// Answers a request that has a key with the answer to the key's first request. The decision falls once the body is
    /// read.
    @Sendable func keepAnswer(_ request: HTTPRequest, _ next: Next) async throws -> HTTPResponse {
        guard request.method == .post, let route = request.route, !Self.looks.contains(route),
            let text = request.header(IdempotentRequest.header)
        else { return await next(request) }
        guard !Self.shownOnce.contains(route) else { throw ServerError.answerIsShownOnce }
        let keyed = IdempotentRequest(try IdempotentRequest.key(text), "\(request.method) \(route)", registry: cloud.registry)
        let response = await IdempotentRequest.$current.withValue(keyed) { await next(request) }
        await keyed.end(response)
        return response
    }
}

/// A request with an idempotency key, from the moment its body is read.
final class IdempotentRequest: Sendable {
    static let header = "Idempotency-Key"
    @TaskLocal static var current: IdempotentRequest?
    /// Characters of the longest key. On this server: several times as long as a UUID.
    private static let characters = 255

    private let key: [UInt8]
    /// The digest of the key, under which the request is kept.
    private let digest: String
    private let action: String
    private let registry: Registry
    /// Whether this request is the key's first.
    private let isFirst = Locked(false)

    init(_ key: [UInt8], _ action: String, registry: Registry) {
        self.key = key
        digest = Hex.encode(SHA256.digest(key))
        self.action = action
        self.registry = registry
    }

    /// The key in a header's value: a quoted string, as in the draft, or bare.
    /// - Throws: `BAD_REQUEST` for any other value.
    static func key(_ text: String) throws(ServerError) -> [UInt8] {
        let isQuoted = text.count > 1 && text.hasPrefix("\"") && text.hasSuffix("\"")
        let key = isQuoted ? String(text.dropFirst().dropLast()) : text
        guard (1...characters).contains(key.count), key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\"") }) else {
            throw ServerError(
                .badRequest, "not an idempotency key", field: header,
                remedy:
                    "Send 1 to \(characters) printable ASCII characters without blanks and quotes, such as a UUID, and another one for each request.")
        }
        return Array(key.utf8)
    }

    /// Begins the request. Call it with the body before anything is carried out.
    /// - Throws: `RepeatedAnswer` if the request was carried out before; another error if it must not be carried out.
    func begin(with body: Data) async throws {
        // Bodies hold passwords: a reader of the digest who does not know the key cannot try passwords against it.
        let request = Hex.encode(HMACSHA256.code(for: Array("\(action)\n".utf8) + [UInt8](body), key: key))
        switch try await registry.begin(idempotencyKey: digest, request: request) {
        case .first: isFirst.withLock { $0 = true }
        case .kept(let status, let body): throw RepeatedAnswer(status: status, body: body)
        case .tooLarge(let status): throw ServerError.answerNotKept(status)
        case .underWay: throw ServerError.isUnderWay
        case .other: throw HTTPError(.unprocessableContent, "The Idempotency-Key was used for another request: make a new one for each.")
        }
    }

    /// Keeps the answer. A request that was refused for the moment may be tried again. After a failure it is unknown
    /// whether the request was carried out, and the key keeps saying that.
    func end(_ response: HTTPResponse) async {
        guard isFirst.withLock({ $0 }), case .bytes(let body) = response.body else { return }
        switch response.status {
        case .tooManyRequests, .serviceUnavailable: try? await registry.giveUp(idempotencyKey: digest)
        case .clientClosedRequest: return
        case let status where status.rawValue >= 500: return
        case let status: try? await registry.end(idempotencyKey: digest, status: status.rawValue, body: body)
        }
    }
}

/// The kept answer for a repeated request with the same key.
struct RepeatedAnswer: Error {
    var status: Int
    var body: [UInt8]

    var response: HTTPResponse {
        var response = HTTPResponse.json(body, status: HTTPStatus(rawValue: status))
        if status >= 400 { response.headers["Content-Type"] = AdminMessages.Problem.contentType }
        response.headers["Idempotency-Replayed"] = "true"
        return response
    }
}

extension ServerError {
    static let answerIsShownOnce = ServerError(
        .badRequest, "the answer is shown once, and not kept", field: IdempotentRequest.header,
        remedy: "Send the request without the header: each one makes another code, and ends the one before.")

    fileprivate static let isUnderWay = ServerError(
        .conflict, "a request with this key is under way, or it failed or the server ended before it was answered", field: IdempotentRequest.header,
        remedy: "Ask again in a moment; if it stays so, look whether it was done (nacre audit list), and take another key.", retryAfter: 1)

    fileprivate static func answerNotKept(_ status: Int) -> ServerError {
        ServerError(
            .conflict, "the request was done, and its answer was too large to be kept", field: IdempotentRequest.header,
            remedy: "It was answered with status \(status): look at what is there now.")
    }
}
