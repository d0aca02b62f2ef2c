package import NacreCloudStorage
package import NacreCloudWire

/// A message for a device, whichever push service carries it.
package struct PushMessage: Sendable {
    /// The urgency of a message: it may wait for a better moment, wakes an app in the background, or shows something.
    package enum Urgency: Hashable, Sendable, CaseIterable {
        case low
        case background
        case visible
    }

    /// JSON.
    package var payload: [UInt8]
    package var urgency: Urgency
    /// A device gets only the last of its undelivered messages with the same ID.
    package var collapseID: String?
    /// The time after which the message is of no use.
    package var expires: Timestamp

    package init(payload: [UInt8], urgency: Urgency, collapseID: String? = nil, expires: Timestamp) {
        (self.payload, self.urgency, self.collapseID, self.expires) = (payload, urgency, collapseID, expires)
    }
}

/// The result of sending a message, and what is to be done.
package enum PushOutcome: Equatable, Sendable {
    /// The service has taken it.
    case taken
    /// The service may take it later.
    /// - Parameter afterSeconds: seconds that the service asks to wait; nil: it does not say.
    case retry(afterSeconds: Double?)
    /// The address does not reach the device any more.
    /// - Parameter since: the time since when; nil: unknown. An address that was registered later is good.
    case dropAddress(since: Timestamp?)
    /// The service will never take this message.
    case giveUp(GiveUp)

    package enum GiveUp: String, Hashable, Sendable, CaseIterable {
        /// The message has more bytes than the service takes.
        case tooLarge
        /// The service finds fault with the message.
        case refused
        /// The service has no such path, or redirects to another place, where nothing is sent.
        case wrongPlace
        /// The server sends nothing to this address.
        case forbiddenAddress
        /// The message expired before it was sent.
        case expired
        /// The address has no key for which a message can be sealed.
        case badKey
    }

    /// The longest delay that a service may ask for, in seconds.
    private static let retrySecondsBelieved = 86_400.0

    /// - Parameter seconds: seconds that the service asks to wait, however many; nil: it does not say.
    package static func retry(after seconds: Double?) -> PushOutcome { .retry(afterSeconds: seconds.map { min($0, retrySecondsBelieved) }) }
}

/// The result of sending a message, and the service's answer.
package struct PushReport: Equatable, Sendable {
    package var outcome: PushOutcome
    /// The service's answer, for example `410 Unregistered`; nil: none came.
    package var said: String?

    package init(_ outcome: PushOutcome, said: String? = nil) {
        (self.outcome, self.said) = (outcome, said)
    }
}

/// The address of a browser as the Push API gives it: `PushSubscription.toJSON()`.
package struct WebPushAddress: Hashable, Sendable {
    package var endpoint: String
    /// `p256dh`: a point of 65 bytes.
    package var point: [UInt8]
    /// `auth`: 16 bytes.
    package var authentication: [UInt8]

    package init(endpoint: String, point: [UInt8], authentication: [UInt8]) {
        (self.endpoint, self.point, self.authentication) = (endpoint, point, authentication)
    }
}

/// The address at which a push service reaches a device, as the device registered it.
package enum PushAddress: Hashable, Sendable {
    case browser(WebPushAddress)
    /// - Parameter token: in hexadecimal digits.
    case apple(token: String, APNsEnvironment)

    /// Bytes of a notification that fit. RFC 8291, section 4: 4,096 sealed; Apple's services take as many unsealed.
    package var payloadBytes: Int {
        switch self {
        case .browser: Limits.webPushPayloadBytes
        case .apple: Limits.payloadBytes
        }
    }
}

/// Hands messages to the push services that reach devices.
package protocol PushDelivering: Sendable {
    /// Sends a message once, within `Limits.pushSeconds`. Never throws: errors and cancellation (`retry`) are outcomes.
    /// - Parameter container: the container of the subscription. An Apple device belongs to an app of it.
    func send(_ message: PushMessage, to address: PushAddress, of container: String) async -> PushReport

    /// Returns the key that pages give to `pushManager.subscribe` to admit this server's messages, in base64 for URLs.
    func applicationServerKey() async throws -> String

    /// Returns why nothing would be sent to a browser; nil: something would.
    func fault(of browser: WebPushAddress) -> ServerError?
}

extension ByteWriter {
    package mutating func write(_ address: PushAddress) {
        switch address {
        case .browser(let browser):
            byte(1)
            string(browser.endpoint)
            block(browser.point)
            block(browser.authentication)
        case .apple(let token, let environment):
            byte(2)
            string(token)
            string(environment.rawValue)
        }
    }
}

extension ByteReader {
    package mutating func pushAddress() throws(MalformedBytes) -> PushAddress {
        switch try byte() {
        case 1: return .browser(WebPushAddress(endpoint: try string(), point: try block(), authentication: try block()))
        case 2:
            let token = try string()
            guard let environment = APNsEnvironment(rawValue: try string()) else { throw MalformedBytes() }
            return .apple(token: token, environment)
        default: throw MalformedBytes()
        }
    }
}
