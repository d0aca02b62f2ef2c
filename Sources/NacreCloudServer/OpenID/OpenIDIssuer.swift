import FoundationEssentials
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
import NacreHTTPClient
import NacreLocks

/// The configuration of the issuer of a team's accounts.
package struct OpenIDConfiguration: Sendable {
    /// The issuer's URL exactly as the issuer writes it, including a final slash.
    package var issuer: String
    package var clientID: String
    package var clientSecret: String
    /// The name by which users know the issuer.
    package var name: String
    /// Whether its users get an account at their first sign-in.
    package var opensSignUp: Bool

    /// Checks the issuer; nil if it is neither an HTTPS URL nor a URL of this machine.
    package init?(
        issuer: String, clientID: String, clientSecret: String, name: String, opensSignUp: Bool
    ) {
        guard Self.isFetched(issuer), !issuer.contains("?"), !issuer.contains("#") else {
            return nil
        }
        (self.issuer, self.clientID, self.clientSecret) = (issuer, clientID, clientSecret)
        (self.name, self.opensSignUp) = (name, opensSignUp)
    }

    /// Whether the server may fetch a URL: over HTTPS, or from loopback.
    static func isFetched(_ url: String) -> Bool {
        guard url.utf8.count <= 1000, url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }),
            let host = Server.host(of: url),
            !url.contains("@")
        else { return false }
        if url.hasPrefix("https://") { return true }
        return url.hasPrefix("http://") && ["localhost", "127.0.0.1", "[::1]"].contains(host)
    }
}

/// The client of the issuer: it reads the issuer's description and keys, which are cached, and exchanges codes for
/// tokens.
///
/// The client follows no redirect, and refuses answers beyond the limits of length and time. Thread-safe; only its
/// callers wait for it.
final class OpenIDIssuer: Sendable {
    /// The issuer's metadata (OpenID Connect Discovery 1.0, 3).
    struct Description: Decodable, Sendable {
        var issuer: String
        var authorizationEndpoint: String
        var tokenEndpoint: String
        var keys: String
        var tokenMethods: [String]?
        /// Whether its answers contain the issuer's name (RFC 9207).
        var namesItself: Bool?

        private enum CodingKeys: String, CodingKey {
            case issuer
            case authorizationEndpoint = "authorization_endpoint"
            case tokenEndpoint = "token_endpoint"
            case keys = "jwks_uri"
            case tokenMethods = "token_endpoint_auth_methods_supported"
            case namesItself = "authorization_response_iss_parameter_supported"
        }

        /// Whether the secret goes into the body, because the issuer takes it only there.
        var wantsSecretInBody: Bool {
            tokenMethods.map {
                !$0.contains("client_secret_basic") && $0.contains("client_secret_post")
            } ?? false
        }
    }

    private struct State {
        var description: (value: Description, read: Timestamp)?
        var keys: (value: OpenIDKeys, read: Timestamp)?
    }

    let configuration: OpenIDConfiguration
    /// Turns of requests that query the issuer, one at a time for each. They are shared by address, so that no address
    /// can keep others out.
    let turns = SignInGuard(strangersAtOnce: Limits.openIDRequests)
    private let client: HTTPClient
    private let clock: ServerClock
    private let state = Locked(State())

    init(_ configuration: OpenIDConfiguration, client: HTTPClient, clock: ServerClock) {
        (self.configuration, self.client, self.clock) = (configuration, client, clock)
    }

    func description() async throws -> Description {
        let now = clock.now()
        if let known = state.withLock({ $0.description }),
            now < known.read + Limits.openIDMemorySeconds
        {
            return known.value
        }
        let root =
            configuration.issuer.hasSuffix("/")
            ? String(configuration.issuer.dropLast()) : configuration.issuer
        let value = try await get(Description.self, root + "/.well-known/openid-configuration")
        guard value.issuer == configuration.issuer else { throw OpenIDFault.issuer }
        guard
            [value.authorizationEndpoint, value.tokenEndpoint, value.keys].allSatisfy(
                OpenIDConfiguration.isFetched)
        else {
            throw OpenIDFault.malformed
        }
        state.withLock { $0.description = (value, now) }
        return value
    }

