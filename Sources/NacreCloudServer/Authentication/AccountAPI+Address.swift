import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// Verification of an account's address by mail.
extension AccountAPI {
    /// Answers whether the address is verified, and sends a link that verifies it if asked to.
    func verifyEmail(_ request: HTTPRequest) async throws -> HTTPResponse {
        let asked = try await body(AccountMessages.AddressQuestion.self, of: request)
        let account = try await checked(email: asked.email, password: asked.password, of: request)
        let isSent = asked.sends == true && !account.isEmailVerified
        if isSent { try await mailVerification(of: account, request) }
        return try answer(AccountMessages.AddressState(email: account.email, isVerified: account.isEmailVerified, isSent: isSent))
    }

    /// Sends the link that verifies the address of an account whose user is known. A waiting link is replaced.
    /// - Throws: `ServerError` if the server sends no mail, or none to the address, or too many were asked for.
    func mailVerification(of account: AccountEntry, _ request: HTTPRequest) async throws {
        guard cloud.senders.mail != nil else { throw ServerError.sendsNoMail }
        guard Letter.isMailable(account.email) else { throw ServerError.unmailable }
        try countLetter(to: account.email, request)
        try await cloud.registry.post(Letter(.verifyAddress, to: account.email, at: clock.now()))
    }

    /// Puts a verification letter for an address into the outbox. It does so whether or not the address is new, so that
    /// a caller cannot learn which addresses have accounts. If too many letters went to the address, or wait, none is
    /// sent, and its user can ask for one later.
    func mailVerification(to address: String, _ request: HTTPRequest) async {
        guard mayMail(address, request) else { return }
        try? await cloud.registry.post(Letter(.verifyAddress, to: address, at: clock.now()))
    }

    /// Whether a mail may go to an address now; if so, it counts at once.
    func mayMail(_ email: String, _ request: HTTPRequest) -> Bool {
        guard cloud.senders.mail != nil, let address = try? Registry.normalized(email) else { return false }
        return (try? countLetter(to: address, request)) != nil
    }

    /// - Throws: `THROTTLED` with the seconds to wait, if too many mails were asked for to the address or by the
    ///   sender.
    func countLetter(to address: String, _ request: HTTPRequest) throws {
        let now = clock.now()
        // Each attempt ends at once, so none waits.
        guard let attempt = try letters.beginNow(email: address, address: request.clientAddress, at: now) else { throw ServerError.tooManyLetters }
        letters.end(attempt, .wrong, at: now)
        WorkMeter.current?.add(rows: Limits.letterCost)
    }
}

extension ServerError {
    fileprivate static let sendsNoMail = ServerError(
        .badRequest, "this server sends no mail", field: "sends", remedy: "Start it with --smtp and --mail-from: docs/operations.md.")

    fileprivate static let unmailable = ServerError(
        .badRequest, "mail is not sent to such an address", field: "email", remedy: "Give the account a plain address, such as ada@example.com.")
}
