package import NacreCloudWire

/// What a device is to be told, whichever service carries it.
package struct PushMessage: Sendable {
    /// How urgent it is: what shows something, what wakes an app in the background, and what may wait for a better moment.
    package enum Urgency: Hashable, Sendable, CaseIterable {
        case low
        case background
        case visible
    }

    /// JSON.
    package var payload: [UInt8]
    package var urgency: Urgency
    /// Of undelivered messages with one of these a device gets the last.
    package var collapseID: String?
    /// When it is of no use any more.
    package var expires: Timestamp

    package init(payload: [UInt8], urgency: Urgency, collapseID: String? = nil, expires: Timestamp) {
        (self.payload, self.urgency, self.collapseID, self.expires) = (payload, urgency, collapseID, expires)
    }
}

/// What came of a message, and what is to be done.
package enum PushOutcome: Equatable, Sendable {
    /// The service has taken it.
    case taken
    /// It may be taken later.
    /// - Parameter afterSeconds: as the service asks; nil: it does not say.
    case retry(afterSeconds: Double?)
    /// The device is not reached by this address any more.
    /// - Parameter since: nil: it is not known since when; an address that was registered later is good.
    case dropAddress(since: Timestamp?)
    /// This message will never be taken.
    case giveUp(GiveUp)

    package enum GiveUp: String, Hashable, Sendable, CaseIterable {
        /// More bytes than the service takes.
        case tooLarge
        /// The service finds fault with it.
        case refused
        /// The service has no such path, or leads elsewhere, where nothing is sent.
        case wrongPlace
        /// The address is none that anything is sent to.
        case forbiddenAddress
        /// It was too late before it was sent.
        case expired
        /// The address has no key that a message can be sealed for.
        case badKey
    }

    /// The longest that a service is believed, in seconds.
    private static let retrySecondsBelieved = 86_400.0

    /// - Parameter text: the header `Retry-After`; a date counts as nothing said.
    package static func retry(after text: String?) -> PushOutcome {
        guard let seconds = text.flatMap({ Double($0) }), seconds.isFinite, seconds >= 0 else { return .retry(afterSeconds: nil) }
        return .retry(afterSeconds: min(seconds, retrySecondsBelieved))
    }
}

/// What came of a message, and what the service said of it.
package struct PushReport: Equatable, Sendable {
    package var outcome: PushOutcome
    /// Such as `410 Unregistered`; nil: nothing was heard.
    package var said: String?

    package init(_ outcome: PushOutcome, said: String? = nil) {
        (self.outcome, self.said) = (outcome, said)
    }
}

/// A browser as the Push API gives it: `PushSubscription.toJSON()`.
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

/// Where a device is told without asking, as it registered.
package enum PushAddress: Hashable, Sendable {
    case browser(WebPushAddress)
    /// - Parameter token: in hexadecimal digits.
    case apple(token: String, APNsEnvironment)

    /// Bytes of a notification that find room. RFC 8291, section 4: 4,096 sealed; Apple's services take as many in the clear.
    var payloadBytes: Int {
        switch self {
        case .browser: Limits.webPushPayloadBytes
        case .apple: Limits.payloadBytes
        }
    }
}

/// Hands messages to the services that know the way to devices.
package protocol PushDelivering: Sendable {
    /// Sends a message once, in `Limits.pushSeconds` at most. Never throws: what went wrong is an outcome, and so is a cancelled task (`retry`).
    /// - Parameter container: of the subscription. Apple's devices belong to an app of it.
    func send(_ message: PushMessage, to address: PushAddress, of container: String) async -> PushReport

    /// What pages give to `pushManager.subscribe`, so that their push service takes messages of this server: base64 for URLs.
    func applicationServerKey() async throws -> String

    /// Why nothing would be sent to a browser; nil: something would.
    func fault(of browser: WebPushAddress) -> ServerError?
}

extension ByteWriter {
    mutating func write(_ address: PushAddress) {
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
    mutating func pushAddress() throws(MalformedBytes) -> PushAddress {
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
