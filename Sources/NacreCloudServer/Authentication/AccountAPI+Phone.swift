import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer

/// The phone number of an account, which is stored once its user has typed a code that was sent to it.
extension AccountAPI {
    /// Answers whether the account has the number, and sends a code to it if asked to.
    func verifyPhone(_ request: HTTPRequest) async throws -> HTTPResponse {
        let asked = try await body(AccountMessages.PhoneQuestion.self, of: request)
        let number = try Self.number(asked.phone)
        let account = try await checked(email: asked.email, password: asked.password, of: request)
        let isVerified = account.phone == number
        let isSent = asked.sends == true && !isVerified
        if isSent {
            guard cloud.senders.texts != nil else { throw ServerError.sendsNoTexts }
            // A number is limited like an address: no caller may flood it.
            try countLetter(to: number, request)
            try await cloud.registry.sendPhoneCode(to: number, of: account)
        }
        return try answer(AccountMessages.PhoneState(phone: number, isVerified: isVerified, isSent: isSent))
    }

    /// Checks the code that was sent, and stores the number.
    func confirmPhone(_ request: HTTPRequest) async throws -> HTTPResponse {
        let asked = try await body(AccountMessages.PhoneCode.self, of: request)
        let number = try Self.number(asked.phone)
        let account = try await checked(email: asked.email, password: asked.password, of: request)
        _ = try await cloud.registry.confirmPhone(number, code: asked.code, of: account)
        // If this fails, a task does it later.
        try? await cloud.refreshIdentity(of: account.id)
        return try answer(AccountMessages.PhoneState(phone: number, isVerified: true, isSent: false))
    }

    func removePhone(_ request: HTTPRequest) async throws -> HTTPResponse {
        let asked = try await body(AccountMessages.PhoneRemoval.self, of: request)
        let account = try await checked(email: asked.email, password: asked.password, of: request)
        let changed = try await cloud.registry.removePhone(of: account)
        try? await cloud.refreshIdentity(of: account.id)
        return try answer(AccountMessages.PhoneRemoved(email: changed.email))
    }

    private static func number(_ text: String) throws(ServerError) -> String {
        guard let number = PhoneNumber.normalised(text) else {
            throw ServerError(
                .badRequest, "a phone number has a plus sign and the code of its country", field: "phone", remedy: "Write it as in +49 30 1234567.")
        }
        return number
    }
}

extension ServerError {
    fileprivate static let sendsNoTexts = ServerError(
        .badRequest, "this server sends no text messages", field: "sends", remedy: "Start it with --sms-webhook: docs/operations.md.")
}
