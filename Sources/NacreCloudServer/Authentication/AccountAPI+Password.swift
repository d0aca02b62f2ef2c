import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer
import NacreTelemetry

/// Change of a password, either by the old one or by a code from an administrator.
extension AccountAPI {
    func changePassword(_ request: HTTPRequest) async throws -> HTTPResponse {
        let asked = try await body(AccountMessages.PasswordChange.self, of: request)
        if let fault = PasswordRule.fault(asked.newPassword, field: "newPassword") { throw fault }
        let account = try await checked(email: asked.email, password: asked.password, of: request)
        let own = Authenticator.hasToken(request) ? try await authenticator.signedIn(request) : nil
        if let own, own.account != account.id { throw ServerError.tokenOfAnother }
        let hash = try await hash(asked.newPassword, of: account.email, request)
        defer { authenticator.forget(account: account.id) }
        let count = try await cloud.registry.changePassword(
            of: account, to: hash, except: own?.id, keepsDevices: asked.keepsDevices ?? false)
        tellChange("changed", account, request)
        return try answer(AccountMessages.SessionsEnded(count: count))
    }

    /// Sets a new password by a code. An unknown address, an address without a code and a wrong code take the same
    /// time, including a hash, and get the same answer.
    func resetPassword(_ request: HTTPRequest) async throws -> HTTPResponse {
        let asked = try await body(AccountMessages.PasswordByCode.self, of: request)
        if let fault = PasswordRule.fault(asked.newPassword, field: "newPassword") { throw fault }
        let attempt = try await begin(email: asked.email, request)
        var outcome = SignInGuard.Outcome.unknown
        defer { attempts.end(attempt, outcome, at: clock.now()) }
        let hash = try await Self.hashed(overload) { try await passwords.hash(asked.newPassword) }
        let digest = ResetCode.digest(asked.code)
        let account = try await cloud.registry.account(email: asked.email)
        outcome = .wrong
        // Checked before anything is written: the time of a write would tell that there is an account.
        guard let account, account.reset?.isOpened(by: digest, at: clock.now()) == true else { throw refused(account, request) }
        defer { authenticator.forget(account: account.id) }
        guard let count = try await cloud.registry.resetPassword(of: account.id, digest: digest, to: hash) else { throw refused(account, request) }
        outcome = .right
        // If this fails, a task does it later.
        if !account.isEmailVerified { try? await cloud.refreshIdentity(of: account.id) }
        tellChange("reset", account, request)
        return try answer(AccountMessages.SessionsEnded(count: count))
    }

    private func refused(_ account: AccountEntry?, _ request: HTTPRequest) -> ServerError {
        notify("wrong code for a new password", account, request)
        return .wrongResetCode
    }

    func tellChange(_ reason: String, _ account: AccountEntry, _ request: HTTPRequest) {
        logger.log(
            .notice, "A password was changed",
            [.reason: .string(reason), .address: .string(request.clientAddress), .user: .string(account.id), .requestID: .string(request.id)])
    }
}

/// A code that lets a user set a new password. The server keeps only its digest.
enum ResetCode {
    /// 128 random bits as hexadecimal digits.
    static func make() throws -> String {
        Hex.encode(try SecureRandom.bytes(16))
    }

    static func digest(_ code: String) -> String {
        Hex.encode(SHA256.digest(Array(code.utf8)))
    }
}

/// The content of an administrator's link that sets a password: sealed, and valid as long as its code.
struct CodeLink: Codable, Hashable, Sendable {
    var account: String
    var code: String
}

extension ServerError {
    static let wrongResetCode = ServerError(
        .authenticationFailed, "wrong e-mail address or code", field: "code",
        remedy: "A code is good for an hour, and once; an administrator makes another with nacre user reset-password.")

    fileprivate static let tokenOfAnother = ServerError(
        .badRequest, "the token is of another account", remedy: "Send the token of a sign-in that shall stay, or none.")
}
