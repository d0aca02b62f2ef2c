import FoundationEssentials
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPClient
import NacreTelemetry

/// A way of telling the operator, beside the log.
enum AlertWay: Hashable, Sendable {
    case mail(String)
    case webhook(AlertWebhook)

    /// The way in a word, without an address.
    var name: String {
        switch self {
        case .mail: "mail"
        case .webhook: "webhook"
        }
    }
}

/// The outcome of telling by one way.
struct AlertReport: Hashable, Sendable {
    var isTaken: Bool
    /// The answer of the other side, in words.
    var said: String
}

/// Tells the operator of alerts: by log, by mail, and by signed requests to webhooks.
///
/// A request is signed as a delivery of a webhook is (`WebhookSender`), under the rule's secret. No redirect is
/// followed.
struct AlertTeller: Sendable {
    /// nil: the server sends no mail.
    let postman: Postman?
    /// The hosts that the operator allows; loopback is allowed anyway.
    let hosts: PushHosts
    let sealer: TokenSealer
    let clock: ServerClock
    let logger: Logger
    /// The name of this server in messages.
    let server: String
    private let client = HTTPClient()

    init(postman: Postman?, hosts: PushHosts, sealer: TokenSealer, clock: ServerClock, logger: Logger, server: String) {
        (self.postman, self.hosts, self.sealer, self.clock) = (postman, hosts, sealer, clock)
        (self.logger, self.server) = (logger, server)
    }

    static func ways(of rule: AlertRule) -> [AlertWay] { rule.mail.map(AlertWay.mail) + (rule.webhook.map { [.webhook($0)] } ?? []) }

    // MARK: The log

    func log(_ message: AlertMessage, of rule: AlertRule) {
        let level: LogLevel = message.event == .ended ? .notice : rule.measure.isGrave ? .error : .warning
        let text: StaticString =
            switch message.event {
            case .began: "An alert began"
            case .goesOn: "An alert goes on"
            case .ended: "An alert ended"
            case .test: "An alert is tested, nothing is wrong"
            }
        let unit = rule.measure.unit
        logger.log(
            level, text,
            [
                .name: .string(rule.name), .kind: .string(message.kind), .quantity: .string(message.figure.map(unit.text) ?? "no figure"),
                .limit: .string(unit.text(rule.limit)), .scope: .string(message.scope),
                .since: .string(message.since.map(AlertMessage.text) ?? "now"), .remedy: .string(message.remedy),
            ])
    }

    // MARK: Other ways

    func send(_ message: AlertMessage, by way: AlertWay) async -> AlertReport {
        switch way {
        case .mail(let address): await mail(message, to: address)
        case .webhook(let webhook): await post(message, to: webhook)
        }
    }

    private func mail(_ message: AlertMessage, to address: String) async -> AlertReport {
        let (subject, body) = message.mail
        return await mail(subject: subject, body: body, to: address)
    }

    /// Sends a plain text by mail.
    /// - Parameter subject: one line of ASCII characters.
    func mail(subject: String, body: String, to address: String) async -> AlertReport {
        guard let postman else { return AlertReport(isTaken: false, said: "this server sends no mail: start it with --smtp") }
        do {
            try await postman.send(subject: subject, body: body, to: address)
            return AlertReport(isTaken: true, said: "taken by the mail server")
        } catch let failure as MailClient.Failure {
            return AlertReport(isTaken: false, said: failure.reply == 0 ? "no answer of the mail server" : "the mail server said \(failure.reply)")
        } catch {
            return AlertReport(isTaken: false, said: "the mail could not be written")
        }
    }

    private func post(_ message: AlertMessage, to webhook: AlertWebhook) async -> AlertReport {
        guard allows(webhook.url) else { return AlertReport(isTaken: false, said: "the host is not allowed: see --alert-host") }
        guard let secret = sealer.open(webhook.sealedSecret, for: .alertSecret, binding: webhook.url) else {
            return AlertReport(isTaken: false, said: "the secret cannot be opened: add the rule anew")
        }
        do {
            let body = [UInt8](try AdminProblem.encoder.encode(message))
            let request = WebhookSender.request(
                body, to: webhook.url, .init("X-Nacre-Alert", message.alert), by: secret, at: clock.now(), timeout: .seconds(Limits.pushSeconds))
            let status = try await client.send(request).status
            return AlertReport(isTaken: (200..<300).contains(status), said: "status \(status)")
        } catch let failure as HTTPClient.Failure {
            return AlertReport(isTaken: false, said: "no answer: \(failure.cause)")
        } catch {
            return AlertReport(isTaken: false, said: "no answer")
        }
    }

    // MARK: Webhooks

    /// Whether requests may go to a URL: HTTPS to an allowed host, or HTTP to this machine.
    func allows(_ url: String) -> Bool {
        hosts.allows(url) || GuardedURL(url, bytesMax: Limits.webhookURLBytes).map { !$0.isSecure && $0.isLoopback } ?? false
    }

    /// Makes the webhook of a URL, with a new secret.
    /// - Throws: `BAD_REQUEST` if requests may not go there.
    func webhook(_ url: String) throws -> (webhook: AlertWebhook, secret: String) {
        guard allows(url) else {
            throw ServerError.badValue(
                "webhook", "alerts may not go to this URL",
                remedy: "Give an http URL to localhost, or an https URL to a host that nacre serve --alert-host names.")
        }
        let secret = try WebhookSender.newSecret()
        return (AlertWebhook(url: url, sealedSecret: try sealer.seal(Array(secret.utf8), for: .alertSecret, binding: url)), secret)
    }
}
