import Foundation
import NacreCloudServer
import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer
import NacreLocks

@testable import NacreCloudAccounts
@testable import NacreCloudContainer

/// An issuer of a team's accounts, on its own port. It gives codes to clients that have asked, and tokens for codes,
/// once, to clients that know the secret and the verifier.
final class TestIssuer: Sendable {
    /// The contents of its answers, which a test can falsify.
    struct Words: Sendable {
        var subject = "sub-1"
        var email: String? = "grace@example.com"
        var isVerified = true
        /// The issuer in the token; nil: its own.
        var issuer: String?
        var audience = "nacre"
        var nonce: String?
        var lifetime: Double = 300
        var namesItself = true
        /// Whether it signs with a key that it does not publish.
        var hidesKey = false
        /// Whether it accepts codes again.
        var forgivesReplay = false
        /// Whether it answers with errors only.
        var isDown = false
        /// The issuer in its description; likewise the next two.
        var describedIssuer: String?
        var describedTokens: String?
        var describedKeys: String?
        /// Whether it redirects to another path of its own, which has the right answer.
        var redirects = false
        /// The token's header, as JSON; nil: the true one.
        var header: String?
        /// A text in place of the signature.
        var signature: String?
        /// Keys that it publishes before its own, as JSON.
        var otherKeys = #"{"kty":"oct","k":"AA"}"#
    }

    private struct Code {
        var nonce: String
        var challenge: String
        var redirect: String
    }

    private struct State {
        var words = Words()
        var codes: [String: Code] = [:]
        var asked: [String: Int] = [:]
        var key: P256.PrivateKey
    }

    static let secret = "a secret: with / and +"

    private let state: Locked<State>
    private let hidden: P256.PrivateKey
    private let clock: TestClock
    private let serverBox = Locked<HTTPServer?>(nil)
    private let urlBox = Locked("")

    var url: String { urlBox.withLock { $0 } }

    init(clock: TestClock) async throws {
        self.clock = clock
        state = Locked(State(key: try P256.PrivateKey()))
        hidden = try P256.PrivateKey()
        var router = Router()
        for path in ["/.well-known/openid-configuration", "/elsewhere"] {
            router.get(path) { [weak self] request, _ in
                self?.describe(isElsewhere: request.route == "/elsewhere") ?? .json([])
            }
        }
        router.get("/keys") { [weak self] _, _ in try self?.keys() ?? .json([]) }
        router.post("/token", bodyBytesMax: 16_384) { [weak self] request, _ in
            try self?.token(request, FormFields(try await request.body.collect(upTo: 16_384)))
                ?? .json([])
        }
        var configuration = HTTPServerConfiguration()
        (configuration.host, configuration.port) = ("127.0.0.1", 0)
        let server = HTTPServer(configuration, router: router)
        let port = try await server.start().port
        serverBox.withLock { $0 = server }
        urlBox.withLock { $0 = "http://127.0.0.1:\(port)" }
    }

    func close() async { await serverBox.withLock { $0 }?.shutdown(grace: .zero) }

    func say(_ change: @Sendable (inout Words) -> Void) { state.withLock { change(&$0.words) } }

    /// Signs with another key from now on, which it publishes.
    func turnKey() throws {
        let key = try P256.PrivateKey()
        state.withLock { $0.key = key }
    }

    /// Returns how often a path was requested.
    func count(_ path: String) -> Int { state.withLock { $0.asked[path] ?? 0 } }

    func configuration(opensSignUp: Bool = true) throws -> OpenIDConfiguration {
        guard
            let made = OpenIDConfiguration(
                issuer: url, clientID: "nacre", clientSecret: Self.secret, name: "The <Team>",
                opensSignUp: opensSignUp)
        else { throw POSIXFault(call: "issuer", code: 0) }
        return made
    }

    /// Acts as its page once the user has agreed.
    /// - Returns: The URL that the browser goes back to.
    func agree(_ location: String, code: String = UUID().uuidString) throws -> String {
        let items = URLComponents(string: location)?.queryItems ?? []
        let values = Dictionary(items.map { ($0.name, $0.value ?? "") }) { $1 }
        let namesItself = state.withLock { state in
            state.codes[code] = Code(
                nonce: values["nonce"] ?? "", challenge: values["code_challenge"] ?? "",
                redirect: values["redirect_uri"] ?? "")
            return state.words.namesItself
        }
        let back = ["code": code, "state": values["state"] ?? ""].merging(
            namesItself ? ["iss": url] : [:]
        ) { $1 }
        return (values["redirect_uri"] ?? "") + "?"
            + back.map { "\($0.key)=\(PercentEncoding.ofQueryValue($0.value))" }.joined(
                separator: "&")
    }

