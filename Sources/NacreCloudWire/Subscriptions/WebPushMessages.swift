/// `POST tokens/web-push`, which is ours: a browser's push subscription, as `PushSubscription.toJSON()` gives it, to which the user's notifications go from
/// now on.
package struct WebPushRegisterRequest: Equatable, Sendable {
    package struct Subscription: Equatable, Sendable {
        package var endpoint: String
        /// Base64 for URLs, as the others: a point of 65 bytes.
        package var p256dh: String
        /// 16 bytes.
        package var auth: String

        package init(endpoint: String, p256dh: String, auth: String) {
            (self.endpoint, self.p256dh, self.auth) = (endpoint, p256dh, auth)
        }
    }

    /// nil: the browser is not told by a push service any more.
    package var subscription: Subscription?
    package var clientID: String?
    package var `extension`: RequestExtension

    package init(subscription: Subscription?, clientID: String? = nil, extension: RequestExtension = RequestExtension()) {
        (self.subscription, self.clientID, self.extension) = (subscription, clientID, `extension`)
    }
}

/// The answer to `GET tokens/web-push`: what pages give to `pushManager.subscribe`.
package struct WebPushKeyResponse: Equatable, Sendable {
    /// A point of 65 bytes, in base64 for URLs.
    package var applicationServerKey: String

    package init(applicationServerKey: String) {
        self.applicationServerKey = applicationServerKey
    }
}

/// `POST notifications`, which is ours: what the caller's device says of its notifications.
package struct DeviceNoteRequest: Equatable, Sendable {
    /// The number of the last event that it has: that one and those before are not told again.
    package var heard: Int64?
    /// What its badge shows now: further notifications count from there.
    package var badge: Int64?
    package var clientID: String?
    package var `extension`: RequestExtension

    package init(heard: Int64? = nil, badge: Int64? = nil, clientID: String? = nil, extension: RequestExtension = RequestExtension()) {
        (self.heard, self.badge, self.clientID, self.extension) = (heard, badge, clientID, `extension`)
    }
}
