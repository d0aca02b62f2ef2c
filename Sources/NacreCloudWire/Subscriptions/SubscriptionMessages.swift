/// `POST subscriptions/lookup`.
package struct SubscriptionsLookupRequest: Equatable, Sendable {
    package var subscriptionIDs: [String]
    package var `extension`: RequestExtension

    package init(subscriptionIDs: [String], extension: RequestExtension = RequestExtension()) {
        self.subscriptionIDs = subscriptionIDs
        self.extension = `extension`
    }
}

package enum SubscriptionOperation: Equatable, Sendable {
    case create(Subscription)
    case update(Subscription)
    /// Deletes the subscription with this ID.
    case delete(String)

    package var subscriptionID: String {
        switch self {
        case .create(let subscription), .update(let subscription): subscription.subscriptionID
        case .delete(let subscriptionID): subscriptionID
        }
    }
}

/// `POST subscriptions/modify`.
package struct SubscriptionsModifyRequest: Equatable, Sendable {
    package var operations: [SubscriptionOperation]
    package var `extension`: RequestExtension

    package init(operations: [SubscriptionOperation], extension: RequestExtension = RequestExtension()) {
        self.operations = operations
        self.extension = `extension`
    }
}

package enum SubscriptionResult: Equatable, Sendable {
    case subscription(Subscription)
    case deleted(String)
    case failure(String, ServerError)
}

/// The answer to `subscriptions/list`, `subscriptions/lookup` and `subscriptions/modify`.
package struct SubscriptionsResponse: Equatable, Sendable {
    package var subscriptions: [SubscriptionResult]

    package init(subscriptions: [SubscriptionResult]) {
        self.subscriptions = subscriptions
    }
}

/// The Apple push service of a device's token; each has its own tokens.
package enum APNsEnvironment: String, Hashable, Sendable, CaseIterable {
    case development
    case production
}

/// `POST tokens/create`: asks for a token under which notifications wait for a client that polls for them.
package struct TokensCreateRequest: Equatable, Sendable {
    package var apnsEnvironment: APNsEnvironment
    /// The client's name for itself; CloudKit JS sends a UUID.
    package var clientID: String?
    package var `extension`: RequestExtension

    package init(apnsEnvironment: APNsEnvironment, clientID: String? = nil, extension: RequestExtension = RequestExtension()) {
        self.apnsEnvironment = apnsEnvironment
        self.clientID = clientID
        self.extension = `extension`
    }
}

/// The answer to `tokens/create`.
package struct TokensCreateResponse: Equatable, Sendable {
    package var apnsEnvironment: APNsEnvironment
    package var apnsToken: String
    /// The URL that a client polls: each GET answers with the next notification.
    package var webcourierURL: String

    package init(apnsEnvironment: APNsEnvironment, apnsToken: String, webcourierURL: String) {
        self.apnsEnvironment = apnsEnvironment
        self.apnsToken = apnsToken
        self.webcourierURL = webcourierURL
    }
}

/// `POST tokens/register`: sends the user's notifications to this token from now on. Its answer is empty.
package struct TokensRegisterRequest: Equatable, Sendable {
    package var apnsEnvironment: APNsEnvironment
    /// A token from `tokens/create`, or of an Apple device, in hexadecimal digits.
    package var apnsToken: String
    package var clientID: String?
    package var `extension`: RequestExtension

    package init(
        apnsEnvironment: APNsEnvironment, apnsToken: String, clientID: String? = nil, extension: RequestExtension = RequestExtension()
    ) {
        self.apnsEnvironment = apnsEnvironment
        self.apnsToken = apnsToken
        self.clientID = clientID
        self.extension = `extension`
    }
}

/// The answer to `tokens/register`: an empty object.
package struct TokensRegisterResponse: Equatable, Sendable {
    package init() {}
}
