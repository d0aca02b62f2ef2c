/// Who may hear of what is saved, from when and until when, and what each heard: of everything that was saved while they might, of nothing that was saved
/// when they might no more, and of nothing before it was asked for.
///
/// Its moments are those of who asks. So a right has begun once that was acknowledged, and has ended once that was; what is saved between question and answer
/// may be told or not. A right never comes back: who may hear again does so by another one.
package struct TellingLog: Sendable {
    /// A subscription of somebody, as one device hears by it.
    package struct Right: Hashable, Sendable {
        package var device: String
        package var subscription: String

        package init(_ device: String, _ subscription: String) {
            (self.device, self.subscription) = (device, subscription)
        }
    }

    private struct Term: Sendable {
        /// What it asks for: saves name the topics that they belong to. nil: it is to hear nothing.
        var topic: String?
        /// When it was acknowledged.
        var begun: UInt64?
        /// Nobody promises any more to tell.
        var isEnding = false
        /// When its end was acknowledged.
        var ended: UInt64?
        /// What it is where something is told that may not be.
        var fault: Violation.Kind
        /// Saves that were told.
        var heard: Set<String> = []
    }

    private struct Save: Sendable {
        var topics: Set<String>
        /// When it was asked for.
        var start: UInt64
        var isDone = false
        /// Of the notifications that name it.
        var id: String?
    }

    private var terms: [Right: Term] = [:]
    private var saves: [String: Save] = [:]
    /// The last one of each topic.
    private var last: [String: String] = [:]
    /// Saves by the IDs of notifications that name none.
    private var changes: [String: String] = [:]
    /// Devices that were told to fetch everything, and the saves that were asked for by then: they find them there. One that is under way may be the one for
    /// which the word came.
    private var covered: [String: Set<String>] = [:]

    package init() {}

    // MARK: What is asked for

    /// A subscription is about to be saved.
    package mutating func willBegin(_ right: Right, of topic: String) { terms[right] = Term(topic: topic, fault: .wronglyTold) }

    package mutating func begin(_ right: Right, at time: UInt64) { terms[right]?.begun = time }

    /// The device is to hear nothing by this subscription: it is somebody else's, or the device makes the changes itself.
    package mutating func forbid(_ right: Right, fault: Violation.Kind) { terms[right] = Term(topic: nil, isEnding: true, fault: fault) }

    /// The end of a right is about to be asked for.
    package mutating func willEnd(_ right: Right) { terms[right]?.isEnding = true }

    /// - Parameter fault: what it is from now on to tell of what is saved then.
    package mutating func end(_ right: Right, fault: Violation.Kind, at time: UInt64) {
        guard var term = terms[right], term.ended == nil else { return }
        (term.isEnding, term.ended, term.fault) = (true, time, fault)
        terms[right] = term
    }

    /// Something is about to be saved.
    ///
    /// Of a topic of which notifications do not say what was saved, the one before must have been heard: so they are told apart.
    package mutating func willSave(_ name: String, on topics: Set<String>, at time: UInt64) {
        saves[name] = Save(topics: topics, start: time)
        for topic in topics { last[topic] = name }
    }

    package mutating func saved(_ name: String) { saves[name]?.isDone = true }

    // MARK: What is heard

    /// A device was told to fetch everything.
    package mutating func heardEverything(_ device: String) { covered[device, default: []].formUnion(saves.keys) }

    /// - Parameters:
    ///   - name: of what was saved; nil where the notification does not say.
    ///   - id: of the notification.
    /// - Returns: what is wrong with it.
    package mutating func heard(_ right: Right, of name: String?, id: String) -> Violation? {
        let place = "\(right.device) was told of \(name ?? "a change") by \(right.subscription)"
        guard let term = terms[right] else { return Violation(.wronglyTold, "\(place), which nobody saved") }
        guard let topic = term.topic else { return Violation(term.fault, "\(place), by which it is to hear nothing") }
        // Which of several saves it is of is not known where some were not told.
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

    /// What must have been told, and was not yet.
    package var missing: [String] {
        terms.flatMap { right, term -> [String] in
            guard let begun = term.begun, !term.isEnding, let topic = term.topic else { return [] }
            let due = saves.filter { $0.value.isDone && $0.value.start > begun && $0.value.topics.contains(topic) }.keys
            return due.filter { !term.heard.contains($0) && covered[right.device]?.contains($0) != true }
                .map { "\($0) to \(right.device) by \(right.subscription)" }
        }.sorted()
    }

    /// Saves that were told, of each device and subscription.
    package var count: Int { terms.values.reduce(0) { $0 + $1.heard.count } }
}
