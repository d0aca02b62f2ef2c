/// Checks notifications: a device gets all of what is saved while it has a right to them, and nothing of what was
/// saved before the right was requested or after it ended.
///
/// Times are those of the client: a right begins and ends when that is acknowledged. A save between request and
/// answer may be notified or not. A right never comes back: a device that may hear again does so by another one.
package struct NotificationLog: Sendable {
    /// A subscription, as one device hears by it.
    package struct Right: Hashable, Sendable {
        package var device: String
        package var subscription: String

        package init(_ device: String, _ subscription: String) {
            (self.device, self.subscription) = (device, subscription)
        }
    }

    private struct Term: Sendable {
        /// The topic of its notifications: saves name their topics. nil: the device must hear nothing.
        var topic: String?
        /// The time when the subscription was acknowledged.
        var begun: UInt64?
        /// Whether its end was requested: from then on notifications may be missing.
        var isEnding = false
        /// The time when its end was acknowledged.
        var ended: UInt64?
        /// The kind of violation of a wrong notification.
        var fault: Violation.Kind
        /// Saves that were notified.
        var heard: Set<String> = []
    }

    private struct Save: Sendable {
        var topics: Set<String>
        /// The time of the request.
        var start: UInt64
        var isDone = false
        /// The ID of the notifications that name the save.
        var id: String?
    }

    private var terms: [Right: Term] = [:]
    private var saves: [String: Save] = [:]
    /// last[topic]: its last save.
    private var last: [String: String] = [:]
    /// changes[id]: the save of a notification that names none.
    private var changes: [String: String] = [:]
    /// covered[device]: the saves that were requested when the device was told to fetch everything, which will find
    /// them. A save then under way may be the cause.
    private var covered: [String: Set<String>] = [:]

    package init() {}

    // MARK: Requests

    /// Notes that a subscription is about to be saved.
    package mutating func willBegin(_ right: Right, of topic: String) { terms[right] = Term(topic: topic, fault: .wronglyTold) }

    package mutating func begin(_ right: Right, at time: UInt64) { terms[right]?.begun = time }

    /// Notes that the device must hear nothing by this subscription: another user's, or of its own changes.
    package mutating func forbid(_ right: Right, fault: Violation.Kind) { terms[right] = Term(topic: nil, isEnding: true, fault: fault) }

    /// Notes that the end of a right is about to be requested.
    package mutating func willEnd(_ right: Right) { terms[right]?.isEnding = true }

    /// Notes the end of a right.
    /// - Parameter fault: The kind of violation of notifications about later saves.
    package mutating func end(_ right: Right, fault: Violation.Kind, at time: UInt64) {
        guard var term = terms[right], term.ended == nil else { return }
        (term.isEnding, term.ended, term.fault) = (true, time, fault)
        terms[right] = term
    }

    /// Notes that a record is about to be saved.
    ///
    /// If a topic's notifications do not name the record, the save before must have been heard, to tell them apart.
    package mutating func willSave(_ name: String, on topics: Set<String>, at time: UInt64) {
        saves[name] = Save(topics: topics, start: time)
        for topic in topics { last[topic] = name }
    }

    package mutating func saved(_ name: String) { saves[name]?.isDone = true }

    // MARK: Notifications

    /// Notes that a device was told to fetch everything.
    package mutating func heardEverything(_ device: String) { covered[device, default: []].formUnion(saves.keys) }

    /// Takes a notification.
    /// - Parameters:
    ///   - name: The saved record; nil where the notification does not name it.
    ///   - id: The notification's ID.
    /// - Returns: The violation, if any.
    package mutating func heard(_ right: Right, of name: String?, id: String) -> Violation? {
        let place = "\(right.device) was told of \(name ?? "a change") by \(right.subscription)"
        guard let term = terms[right] else { return Violation(.wronglyTold, "\(place), which nobody saved") }
        guard let topic = term.topic else { return Violation(term.fault, "\(place), by which it is to hear nothing") }
        // If some saves were not notified, it is unknown which one this is.
        if name == nil, changes[id] == nil, !covered.isEmpty { return nil }
        guard let told = name ?? changes[id] ?? last[topic], let save = saves[told] else {
            return Violation(.wronglyTold, "\(place), which nobody had asked to be saved")
        }
        guard save.topics.contains(topic) else { return Violation(.wronglyTold, "\(place), which does not ask for that") }
        if let ended = term.ended, ended < save.start {
            return Violation(term.fault, "\(place): \(told) was saved after its right to hear by that had ended")
        }
        if name == nil {
            changes[id] = told
        } else {
            if let known = save.id, known != id { return Violation(.wronglyTold, "\(place) as \(id), and it was told as \(known) before") }
            saves[told]?.id = id
        }
        terms[right]?.heard.insert(told)
        return nil
    }

    /// The notifications that are due and were not received yet.
    package var missing: [String] {
        terms.flatMap { right, term -> [String] in
            guard let begun = term.begun, !term.isEnding, let topic = term.topic else { return [] }
            let due = saves.filter { $0.value.isDone && $0.value.start > begun && $0.value.topics.contains(topic) }.keys
            return due.filter { !term.heard.contains($0) && covered[right.device]?.contains($0) != true }
                .map { "\($0) to \(right.device) by \(right.subscription)" }
        }.sorted()
    }

    /// The number of saves that were notified, summed over devices and subscriptions.
    package var count: Int { terms.values.reduce(0) { $0 + $1.heard.count } }
}
