/// One answered request, as the request log keeps it. Unknown texts are empty, and unknown numbers 0.
///
/// A row has no values, no names of private records and no addresses: the recorder has left them out or replaced them.
package struct RequestRow: Hashable, Sendable {
    /// The place in the log, which grows with each row; 0 before the log has given one.
    package var number: Int64 = 0
    /// The time of the answer, in milliseconds since 1970.
    package var ended: Int64 = 0
    /// The UUID of the answer.
    package var id = ""
    /// Times in microseconds: of the whole request, in queues, in the store, and of encoding.
    package var took = 0
    package var waited = 0
    package var stored = 0
    package var encoded = 0
    package var status = 0
    package var bytesIn = 0
    package var bytesOut = 0
    package var asked = 0
    package var answered = 0
    package var refused = 0
    /// The operation, such as `records/modify`, or the pattern of another route.
    package var operation = ""
    /// The client's name for the request over its retries.
    package var operationID = ""
    /// The ID of the operation's group, and its name.
    package var group = ""
    package var groupName = ""
    package var container = ""
    package var environment = ""
    package var database = ""
    package var zone = ""
    package var user = ""
    package var client = ""
    package var code = ""
    package var field = ""
    package var reason = ""
    package var remedy = ""
    package var index = ""
    /// A stand-in for the task that tells devices of the changes; empty if nobody is to be told.
    package var telling = ""

    package init() {}
}

/// An event of a notification that a request led to. Names are stand-ins; unknown ones are empty.
package struct RequestTrace: Hashable, Sendable {
    /// The cause: what `RequestRow.telling` of the request is; empty for later events of a known notification.
    package var telling: String
    package var notification: String
    /// The time of the event, in milliseconds since 1970.
    package var time: Int64
    package var subscription: String
    package var user: String
    /// Empty if the event is about no single device.
    package var device: String
    /// The event in a word, which `nacre why` explains.
    package var event: String

    package init(telling: String, notification: String, time: Int64, subscription: String, user: String, device: String, event: String) {
        (self.telling, self.notification, self.time, self.subscription) = (telling, notification, time, subscription)
        (self.user, self.device, self.event) = (user, device, event)
    }
}
