/// `POST tokens/web-push`, an endpoint of ours: sends the user's notifications to a browser's push subscription from
/// now on, as `PushSubscription.toJSON()` gives it.
package struct WebPushRegisterRequest: Equatable, Sendable {
    package struct Subscription: Equatable, Sendable {
        package var endpoint: String
        /// A point of 65 bytes, in base64 for URLs.
        package var p256dh: String
        /// 16 bytes, in base64 for URLs.
        package var auth: String

        package init(endpoint: String, p256dh: String, auth: String) {
            (self.endpoint, self.p256dh, self.auth) = (endpoint, p256dh, auth)
        }
    }

    /// nil: ends the pushes to the browser.
    package var subscription: Subscription?
    package var clientID: String?
    package var `extension`: RequestExtension

    package init(subscription: Subscription?, clientID: String? = nil, extension: RequestExtension = RequestExtension()) {
        (self.subscription, self.clientID, self.extension) = (subscription, clientID, `extension`)
    }
}

/// The answer to `GET tokens/web-push`: the key that pages pass to `pushManager.subscribe`.
package struct WebPushKeyResponse: Equatable, Sendable {
    /// A point of 65 bytes, in base64 for URLs.
    package var applicationServerKey: String

    package init(applicationServerKey: String) {
        self.applicationServerKey = applicationServerKey
    }
}

/// `POST notifications`, an endpoint of ours: the state of notifications on the caller's device.
package struct DeviceNoteRequest: Equatable, Sendable {
    /// The number of the last event that the device has: that one and those before are not sent again.
    package var heard: Int64?
    /// The number that its badge shows: further notifications count from there.
    package var badge: Int64?
    package var clientID: String?
    package var `extension`: RequestExtension

    package init(heard: Int64? = nil, badge: Int64? = nil, clientID: String? = nil, extension: RequestExtension = RequestExtension()) {
        (self.heard, self.badge, self.clientID, self.extension) = (heard, badge, clientID, `extension`)
    }
}
