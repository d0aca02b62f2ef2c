import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer
import NacreTelemetry

/// Change of an account's address, and deletion of an account. Both require the password.
extension Cloud {
    /// Changes the address of an account, also in the identity by which other users of its containers find it.
    /// - Parameters:
    ///   - verifies: whether a link that verifies the new address is mailed.
    ///   - isVouched: whether an administrator vouches for the new address.
    func changeEmail(of account: AccountEntry, to email: String, verifies: Bool, isVouched: Bool = false) async throws -> AccountEntry {
        do {
            let changed = try await registry.changeEmail(
                of: account, to: email, notifies: senders.mail != nil, verifies: verifies, isVouched: isVouched)
            // If this fails, a task does it later.
            try? await refreshIdentity(of: account.id)
            return changed
        } catch var error as ServerError where error.field == "email" {
            // The rule is that of the sign-up; in this request the address is in another field.
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
        // If this fails, a task does it later.
        try? await cloud.concealIdentity(of: account.id)
        logger.log(
            .notice, "An account was deleted",
            [.address: .string(request.clientAddress), .user: .string(account.id), .requestID: .string(request.id)])
        return try answer(AccountMessages.Deleted(email: account.email))
    }
}
