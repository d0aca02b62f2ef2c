extension AdminMessages {
    /// `GET /admin/1/requests`
    package struct Requests: Codable, Hashable, Sendable {
        /// Requests, the newest first; with `following`, the oldest first.
        package var requests: [RequestLine]
        /// The position of the next page; absent on the last.
        package var next: String?
        /// The position of the newest request of all: `following` of a request for later ones.
        package var last: String
        /// Requests that the log has lost since the server's start.
        package var lost: Int
    }

    /// One answered request. Members that say nothing are absent.
    package struct RequestLine: Codable, Hashable, Sendable {
        /// The row's place in the log: `after` of a request for older ones, `following` for later ones.
        package var position: String
        /// The UUID of the answer.
        package var request: String
        /// Time of the answer, in milliseconds since 1970.
        package var time: Int64
        package var status: Int
        /// Milliseconds of the whole request, in queues, in the store, and of encoding.
        package var milliseconds: Double
        package var waitMilliseconds: Double
        package var storeMilliseconds: Double
        package var encodeMilliseconds: Double
        package var bytesIn: Int
        package var bytesOut: Int
        /// Records or other items that were asked for, answered, and refused among those.
        package var asked: Int
        package var answered: Int
        package var refused: Int
        package var operation: String
        package var operationID: String?
        package var group: String?
        package var groupName: String?
        package var container: String?
        package var environment: String?
        package var database: String?
        package var zone: String?
        package var user: String?
        package var client: String
        package var code: String?
        package var field: String?
        package var reason: String?
        package var remedy: String?
        /// The way in which a query was searched.
        package var index: String?
        /// Events of the notifications that it led to; absent unless one request was asked for that changed what is
        /// subscribed to.
        package var notifications: [RequestNotification]?
        /// The request in sentences for people: what was asked, what came of it, why, and what to do; absent unless one
        /// request was asked for.
        package var story: [String]?
    }

    /// One event of a notification that a request led to.
    package struct RequestNotification: Codable, Hashable, Sendable {
        /// Time in milliseconds since 1970.
        package var time: Int64
        /// A stand-in that all events of one notification have; empty if no subscription fires.
        package var notification: String
        package var subscription: String?
        package var user: String?
        package var device: String?
        package var event: String
    }
}
