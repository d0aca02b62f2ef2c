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
    static func retry(after text: String?) -> PushOutcome {
        guard let seconds = text.flatMap({ Double($0) }), seconds.isFinite, seconds >= 0 else { return .retry(afterSeconds: nil) }
        return .retry(afterSeconds: min(seconds, retrySecondsBelieved))
    }
}

/// Hands messages to a service that knows the way to devices.
package protocol PushSender: Sendable {
    /// What the service knows a device by.
    associatedtype Address: Sendable

    /// Sends a message once. Never throws: what went wrong is an outcome, and so is a cancelled task (`retry`).
    func send(_ message: PushMessage, to address: Address) async -> PushOutcome
}
