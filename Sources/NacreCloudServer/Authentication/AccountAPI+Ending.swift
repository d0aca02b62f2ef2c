import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer
import NacreTelemetry

/// Another address for an account, and its end. Both want the password.
extension Cloud {
    /// Gives an account another address, in what others of its containers find it by too.
    /// - Parameters:
    ///   - verifies: mails a link that verifies the new one.
    ///   - isVouched: an administrator vouches for the new one.
    func changeEmail(of account: AccountEntry, to email: String, verifies: Bool, isVouched: Bool = false) async throws -> AccountEntry {
        do {
            let changed = try await registry.changeEmail(of: account, to: email, notifies: mail != nil, verifies: verifies, isVouched: isVouched)
            // Where this fails, the task does it.
            try? await refreshIdentity(of: account.id)
            return changed
        } catch var error as ServerError where error.field == "email" {
            // The rule is the sign-up's; here the address stands in another field.
            error.field = "newEmail"
            throw error
        }
    }
}

extension AccountAPI {
    func changeEmail(_ request: HTTPRequest) async throws -> HTTPResponse {
        let asked = try await body(AccountMessages.EmailChange.self, of: request)
        let account = try await checked(email: asked.email, password: asked.password, of: request)
        let changed = try await cloud.changeEmail(of: account, to: asked.newEmail, verifies: mayMail(asked.newEmail, request))
        return try answer(AccountMessages.EmailChanged(email: changed.email))
    }

    func delete(_ request: HTTPRequest) async throws -> HTTPResponse {
        let asked = try await body(AccountMessages.Deletion.self, of: request)
        let account = try await checked(email: asked.email, password: asked.password, of: request)
        defer { authenticator.forget(account: account.id) }
        try await cloud.registry.deleteAccount(account)
        // Where this fails, the task does it.
        try? await cloud.concealIdentity(of: account.id)
        logger.log(
            .notice, "An account was deleted",
            [.address: .string(request.clientAddress), .user: .string(account.id), .requestID: .string(request.id)])
        return try answer(AccountMessages.Deleted(email: account.email))
    }
}
