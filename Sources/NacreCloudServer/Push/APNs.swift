import FoundationEssentials
package import NacreCloudContainer
import NacreCloudStorage
package import NacreCloudWire
package import NacreCrypto
package import NacreHTTPClient
import NacreLocks

/// The address of a device of Apple's, as the device registered it.
package struct APNsAddress: Hashable, Sendable {
    /// The device token in hexadecimal digits.
    package var token: String
    package var environment: APNsEnvironment
    /// The app's bundle ID.
    package var topic: String

    package init(token: String, environment: APNsEnvironment, topic: String) {
        (self.token, self.environment, self.topic) = (token, environment, topic)
    }

    /// Whether the address cannot change the meaning of a request: the token has only digits, the topic only characters
    /// of a name.
    var isWellFormed: Bool {
        !token.isEmpty && token.utf8.count <= 200 && token.utf8.count % 2 == 0 && token.allSatisfy(\.isHexDigit)
            && token.utf8.allSatisfy { $0 < 0x80 }
            && !topic.isEmpty && topic.utf8.count <= Limits.nameCharacters
            && topic.utf8.allSatisfy { Names.isLetter($0) || Names.isDigit($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") }
    }
}

/// The sender's identity for Apple: a key of a team (`AuthKey_….p8`). Its provider token is renewed after forty
/// minutes. Apple refuses tokens older than an hour, and tokens that are renewed more often than every twenty minutes.
package final class APNsIdentity: Sendable {
    private struct Token {
        var text: String
        var made: Timestamp
    }

    private static let tokenSeconds = 2400.0

    private let key: P256.PrivateKey
    private let keyID: String
    private let teamID: String
    private let token = Locked<Token?>(nil)

    /// - Parameters:
    ///   - pem: the text of the `.p8` file.
    ///   - keyID: the key's ID, ten characters, from Apple's developer page.
    ///   - teamID: the team's ID, ten characters, from the same page.
    package init(pem: String, keyID: String, teamID: String) throws(CryptoError) {
        key = try P256.PrivateKey(pem: pem)
        (self.keyID, self.teamID) = (keyID, teamID)
    }

    func authorization(at now: Timestamp) throws -> String {
        try token.withLock { token in
            if let token, abs(now.secondsSince2001 - token.made.secondsSince2001) < Self.tokenSeconds { return "bearer \(token.text)" }
            let text = try ES256Token.text(keyID: keyID, key: key) { writer in
                writer.write("iss", teamID)
                writer.write("iat", now.secondsSince1970)
            }
            token = Token(text: text, made: now)
            return "bearer \(text)"
        }
    }

    /// Drops a provider token that Apple found too old, unless a newer one has replaced it already.
    func forget(_ authorization: String) {
        token.withLock { if let known = $0, authorization == "bearer \(known.text)" { $0 = nil } }
    }
}

/// Sends to devices of Apple's over HTTP/2. Follows no redirect.
package struct APNsSender: PushSender {
    private let identity: APNsIdentity
    private let client: HTTPClient
    private let now: @Sendable () -> Timestamp
    private let url: @Sendable (APNsEnvironment) -> String

    private static let answerBytes = 16_384
    private static let payloadBytes = 4096

    /// - Parameter url: the URL of Apple's service. Only tests choose another.
    package init(
        _ identity: APNsIdentity, clock: ServerClock, client: HTTPClient = HTTPClient(),
        url: @escaping @Sendable (APNsEnvironment) -> String = Self.apple
    ) {
        (self.identity, self.client, now, self.url) = (identity, client, clock.now, url)
    }

    package static func apple(_ environment: APNsEnvironment) -> String {
        switch environment {
        case .development: "https://api.sandbox.push.apple.com"
        case .production: "https://api.push.apple.com"
        }
    }

    package func report(_ message: PushMessage, to address: APNsAddress) async -> PushReport {
        guard address.isWellFormed else { return PushReport(.giveUp(.forbiddenAddress)) }
        guard message.expires.secondsSince1970 >= now().secondsSince1970 else { return PushReport(.giveUp(.expired)) }
        guard message.payload.count <= Self.payloadBytes else { return PushReport(.giveUp(.tooLarge)) }
        let first = await attempt(message, to: address)
        // The first token was too old for Apple's clock; the second attempt makes a new one.
        return first.isTokenTooOld ? await attempt(message, to: address).report : first.report
    }

    private func attempt(_ message: PushMessage, to address: APNsAddress) async -> Refusal {
        do {
            let authorization = try identity.authorization(at: now())
            let answer = try await client.send(
                HTTPClient.Request(
                    "POST", "\(url(address.environment))/3/device/\(address.token)",
                    headers: headers(of: message, to: address, authorization), body: .bytes(message.payload),
                    totalTimeout: .seconds(Limits.pushSeconds), answerBytesMax: Self.answerBytes))
            let refusal = Refusal(status: answer.status, body: answer.body, retryAfter: answer.head.retryAfter(at: Double(now().secondsSince1970)))
            if refusal.isTokenTooOld { identity.forget(authorization) }
            return refusal
        } catch {
            return .silence
        }
    }

    private func headers(of message: PushMessage, to address: APNsAddress, _ authorization: String) -> [HTTPClient.Header] {
        let headers: [HTTPClient.Header] = [
            .init("authorization", authorization), .init("apns-topic", address.topic),
            .init("apns-push-type", message.urgency == .visible ? "alert" : "background"), .init("apns-priority", message.urgency.apnsPriority),
            .init("apns-expiration", "\(message.expires.secondsSince1970)"), .init("content-type", "application/json"),
        ]
        guard let id = message.collapseID else { return headers }
        // Apple: 64 bytes at most.
        return headers + [.init("apns-collapse-id", Hex.encode(SHA256.digest(Array(id.utf8))))]
    }

    /// An answer of Apple's service and its meaning. Source: "Handling notification responses from APNs".
    struct Refusal: Equatable, Sendable {
        var status: Int
        /// Apple's reason, such as `BadDeviceToken`.
        var reason: String?
        /// The time since which the device's token is invalid.
        var since: Timestamp?
        /// Seconds that Apple asks to wait.
        var retryAfter: Double?

        init(status: Int, reason: String?, since: Timestamp?, retryAfter: Double?) {
            (self.status, self.reason, self.since, self.retryAfter) = (status, reason, since, retryAfter)
        }

        private struct Body: Decodable {
            var reason: String?
            /// Milliseconds since 1970.
            var timestamp: Double?
        }

        init(status: Int, body: [UInt8], retryAfter: Double?) {
            let said = try? JSONDecoder().decode(Body.self, from: Data(body))
            let since = said?.timestamp.flatMap { Int64(exactly: $0.rounded()) }.map(Timestamp.init(millisecondsSince1970:))
            self.init(status: status, reason: said?.reason, since: since, retryAfter: retryAfter)
        }

        /// No answer came.
        static let silence = Refusal(status: 0, reason: nil, since: nil, retryAfter: nil)

        var report: PushReport { PushReport(outcome, said: status == 0 ? nil : ["\(status)", reason].compactMap(\.self).joined(separator: " ")) }

        /// Whether a new provider token would help: 403 with this reason only.
        var isTokenTooOld: Bool { status == 403 && reason == "ExpiredProviderToken" }

        var outcome: PushOutcome {
            switch status {
            case 200: .taken
            case 400 where reason == "BadDeviceToken" || reason == "DeviceTokenNotForTopic": .dropAddress(since: nil)
            case 400 where reason == "IdleTimeout": .retry(after: retryAfter)
            // Apple does not accept this server's identity: an administrator can correct that, so the message waits.
            case 0, 401, 403, 429, 500...: .retry(after: retryAfter)
            case 404, 405, 300..<400: .giveUp(.wrongPlace)
            case 410: .dropAddress(since: since)
            case 413: .giveUp(.tooLarge)
            default: .giveUp(.refused)
            }
        }
    }
}

extension PushMessage.Urgency {
    /// Apple: 10 sends at once, 5 respects the device's power, 1 comes last.
    fileprivate var apnsPriority: String {
        switch self {
        case .low: "1"
        case .background: "5"
        case .visible: "10"
        }
    }
}
