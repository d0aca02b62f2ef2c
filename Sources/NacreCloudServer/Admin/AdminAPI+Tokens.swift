import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer

/// Credentials of apps, servers and scripts: API tokens, server-to-server keys and management tokens.
extension AdminAPI {
    /// `POST /admin/1/tokens`
    @Sendable func createToken(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewToken.self, of: request)
        guard let kind = AppCredential.Kind(rawValue: asked.kind) else {
            throw ServerError(.badRequest, "unknown kind of token", field: "kind", remedy: "Make a token of kind api, server or management.")
        }
        let name = (asked.name ?? "").onOneLine
        guard name.count <= Limits.tokenNameCharacters else {
            throw ServerError(.badRequest, "name is too long", field: "name", remedy: "Take at most \(Limits.tokenNameCharacters) characters.")
        }
        guard kind == .management || asked.lifeSeconds == nil else {
            throw ServerError(
                .badRequest, "it is good until it is revoked", field: "lifeSeconds", remedy: "Make a token of kind management with it.")
        }
        switch kind {
        case .management: return try await createManagementToken(asked, name: name)
        case .api:
            let environment = try Self.environment(of: asked)
            guard asked.publicKey == nil else {
                throw ServerError(.badRequest, "an API token has no key", field: "publicKey", remedy: "Make a token of kind server with it.")
            }
            guard asked.isAdministrator != true else {
                throw ServerError(
                    .badRequest, "an API token is nobody's", field: "isAdministrator", remedy: "Make a server-to-server key for an administrator.")
            }
            let token = try await cloud.registry.createAPIToken(
                container: asked.container, environment: environment, name: name, origins: asked.origins ?? [], redirect: asked.redirect)
            return try answer(AdminMessages.Token(token: token), .created)
        case .server:
            let environment = try Self.environment(of: asked)
            guard asked.origins == nil, asked.redirect == nil else {
                throw ServerError(
                    .badRequest, "a server-to-server key signs nobody in", field: asked.origins == nil ? "redirect" : "origins",
                    remedy: "Make a token of kind api with it.")
            }
            let id = try await cloud.registry.createServerKey(
                container: asked.container, environment: environment, name: name, publicKey: try Self.publicKey(asked.publicKey),
                isAdministrator: asked.isAdministrator ?? false)
            return try answer(AdminMessages.ServerKey(keyID: id), .created)
        }
    }

    private static func environment(of asked: AdminMessages.NewToken) throws -> DatabaseKey.Environment {
        guard let name = asked.environment else {
            throw ServerError(.badRequest, "missing required field", field: "environment", remedy: "Take development or production.")
        }
        return try environment(name)
    }

    /// Creates a management token. The answer is shown once, so it is kept under no idempotency key.
    private func createManagementToken(_ asked: AdminMessages.NewToken, name: String) async throws -> HTTPResponse {
        if IdempotentRequest.current != nil { throw ServerError.answerIsShownOnce }
        let others = [
            ("environment", asked.environment == nil), ("publicKey", asked.publicKey == nil), ("isAdministrator", asked.isAdministrator != true),
            ("origins", asked.origins == nil), ("redirect", asked.redirect == nil),
        ]
        if let wrong = others.first(where: { !$0.1 }) {
            throw ServerError(.badRequest, "a management token has none", field: wrong.0, remedy: "Leave it out.")
        }
        let secret = try ManagementToken.newSecret()
        let id = try await cloud.registry.createManagementToken(
            container: asked.container, name: name, digest: ManagementToken.digest(secret), seconds: asked.lifeSeconds)
        return try answer(AdminMessages.Token(token: ManagementToken(id: id, secret: secret).text), .created)
    }

    /// A public key in the one form that is stored.
    private static func publicKey(_ pem: String?) throws -> String {
        do {
            guard let pem else { throw CryptoError(.malformedKey) }
            return try P256.PublicKey(pem: pem).pem()
        } catch let error as CryptoError where error.code == .malformedKey {
            throw ServerError(
                .badRequest, "public key is missing or malformed", field: "publicKey",
                remedy: "Give the public half of a key on P-256 in PEM: openssl ec -in eckey.pem -pubout.")
        }
    }

    /// `GET /admin/1/tokens?container=…&after=…`
    @Sendable func listTokens(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let (page, next) = try await cloud.registry.appCredentials(
            of: request.query("container"), after: try request.query("after").map(AppCredential.Position.init(text:)))
        return try answer(
            AdminMessages.Tokens(tokens: page.map(AdminMessages.TokenLine.init), next: next?.text))
    }

    /// `POST /admin/1/tokens/rotate`
    @Sendable func rotateToken(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewRotation.self, of: request)
        let rotation = try await cloud.registry.rotateAPIToken(asked.id, grace: asked.graceSeconds ?? 0)
        return try answer(AdminMessages.Rotation(token: rotation.token, oldEnds: rotation.oldEnds?.millisecondsSince1970), .created)
    }

    /// `POST /admin/1/tokens/revoke`
    @Sendable func revokeToken(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.TokenRevocation.self, of: request)
        return try answer(AdminMessages.TokenLine(try await cloud.registry.revokeAppCredential(asked.id)))
    }
}

extension AdminMessages.TokenLine {
    init(_ credential: AppCredential) {
        self.init(
            kind: credential.kind.rawValue, id: credential.id, container: credential.container, environment: credential.environment,
            name: credential.name, created: credential.created.secondsSince2001, isAdministrator: credential.isAdministrator,
            origins: credential.origins, redirect: credential.redirect, ends: credential.ends?.millisecondsSince1970,
            used: credential.used?.millisecondsSince1970)
    }
}
