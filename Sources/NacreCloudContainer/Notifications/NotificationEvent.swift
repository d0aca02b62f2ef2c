package import NacreCloudStorage
import NacreCloudWire

/// An event between a commit and its subscribers' devices, for the request log. Names are those of the store: the log
/// replaces them.
package struct NotificationEvent: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// A subscription fires, and its user is to be told.
        case fires
        /// Subscriptions may be concerned, and none fires.
        case firesNone
        /// A subscription would fire, and its user may not read the record.
        case mayNotRead
        /// The task that finds subscriptions failed too often, and waits for an administrator.
        case parked
        /// The user's device made the change, and is not told.
        case isAuthor
        /// The user has no device that asks for notifications.
        case hasNoDevice
        /// The device is to fetch everything, as an earlier notification says.
        case isToldAnyway
        /// The notification waits in the device's queue.
        case queued
        /// The device's event stream has the notification.
        case listened
        /// The device said that it has the notification.
        case heard
        case coalesced
        case everything
        case sent
        case postponed
        case refused
        case addressEnded
        /// The device was signed out, and is told nothing any more.
        case signedOut
    }

    package var kind: Kind
    /// The task that a commit left; nil: a later event of a known notification.
    package var task: TaskKey?
    /// The IDs of the change and the subscription, as a queue has them; empty: the event is about none.
    package var notification: String
    /// Empty: unknown, or the user is to fetch everything.
    package var subscriptionID = ""
    /// The database that the subscription belongs to.
    package var scope: DatabaseKey.Scope?
    /// The user record name; empty: unknown.
    package var user = ""
    /// The device's key; empty: the event is about no single device.
    package var device = ""

    package init(_ kind: Kind, task: TaskKey? = nil) {
        (self.kind, self.task, notification) = (kind, task, "")
    }

    /// Makes an event of a payload on its way to a user.
    package init(_ kind: Kind, _ payload: Payload, task: TaskKey? = nil, user: String, device: String = "") {
        (self.kind, self.task, notification) = (kind, task, QueuedNotification.identity(of: payload))
        (subscriptionID, scope, self.user, self.device) = (payload.subscriptionID ?? "", payload.scope, user, device)
    }

    /// Makes an event of a queue.
    package init(_ kind: Kind, _ notification: QueuedNotification, user: String = "", device: String) {
        (self.kind, self.notification, self.user, self.device) = (kind, notification.identity, user, device)
    }
}

extension NotificationEvent.Kind {
    package init?(_ event: PushLogLine.Event) {
        switch event {
        case .queued: return nil
        case .coalesced: self = .coalesced
        case .everything: self = .everything
        case .sent: self = .sent
        case .postponed: self = .postponed
        case .refused: self = .refused
        case .addressEnded: self = .addressEnded
        }
    }
}

extension Cloud {
    /// Passes events on to the request log, if there is one. They are not made otherwise.
    package func note(_ events: @autoclosure () -> [NotificationEvent]) {
        guard let noted = process.noted, case let events = events(), !events.isEmpty else { return }
        noted(events)
    }
}
