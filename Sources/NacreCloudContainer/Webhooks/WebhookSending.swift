import NacreCloudStorage
package import NacreCloudWire

/// Sends deliveries to the receivers of webhooks.
package protocol WebhookSending: Sendable {
    /// Returns what is wrong with a URL that an administrator gives; nil: deliveries may go there.
    func fault(ofURL url: String) -> ServerError?

    /// Makes the secret of a new webhook, and the form in which the server keeps it.
    func newSecret(of id: String) throws -> (secret: String, sealed: String)

    /// Whether a text is the secret of a webhook. Takes the same time for each wrong text of one length.
    func isSecret(_ text: String, of webhook: Webhook) -> Bool

    /// Sends a body once, signed. Never throws: each failure is a report.
    func send(_ body: [UInt8], to webhook: Webhook) async -> WebhookReport
}

/// The outcome of a delivery.
package struct WebhookReport: Hashable, Sendable {
    /// Whether the receiver acknowledged it, with a status from 200 to 299.
    package var isTaken: Bool
    /// Whether the receiver is gone for good: it is not asked again by itself.
    package var isGone = false
    /// The seconds for which the receiver asks not to be asked again.
    package var pauseSeconds: Double = 0
    /// The status, or why there is none.
    package var said: String

    /// An attempt without an answer.
    package init(failed said: String) {
        (isTaken, self.said) = (false, said)
    }

    /// - Parameter seconds: the pause that the answer asks for; nil: it does not say.
    package init(status: Int, retryAfter seconds: Double? = nil) {
        (isTaken, isGone, said) = ((200..<300).contains(status), status == 410, "\(status)")
        pauseSeconds = min(seconds ?? 0, Limits.webhookRetrySeconds)
    }
}

/// A delivery that a receiver did not acknowledge.
package struct WebhookRefusal: Error, CustomStringConvertible {
    package var webhook: String
    package var report: WebhookReport

    package init(webhook: String, report: WebhookReport) {
        (self.webhook, self.report) = (webhook, report)
    }

    package var description: String { "Webhook \(webhook) did not acknowledge: \(report.said)" }
}
