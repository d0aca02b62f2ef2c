import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer

/// An account's sessions and devices, for its user.
///
/// A caller with a token sees the sign-ins that allow no more than the token does; a caller with the password sees all.
extension AccountAPI {
    struct Asker {
        var account: String
        /// The sign-in that the request belongs to; nil: the request has the password.
        var own: String?
        var audience: SignIn.Audience?
    }

    func listSessions(_ request: HTTPRequest) async throws -> HTTPResponse {
        let asked = try await body(AccountMessages.SessionsQuestion.self, of: request)
        let asker = try await asker(asked.email, asked.password, request)
        let after = try asked.after.map(SignIn.Position.init(text:))
        let (page, next) = try await cloud.registry.signIns(of: asker.account, in: asker.audience, after: after)
        return try answer(AccountMessages.Sessions(sessions: page.map { AccountMessages.Session($0, own: asker.own) }, next: next?.text))
    }

    func endSession(_ request: HTTPRequest) async throws -> HTTPResponse {
        let asked = try await body(AccountMessages.SessionEnd.self, of: request)
        let asker = try await asker(asked.email, asked.password, request)
        defer { authenticator.forget(account: asker.account) }
        _ = try await cloud.registry.endSignIn(asked.id, of: asker.account, in: asker.audience)
        return try answer(AccountMessages.SessionsEnded(count: 1))
    }

    func endOtherSessions(_ request: HTTPRequest) async throws -> HTTPResponse {
        let asked = try await body(AccountMessages.OthersEnd.self, of: request)
        let asker = try await asker(asked.email, asked.password, request)
        defer { authenticator.forget(account: asker.account) }
        let count = try await cloud.registry.endSignIns(of: asker.account, in: asker.audience, except: asker.own)
        return try answer(AccountMessages.SessionsEnded(count: count))
    }

    /// Identifies the caller, by a token in the request or by address and password.
    func asker(_ email: String?, _ password: String?, _ request: HTTPRequest) async throws -> Asker {
        if email == nil, password == nil {
            let signedIn = try await authenticator.signedIn(request)
            return Asker(account: signedIn.account, own: signedIn.id, audience: signedIn.audience)
        }
        guard let email else { throw ServerError.missingBeside("email") }
        guard let password else { throw ServerError.missingBeside("password") }
        return Asker(account: try await checked(email: email, password: password, of: request).id)
    }
}

extension AccountMessages.Session {
    init(_ signIn: SignIn, own: String? = nil) {
        self.init(
            id: signIn.id, kind: signIn.kind.rawValue, containers: signIn.audience.containers.sorted(), environment: signIn.audience.environment,
            device: signIn.kind == .account ? signIn.device : nil, created: signIn.created.millisecondsSince1970,
            isCurrent: signIn.id == own ? true : nil)
    }
}

extension ServerError {
    fileprivate static func missingBeside(_ field: String) -> ServerError {
        ServerError(
            .badRequest, "missing required field", field: field,
            remedy: "Give email and password, or neither and a token in the request's query or its Authorization.")
    }
}
