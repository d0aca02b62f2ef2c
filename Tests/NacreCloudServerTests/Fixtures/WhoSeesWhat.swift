/// A naive model of read permissions: lists of the records, with their owners.
struct WhoSeesWhat {
    enum Asker: String, CaseIterable, Sendable {
        case ada, bob
        /// An API token alone.
        case world
        /// A server-to-server key.
        case key

        static let users: [Asker] = [.ada, .bob]
        var isUser: Bool { Self.users.contains(self) }
        var isSignedIn: Bool { self != .world }
    }

    enum Place: Hashable, Sendable {
        case `public`
        case `private`(Asker, String)
    }

    struct Kept: Sendable {
        var type: String
        var creator: Asker
        /// The record's text, which no other record has.
        var mark: String
    }

    /// zones[asker]: names of the zones of each user's private database.
    var zones: [Asker: Set<String>] = [:]
    /// Records that lists had to contain.
    var shown = 0
    private var records: [Place: [String: Kept]] = [:]
    /// marks[text]: the place where a text is or was.
    private var marks: [String: (place: Place, kept: Kept)] = [:]

    func kept(_ name: String, in place: Place) -> Kept? { records[place]?[name] }

    mutating func keep(_ kept: Kept, _ name: String, in place: Place) {
        records[place, default: [:]][name] = kept
        marks[kept.mark] = (place, kept)
    }

    mutating func forget(_ name: String, in place: Place) { records[place]?[name] = nil }

    mutating func forgetZone(_ zone: String, of asker: Asker) {
        zones[asker]?.remove(zone)
        records[.private(asker, zone)] = nil
    }

    /// Returns whether an asker may read a record. Grants of the types: Open to the world, Own to its creator, Secret
    /// to the role that Bob has.
    func mayRead(_ kept: Kept, _ asker: Asker, in place: Place) -> Bool {
        if case .private(let owner, _) = place { return owner == asker }
        switch kept.type {
        case "Open": return true
        case "Own": return kept.creator == asker
        default: return asker == .bob
        }
    }

    func mayWrite(_ kept: Kept, _ asker: Asker, in place: Place) -> Bool {
        if case .private(let owner, _) = place { return owner == asker }
        return kept.creator == asker
    }

    /// Returns the names of a type's records that an asker may read, in order.
    func names(of type: String, in place: Place, for asker: Asker) -> [String] {
        (records[place] ?? [:]).filter { $0.value.type == type && mayRead($0.value, asker, in: place) }.keys.sorted()
    }

    /// Returns texts and zone names in an answer that its caller may not see and has not sent.
    func leaks(to asker: Asker, in answer: String, asked: String) -> [String] {
        let texts = marks.filter { !mayRead($0.value.kept, asker, in: $0.value.place) }.map(\.key)
        let others = zones.filter { $0.key != asker }.flatMap(\.value).filter { $0 != "_defaultZone" }
        return (texts + others).filter { answer.contains($0) && !asked.contains($0) }.sorted()
    }
}
