import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer
import NacreTelemetry

/// Another address for an account, and its end. Both want the password.
extension AccountAPI {
    func changeEmail(_ request: HTTPRequest) async throws -> HTTPResponse {
        let asked = try await body(AccountMessages.EmailChange.self, of: request)
        let account = try await checked(email: asked.email, password: asked.password, of: request)
        do {
            let changed = try await cloud.registry.changeEmail(
                of: account, to: asked.newEmail, notifies: cloud.mail != nil, verifies: mayMail(asked.newEmail, request))
            // Where this fails, the task does it.
            try? await cloud.refreshIdentity(of: account.id)
            return try answer(AccountMessages.EmailChanged(email: changed.email))
        } catch var error as ServerError where error.field == "email" {
            // The rule is the sign-up's; here the address stands in another field.
            error.field = "newEmail"
            throw error
        }
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