    /// The claims of the ID token that the issuer gives for a code, once they are verified.
    func claims(code: String, redirect: String, verifier: String, nonce: String) async throws
        -> IDTokenClaims
    {
        let description = try await description()
        var fields = [
            ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirect),
            ("code_verifier", verifier),
            ("client_id", configuration.clientID),
        ]
        var headers = [HTTPClient.Header("Content-Type", "application/x-www-form-urlencoded")]
        if description.wantsSecretInBody {
            fields.append(("client_secret", configuration.clientSecret))
        } else {
            // RFC 6749, 2.3.1: both are escaped before they are joined.
            let pair = [configuration.clientID, configuration.clientSecret].map(
                PercentEncoding.ofQueryValue
            ).joined(separator: ":")
            headers.append(
                HTTPClient.Header("Authorization", "Basic " + Base64.encode(Array(pair.utf8))))
        }
        let form = SignInAddress.query(fields.map { (name: $0.0, value: $0.1) }).dropFirst()
        let answer = try await send(
            HTTPClient.Request(
                "POST", description.tokenEndpoint, headers: headers, body: .bytes(Array(form.utf8)))
        )
        guard answer.status == 200 else {
            throw answer.status < 500 ? OpenIDFault.refused : .unreachable
        }
        struct Tokens: Decodable {
            var idToken: String

            enum CodingKeys: String, CodingKey {
                case idToken = "id_token"
            }
        }
        guard let tokens = try? JSONDecoder().decode(Tokens.self, from: Data(answer.body)),
            let token = SignedToken(tokens.idToken),
            let claims = IDTokenClaims(json: token.payload)
        else { throw OpenIDFault.malformed }
        guard try await isSigned(token, description) else { throw OpenIDFault.signature }
        if let fault = OpenIDRule.fault(
            claims, issuer: configuration.issuer, client: configuration.clientID, nonce: nonce,
            at: clock.now())
        {
            throw fault
        }
        return claims
    }

    /// Whether one of the issuer's keys signed the token. For an unknown key the keys are read once more, because
    /// issuers add new ones.
    private func isSigned(_ token: SignedToken, _ description: Description) async throws -> Bool {
        let now = clock.now()
        let known = state.withLock { $0.keys }
        if let known, now < known.read + Limits.openIDMemorySeconds {
            if let isSigned = try known.value.isSigned(token) { return isSigned }
            if now < known.read + Limits.openIDKeySeconds { return false }
        }
        let fresh = try await get(OpenIDKeys.self, description.keys)
        state.withLock { $0.keys = (fresh, now) }
        return try fresh.isSigned(token) ?? false
    }

    // MARK: Asking

    private func get<Value: Decodable>(_ type: Value.Type, _ url: String) async throws -> Value {
        let answer = try await send(HTTPClient.Request("GET", url))
        guard answer.status == 200 else { throw OpenIDFault.unreachable }
        guard let value = try? JSONDecoder().decode(type, from: Data(answer.body)) else {
            throw OpenIDFault.malformed
        }
        return value
    }

    private func send(_ request: HTTPClient.Request) async throws -> HTTPClient.Answer {
        var request = request
        request.totalTimeout = .seconds(Limits.openIDAnswerSeconds)
        request.answerBytesMax = Limits.openIDAnswerBytes
        request.headers.append(HTTPClient.Header("Accept", "application/json"))
        do {
            return try await client.send(request)
        } catch {
            if error.cause == .cancelled { throw CancellationError() }
            throw OpenIDFault.unreachable
        }
    }
}

/// The issuer's keys (RFC 7517) for the signatures that this server can verify.
struct OpenIDKeys: Decodable, Sendable {
    private struct Key: Decodable, Sendable {
        var kty: String
        var kid: String?
        var use: String?
        var alg: String?
        var n: String?
        var e: String?
        var crv: String?
        var x: String?
        var y: String?

        var algorithm: SignedToken.Algorithm? {
            let own: SignedToken.Algorithm? =
                kty == "RSA" ? .rs256 : kty == "EC" && crv == "P-256" ? .es256 : nil
            return use ?? "sig" == "sig" && alg ?? own?.rawValue == own?.rawValue ? own : nil
        }

        func isSigned(_ token: SignedToken) throws -> Bool {
            func bytes(_ text: String?) -> [UInt8] { text.flatMap { Base64URL.decode($0) } ?? [] }
            switch token.algorithm {
            case .rs256:
                guard let key = try? RSA.PublicKey(modulus: bytes(n), exponent: bytes(e)) else {
                    return false
                }
                return try key.isValid(token.signature, for: token.signed)
            case .es256:
                guard let key = try? P256.PublicKey(x: bytes(x), y: bytes(y)) else { return false }
                return try key.isValid(pair: token.signature, for: token.signed)
            }
        }
    }

    private var keys: [Key]

    /// Whether a key signed the token; nil: no key fits the one that the token names.
    func isSigned(_ token: SignedToken) throws -> Bool? {
        let fitting = keys.prefix(Limits.openIDKeys).filter {
            $0.algorithm == token.algorithm && (token.keyID == nil || $0.kid == token.keyID)
        }
        if fitting.isEmpty { return nil }
        for key in fitting.prefix(4) where try key.isSigned(token) { return true }
        return false
    }
}
