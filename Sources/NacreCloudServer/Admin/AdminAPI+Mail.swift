import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer
import NacreLocks

extension AdminAPI {
    func addMailRoutes(to router: inout Router) {
        router.get("/admin/1/mail") { _, _ in
            let mail = alerts.teller.postman?.configuration
            return try answer(AdminMessages.Mail(from: mail?.from, server: mail?.url))
        }
        router.post("/admin/1/mail/test", bodyBytesMax: Limits.accountBodyBytes, testMail)
    }

    /// `POST /admin/1/mail/test`
    @Sendable private func testMail(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let address = try await body(AdminMessages.NewMailTest.self, of: request).to
        let teller = alerts.teller
        guard teller.postman != nil else {
            throw ServerError(
                .badRequest, "this server sends no mail", remedy: "Start it with --smtp, --mail-from and --public-url.")
        }
        guard Letter.isMailable(address) else {
            throw ServerError.badValue("to", "not an address that mail is sent to", remedy: "Give an address such as ada@example.com.")
        }
        try mailTrials.begin(at: cloud.now)
        let report = await teller.mail(
            subject: "[\(teller.server)] test", body: "An administrator of \(teller.server) tries whether its mails arrive. Nothing is to be done.",
            to: address)
        return try answer(AdminMessages.MailTest(to: address, isTaken: report.isTaken, said: report.said))
    }
}

/// Spaces out mails that administrators send to try the mail server: no session may flood an address.
final class MailTrials: Sendable {
    /// Seconds between two of them. On this server: a mail has arrived by then.
    static let pauseSeconds: Double = 60

    private let last = Locked<Timestamp?>(nil)

    /// - Throws: `THROTTLED` if another began within `pauseSeconds`.
    func begin(at now: Timestamp) throws(ServerError) {
        let wait = last.withLock { last -> Double in
            let passed = last.map { now.secondsSince2001 - $0.secondsSince2001 } ?? Self.pauseSeconds
            // A clock that was set back lets one through.
            guard passed >= 0, passed < Self.pauseSeconds else {
                last = now
                return 0
            }
            return Self.pauseSeconds - passed
        }
        guard wait > 0 else { return }
        throw ServerError(
            .throttled, "a test mail was sent a moment ago", remedy: "Wait for as many seconds as retryAfter says.",
            retryAfter: Int(wait.rounded(.up)))
    }
}
