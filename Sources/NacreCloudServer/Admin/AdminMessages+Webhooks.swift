extension AdminMessages {
    /// `POST /admin/1/webhooks`
    package struct NewWebhook: Codable, Hashable, Sendable {
        package var container: String
        package var environment: String
        /// The URL of its receiver: an `https` URL, or an `http` URL of this machine.
        package var url: String
        /// The zone that is watched; nil: every zone.
        package var zone: String?
        /// The body of a `records/query`, whose type and filters choose among changes; nil: every record.
        package var query: String?
        /// The fields whose values are sent; nil: none.
        package var fields: [String]?
        /// Whether private databases are watched too; nil: no.
        package var isPrivate: Bool?

        package init(
            container: String, environment: String, url: String, zone: String? = nil, query: String? = nil, fields: [String]? = nil,
            isPrivate: Bool? = nil
        ) {
            (self.container, self.environment, self.url, self.zone) = (container, environment, url, zone)
            (self.query, self.fields, self.isPrivate) = (query, fields, isPrivate)
        }
    }

    package struct CreatedWebhook: Codable, Hashable, Sendable {
        package var id: String
        /// The key of its signatures, and the credential of its receiver.
        package var secret: String
    }

    /// One webhook, of one container and environment.
    package struct WebhookName: Codable, Hashable, Sendable {
        package var container: String
        package var environment: String
        package var id: String

        package init(container: String, environment: String, id: String) {
            (self.container, self.environment, self.id) = (container, environment, id)
        }
    }

    /// `GET /admin/1/webhooks`
    package struct Webhooks: Codable, Hashable, Sendable {
        /// The webhooks, in the order of their IDs.
        package var webhooks: [WebhookLine]
    }

    package struct WebhookLine: Codable, Hashable, Sendable {
        package var id: String
        package var url: String
        package var zone: String?
        package var recordType: String?
        /// The query whose filters it has; absent without filters.
        package var query: String?
        package var fields: [String]
        package var isPrivate: Bool
        /// Milliseconds since 1970.
        package var created: Int64
        /// active, retrying, behind or parked; absent in the answer to its deletion.
        package var state: String?
        /// The number of changes that were dropped, of which the receiver is to be told; absent if there are none.
        package var lost: Int64?
        /// Time of the oldest change that the receiver has not acknowledged, in milliseconds since 1970; absent if it
        /// has all.
        package var waitingSince: Int64?
        /// The receiver's last answer; absent before the first delivery.
        package var lastStatus: String?
        /// Time of the last delivery, in milliseconds since 1970.
        package var lastTime: Int64?
    }

    package struct WebhookTest: Codable, Hashable, Sendable {
        /// Whether the receiver acknowledged it.
        package var isTaken: Bool
        /// The status of the receiver's answer, or why there is none.
        package var status: String
    }

    package struct WebhookResume: Codable, Hashable, Sendable {
        /// The number of zones whose deliveries were parked.
        package var resumed: Int
    }
}