    // MARK: Its answers

    private func begin(_ path: String) -> Words {
        state.withLock {
            $0.asked[path, default: 0] += 1
            return $0.words
        }
    }

    private func describe(isElsewhere: Bool) -> HTTPResponse {
        let words = begin(isElsewhere ? "elsewhere" : "description")
        if words.redirects, !isElsewhere { return HTTPResponse(.found, headers: ["Location": url + "/elsewhere"]) }
        if words.isDown { return .json([], status: .serviceUnavailable) }
        let text = """
            {"issuer":"\(words.describedIssuer ?? url)","authorization_endpoint":"\(url)/authorize?a=b","token_endpoint":"\(words.describedTokens ?? url + "/token")",
             "jwks_uri":"\(words.describedKeys ?? url + "/keys")","authorization_response_iss_parameter_supported":\(words.namesItself)}
            """
        return .json(Array(text.utf8))
    }

    private func keys() throws -> HTTPResponse {
        let words = begin("keys")
        let key = state.withLock { $0.key }
        let pem = try key.publicKey().pem().split(separator: "\n").dropFirst().dropLast().joined()
        let point = Base64.decode(pem)?.suffix(64) ?? []
        let (x, y) = (
            Base64URL.encode(Array(point.prefix(32))), Base64URL.encode(Array(point.suffix(32)))
        )
        let text = """
            {"keys":[\(words.otherKeys),{"kty":"EC","crv":"P-256","use":"sig","kid":"\(x.prefix(8))","x":"\(x)","y":"\(y)"}]}
            """
        return .json(Array(text.utf8))
    }

    private func token(_ request: HTTPRequest, _ fields: FormFields) throws -> HTTPResponse {
        let words = begin("token")
        if words.isDown { return .json([], status: .serviceUnavailable) }
        let pair = ["nacre", Self.secret].map(PercentEncoding.ofQueryValue).joined(separator: ":")
        let name = fields["code"] ?? ""
        let code = state.withLock { state in
            let code = state.codes[name]
            if !words.forgivesReplay { state.codes[name] = nil }
            return code
        }
        guard request.header("Authorization") == "Basic " + Base64.encode(Array(pair.utf8)),
            let code,
            fields["grant_type"] == "authorization_code", fields["redirect_uri"] == code.redirect,
            Base64URL.encode(SHA256.digest(Array((fields["code_verifier"] ?? "").utf8)))
                == code.challenge
        else { return .json(Array(#"{"error":"invalid_grant"}"#.utf8), status: .badRequest) }
        let text =
            #"{"token_type":"Bearer","access_token":"a","id_token":"\#(try signed(words, words.nonce ?? code.nonce))"}"#
        return .json(Array(text.utf8))
    }

    private func signed(_ words: Words, _ nonce: String) throws -> String {
        let key = state.withLock { $0.key }
        let pem = try key.publicKey().pem().split(separator: "\n").dropFirst().dropLast().joined()
        let id = Base64URL.encode(Array((Base64.decode(pem)?.suffix(64) ?? []).prefix(32))).prefix(
            8)
        let now = Double(clock.now.millisecondsSince1970) / 1000
        let email =
            words.email.map { #","email":"\#($0)","email_verified":\#(words.isVerified)"# } ?? ""
        let claims = #"""
            {"iss":"\#(words.issuer ?? url)","sub":"\#(words.subject)","aud":"\#(words.audience)","exp":\#(now + words.lifetime),"iat":\#(now),
            "nonce":"\#(nonce)","given_name":"Grace"\#(email)}
            """#
        let text = [words.header ?? #"{"alg":"ES256","kid":"\#(id)"}"#, claims].map {
            Base64URL.encode(Array($0.utf8))
        }.joined(separator: ".")
        if let forged = words.signature { return text + "." + forged }
        let signature = try (words.hidesKey ? hidden : key).sign(Array(text.utf8))
        return text + "." + Base64URL.encode(Self.pair(signature))
    }

    /// Returns a DER signature as two numbers of 32 bytes.
    private static func pair(_ signature: [UInt8]) -> [UInt8] {
        var pair: [UInt8] = []
        var place = 2
        for _ in 0..<2 {
            let end = place + 2 + Int(signature[place + 1])
            let digits = signature[(place + 2)..<end].drop { $0 == 0 }
            pair += [UInt8](repeating: 0, count: 32 - digits.count) + digits
            place = end
        }
        return pair
    }
}
