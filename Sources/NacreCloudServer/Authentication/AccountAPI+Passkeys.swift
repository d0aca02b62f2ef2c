import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer
import NacreTelemetry

/// An account's list of passkeys, for its user. Both endpoints require the password, so that an app's token cannot
/// remove a user's way to sign in. Passkeys are added on the sign-in page only, where a browser keeps them under the
/// server's name.
extension AccountAPI {
    func listPasskeys(_ request: HTTPRequest) async throws -> HTTPResponse {
        let asked = try await body(AccountMessages.PasskeysQuestion.self, of: request)
        let account = try await checked(email: asked.email, password: asked.password, of: request)
        let found = try await cloud.registry.passkeys(of: account.id)
        return try answer(
            AccountMessages.Passkeys(passkeys: found.map { AccountMessages.Passkey($0) }))
    }

    func removePasskey(_ request: HTTPRequest) async throws -> HTTPResponse {
        let asked = try await body(AccountMessages.PasskeyRemoval.self, of: request)
        let account = try await checked(email: asked.email, password: asked.password, of: request)
        let removed = try await cloud.registry.removePasskey(asked.id, of: account.id)
        notifyOfPasskey("removed", removed, of: account.id, request)
        return try answer(AccountMessages.Passkey(removed))
    }

    /// Logs that a passkey was added or removed.
    func notifyOfPasskey(
        _ reason: String, _ passkey: PasskeyEntry, of account: String, _ request: HTTPRequest
    ) {
        logger.log(
            .notice, "A passkey was added or removed",
            [
                .reason: .string(reason), .address: .string(request.clientAddress),
                .user: .string(account), .requestID: .string(request.id),
            ])
    }
}

extension AccountMessages.Passkey {
    init(_ passkey: PasskeyEntry) {
        func milliseconds(_ seconds: Double) -> Int64 {
            Timestamp(secondsSince2001: seconds).millisecondsSince1970
        }
        self.init(
            id: passkey.id, name: passkey.name, created: milliseconds(passkey.created),
            used: passkey.used.map(milliseconds))
    }
}
