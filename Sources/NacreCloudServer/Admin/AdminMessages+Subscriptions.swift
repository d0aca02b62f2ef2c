extension AdminMessages {
    /// `POST /admin/1/subscriptions/list`: a `POST`, because requests that read a database are logged.
    package struct NewSubscriptionList: Codable, Hashable, Sendable {
        package var container: String
        package var environment: String
        /// `public`, `private` or `shared`.
        package var database: String
        /// An e-mail address or a user record name.
        package var user: String

        package init(container: String, environment: String, database: String, user: String) {
            self.container = container
            self.environment = environment
            self.database = database
            self.user = user
        }
    }

    /// A user's subscriptions, in the order of their IDs.
    package struct Subscriptions: Codable, Hashable, Sendable {
        package var subscriptions: [SubscriptionLine]
    }

    package struct SubscriptionLine: Codable, Hashable, Sendable {
        package var id: String
        /// query, zone or database.
        package var kind: String
        /// The record type or the zone that is watched; empty for a database.
        package var of: String
        /// The events that fire a query subscription, such as `create,update`.
        package var firesOn: String?
        /// The only zone in which a query subscription fires.
        package var zone: String?
        /// The filters of a query subscription as a predicate; absent if it has none.
        package var filter: String?
        /// true: the first notification ends the subscription.
        package var firesOnce: Bool?
        /// Absent: its notifications show nothing.
        package var notification: NotificationForm?
    }

    /// The contents of a subscription's notifications. A text that the app looks up is its key, with the fields whose
    /// values it takes.
    package struct NotificationForm: Codable, Hashable, Sendable {
        package var title: String?
        package var subtitle: String?
        package var alert: String?
        package var sound: String?
        package var category: String?
        /// Fields whose values the notification has.
        package var desiredKeys: [String]?
        package var collapseIDKey: String?
        package var badge: Bool
        package var contentAvailable: Bool
        package var mutableContent: Bool
    }

    /// `POST /admin/1/subscriptions/why`
    package struct NewNotificationQuestion: Codable, Hashable, Sendable {
        package var container: String
        package var environment: String
        /// public, private or shared.
        package var database: String
        /// The owner of the subscription: an e-mail address or a user record name.
        package var user: String
        /// The record's zone; nil: the default zone.
        package var zone: String?
        /// The owner of the zone in a shared database: an e-mail address or a user record name; nil for others.
        package var owner: String?
        package var record: String
        package var subscription: String

        package init(container: String, environment: String, database: String, user: String, zone: String?, record: String, subscription: String) {
            (self.container, self.environment, self.database, self.user) = (container, environment, database, user)
            (self.zone, self.record, self.subscription) = (zone, record, subscription)
        }
    }

    package struct NotificationAnswer: Codable, Hashable, Sendable {
        package var fires: Bool
        package var steps: [NotificationStep]
        package var devices: [NotifiedDevice]
    }

    package struct NotificationStep: Codable, Hashable, Sendable {
        package var name: String
        package var isPassed: Bool
        package var text: String
    }

    package struct NotifiedDevice: Codable, Hashable, Sendable {
        package var name: String
        /// true: the device made the change, and is not notified.
        package var isAuthor: Bool
        package var way: String
        /// Lines of the device's log, the oldest first.
        package var log: [PushLogLine]
        /// Milliseconds since 1970. Present if the log is full: earlier lines may have been dropped from it.
        package var logBegins: Int64?
    }

    package struct PushLogLine: Codable, Hashable, Sendable {
        /// Time of the event, in milliseconds since 1970.
        package var time: Int64
        /// queued, coalesced, everything, sent, postponed, refused or addressEnded.
        package var event: String
        /// The notification's number in the device's queue.
        package var number: Int64
        package var subscription: String
        package var record: String
        /// The push service's answer.
        package var said: String
    }
}
