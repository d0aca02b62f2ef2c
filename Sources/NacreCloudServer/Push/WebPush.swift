package import NacreCloudContainer
import NacreCloudWire
package import NacreCrypto
package import NacreHTTPClient

/// Who sends, as push services of browsers know it (VAPID, RFC 8292).
package struct WebPushIdentity: Sendable {
    let key: P256.PrivateKey
    /// `mailto:` or `https:`, where the service finds somebody to complain to.
    let contact: String
    /// What pages give to `pushManager.subscribe` as `applicationServerKey`: base64 for URLs.
    package let applicationServerKey: String

    package init(key: P256.PrivateKey, contact: String) throws(CryptoError) {
        (self.key, self.contact) = (key, contact)
        applicationServerKey = Base64URL.encode(try key.publicKey().point())
    }

    /// How long a token is good, in seconds. RFC 8292: a day at most; clocks differ.
    private static let tokenSeconds: Int64 = 43_200

    /// The header `Authorization` of a request to this origin.
    func authorization(for origin: String, at now: Timestamp) throws(CryptoError) -> String {
        let token = try ES256Token.text(keyID: nil, key: key) { writer in
            writer.write("aud", origin)
            writer.write("exp", now.secondsSince1970 + Self.tokenSeconds)
            writer.write("sub", contact)
        }
        return "vapid t=\(token),k=\(applicationServerKey)"
    }
}

/// Sends to browsers (RFC 8030), sealed for each (RFC 8291), over HTTPS to the hosts that are allowed. Follows no redirect.
package struct WebPushSender: PushSender {
    private let identity: WebPushIdentity
    private let client: HTTPClient
    private let now: @Sendable () -> Timestamp
    private let allows: @Sendable (_ endpoint: String) -> Bool
    private let reachesPrivateAddresses: Bool

    private static let answerBytes = 16_384

    /// - Parameters:
    ///   - allows: whether messages are sent to an endpoint. Only tests choose it.
    ///   - reachesPrivateAddresses: whether an allowed host may be one of a private network. Only tests say so.
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
            return PushReport(Self.outcome(status: answer.status, retryAfter: answer.head["retry-after"]), said: "\(answer.status)")
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

    /// What a push service's answer means. RFC 8030, sections 5 and 7.
    static func outcome(status: Int, retryAfter: String?) -> PushOutcome {
        switch status {
        case 200..<300: .taken
        case 300..<400, 405: .giveUp(.wrongPlace)
        // Who we are was not believed: what is wrong is here, and can be mended.
        case 401, 403, 408, 425, 429, 500...: .retry(after: retryAfter)
        case 404, 410: .dropAddress(since: nil)
        case 413: .giveUp(.tooLarge)
        default: .giveUp(.refused)
        }
    }
}

extension PushMessage.Urgency {
    /// RFC 8030, section 5.3.
    fileprivate var webPushName: String {
        switch self {
        case .low: "low"
        case .background: "normal"
        case .visible: "high"
        }
    }
}
