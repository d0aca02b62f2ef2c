import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
import NacreHTTPClient

/// Sends deliveries to the receivers of webhooks. Follows no redirect, and reaches no private address but loopback.
///
/// A delivery is signed: `X-Nacre-Signature: t=SECONDS,v1=CODE`. The code is HMAC-SHA256 over the seconds since 1970,
/// a full stop and the body, under the webhook's secret. A receiver that refuses old times takes no delivery from
/// somebody who has only seen it. See `docs/webhooks.md`.
struct WebhookSender: WebhookSending {
    static let signatureHeader = "X-Nacre-Signature"

    private let sealer: TokenSealer
    private let clock: ServerClock
    /// The client for receivers elsewhere, separate because it does not connect to private addresses.
    private let client = HTTPClient()
    private let loopbackClient = HTTPClient()

    private static let answerBytes = 16_384
    private static let secretBytes = 32

    init(_ sealer: TokenSealer, clock: ServerClock) {
        (self.sealer, self.clock) = (sealer, clock)
    }

    func fault(ofURL url: String) -> ServerError? {
        guard Self.address(url) == nil else { return nil }
        return .badValue(
            "url", "deliveries may not go to this URL",
            remedy: "Give an https URL with a host's name, or an http URL to localhost or 127.0.0.1; \(Limits.webhookURLBytes) bytes at most.")
    }

    private static func address(_ url: String) -> GuardedURL? {
        guard let address = GuardedURL(url, bytesMax: Limits.webhookURLBytes), address.isSecure || address.isLoopback else { return nil }
        return address
    }

    func newSecret(of id: String) throws -> (secret: String, sealed: String) {
        let secret = try Self.newSecret()
        return (secret, try sealer.seal(Array(secret.utf8), for: .webhookSecret, binding: id))
    }

    /// A new secret of a webhook or of an alert.
    static func newSecret() throws -> String { Hex.encode(try SecureRandom.keyBytes(secretBytes)) }

    private func secret(of webhook: Webhook) -> [UInt8]? { sealer.open(webhook.sealedSecret, for: .webhookSecret, binding: webhook.id) }

    func isSecret(_ text: String, of webhook: Webhook) -> Bool {
        secret(of: webhook).map { constantTimeEquals(Array(text.utf8), $0) } ?? false
    }

    func send(_ body: [UInt8], to webhook: Webhook) async -> WebhookReport {
        guard let address = Self.address(webhook.url) else { return WebhookReport(failed: "the URL is not allowed") }
        guard let secret = secret(of: webhook) else { return WebhookReport(failed: "the secret cannot be opened") }
        var request = Self.request(
            body, to: webhook.url, .init("X-Nacre-Webhook", webhook.id), by: secret, at: clock.now(), timeout: .seconds(Limits.webhookSeconds))
        request.reachesPrivateAddresses = address.isLoopback
        do {
            let head = try await (address.isLoopback ? loopbackClient : client).send(request).head
            return WebhookReport(status: head.status, retryAfter: head.retryAfter(at: Double(clock.now().secondsSince1970)))
        } catch {
            return WebhookReport(failed: "no answer: \(error.cause)")
        }
    }

    /// A signed request to a receiver of webhooks or of alerts.
    /// - Parameter name: the header that names the webhook or the alert.
    static func request(
        _ body: [UInt8], to url: String, _ name: HTTPClient.Header, by secret: [UInt8], at now: Timestamp, timeout: Duration
    ) -> HTTPClient.Request {
        let headers: [HTTPClient.Header] = [
            .init("Content-Type", "application/json"), name, .init(signatureHeader, signature(of: body, by: secret, at: now)),
        ]
        return HTTPClient.Request("POST", url, headers: headers, body: .bytes(body), totalTimeout: timeout, answerBytesMax: answerBytes)
    }

    static func signature(of body: [UInt8], by secret: [UInt8], at now: Timestamp) -> String {
        let seconds = now.secondsSince1970
        return "t=\(seconds),v1=\(Hex.encode(HMACSHA256.code(for: Array("\(seconds).".utf8) + body, key: secret)))"
    }
}
