import NacreCloudAccounts
package import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
package import NacreCrypto
package import NacreHTTPClient

/// The server's identity for push services of browsers (VAPID, RFC 8292).
package struct WebPushIdentity: Sendable {
    let key: P256.PrivateKey
    /// Contact of this server for the service: a `mailto:` or `https:` URL.
    let contact: String
    /// The key that pages pass to `pushManager.subscribe` as `applicationServerKey`, in base64 for URLs.
    package let applicationServerKey: String

    package init(key: P256.PrivateKey, contact: String) throws(CryptoError) {
        (self.key, self.contact) = (key, contact)
        applicationServerKey = Base64URL.encode(try key.publicKey().point())
    }

    /// Seconds that a token is valid. RFC 8292 allows a day; half of it leaves room for clocks that differ.
    private static let tokenSeconds: Int64 = 43_200

    /// The header `Authorization` of a request to an origin.
    func authorization(for origin: String, at now: Timestamp) throws(CryptoError) -> String {
        let token = try ES256Token.text(keyID: nil, key: key) { writer in
            writer.write("aud", origin)
            writer.write("exp", now.secondsSince1970 + Self.tokenSeconds)
            writer.write("sub", contact)
        }
        return "vapid t=\(token),k=\(applicationServerKey)"
    }
}

/// Sends to browsers (RFC 8030) over HTTPS to the allowed hosts, each message encrypted for its receiver (RFC 8291).
/// Follows no redirect.
package struct WebPushSender: PushSender {
    private let identity: WebPushIdentity
    private let client: HTTPClient
    private let now: @Sendable () -> Timestamp
    private let allows: @Sendable (_ endpoint: String) -> Bool
    private let reachesPrivateAddresses: Bool

    private static let answerBytes = 16_384

    /// - Parameters:
    ///   - allows: whether messages are sent to an endpoint. Only tests choose it.
    ///   - reachesPrivateAddresses: whether an allowed host may have a private address. Only tests set it.
    package init(
        _ identity: WebPushIdentity, clock: ServerClock, client: HTTPClient = HTTPClient(),
        allows: @escaping @Sendable (String) -> Bool = { PushHosts.browsers.allows($0) }, reachesPrivateAddresses: Bool = false
    ) {
        (self.identity, self.client, now) = (identity, client, clock.now)
        (self.allows, self.reachesPrivateAddresses) = (allows, reachesPrivateAddresses)
    }

    package func report(_ message: PushMessage, to address: WebPushAddress) async -> PushReport {
        let now = now()
        let seconds = message.expires.secondsSince1970 - now.secondsSince1970
        guard allows(address.endpoint) else { return PushReport(.giveUp(.forbiddenAddress)) }
        guard seconds >= 0 else { return PushReport(.giveUp(.expired)) }
        guard message.payload.count <= WebPushContent.plaintextLength else { return PushReport(.giveUp(.tooLarge)) }
        guard let receiver = try? WebPushContent.Receiver(point: address.point, authentication: address.authentication) else {
            return PushReport(.giveUp(.badKey))
        }
        do {
            var request = HTTPClient.Request(
                "POST", address.endpoint, headers: try headers(of: message, to: address.endpoint, seconds: seconds, at: now),
                body: .bytes(try WebPushContent.seal(message.payload, for: receiver)), totalTimeout: .seconds(Limits.pushSeconds),
                answerBytesMax: Self.answerBytes)
            request.reachesPrivateAddresses = reachesPrivateAddresses
            let answer = try await client.send(request)
            let pause = answer.head.retryAfter(at: Double(now.secondsSince1970))
            return PushReport(Self.outcome(status: answer.status, retryAfter: pause), said: "\(answer.status)")
        } catch {
            return PushReport(.retry(afterSeconds: nil))
        }
    }

    private func headers(
        of message: PushMessage, to endpoint: String, seconds: Int64, at now: Timestamp
    ) throws(CryptoError) -> [HTTPClient.Header] {
        let scheme = endpoint.firstRange(of: "://")?.upperBound ?? endpoint.startIndex
        let origin = endpoint[..<(endpoint[scheme...].firstIndex { $0 == "/" || $0 == "?" } ?? endpoint.endIndex)]
        let headers: [HTTPClient.Header] = [
            .init("Authorization", try identity.authorization(for: String(origin), at: now)), .init("Content-Encoding", "aes128gcm"),
            .init("Content-Type", "application/octet-stream"), .init("TTL", "\(seconds)"), .init("Urgency", message.urgency.webPushName),
        ]
        guard let id = message.collapseID else { return headers }
        // RFC 8030, 5.4: 32 characters of base64 for URLs.
        return headers + [.init("Topic", String(Base64URL.encode(SHA256.digest(Array(id.utf8))).prefix(32)))]
    }

    /// The meaning of a push service's answer. RFC 8030, sections 5 and 7.
    static func outcome(status: Int, retryAfter: Double?) -> PushOutcome {
        switch status {
        case 200..<300: .taken
        case 300..<400, 405: .giveUp(.wrongPlace)
        // The service does not accept this server's identity: an administrator can correct that, so the message waits.
        case 401, 403, 408, 425, 429, 500...: .retry(after: retryAfter)
        case 404, 410: .dropAddress(since: nil)
        case 413: .giveUp(.tooLarge)
        default: .giveUp(.refused)
        }
    }
}

extension PushMessage.Urgency {
    /// The urgency's name in RFC 8030, section 5.3.
    fileprivate var webPushName: String {
        switch self {
        case .low: "low"
        case .background: "normal"
        case .visible: "high"
        }
    }
}
