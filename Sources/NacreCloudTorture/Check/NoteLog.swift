/// The states of a zone's notes over time, as their writers know them: a note has one writer, which waits for each
/// answer. Checks the pages of queries against them, whichever indexes come and go meanwhile.
package struct NoteLog: Sendable {
    /// A note as a save leaves it. No two saves leave the same, as their versions differ.
    package struct Note: Hashable, Sendable {
        package var version: Int64
        package var shelf: Int64
        package var rank: Int64
        package var words: [String]

        package init(version: Int64, shelf: Int64, rank: Int64, words: [String]) {
            (self.version, self.shelf, self.rank, self.words) = (version, shelf, rank, words)
        }
    }

    /// A note in the answer of a query.
    package struct Told: Hashable, Sendable {
        package var name: String
        package var note: Note

        package init(_ name: String, _ note: Note) {
            (self.name, self.note) = (name, note)
        }
    }

    /// A page of a query, read at one moment of its span.
    package struct Page: Sendable {
        package var span: History.Span
        package var told: [Told]

        package init(_ span: History.Span, _ told: [Told]) {
            (self.span, self.told) = (span, told)
        }
    }

    private struct Change {
        /// Its end is the highest number while no answer has come.
        var span: History.Span
        /// nil: the note is deleted.
        var after: Note?
    }

    /// changes[name]: the note's changes in their order.
    private var changes: [String: [Change]] = [:]

    package init() {}

    /// Notes that a change is about to be requested.
    package mutating func begin(_ name: String, _ after: Note?, at time: UInt64) {
        changes[name, default: []].append(Change(span: History.Span(time, .max), after: after))
    }

    /// Notes that the last change of a note was acknowledged.
    package mutating func end(_ name: String, at time: UInt64) {
        guard let count = changes[name]?.count, count > 0 else { return }
        changes[name]?[count - 1].span.end = time
    }

    /// Returns all states that a note may have had in a span; nil stands for "not there".
    func states(of name: String, in span: History.Span) -> [Note?] {
        var states: [Note?] = []
        // The end of a state at the latest: the acknowledgement of the next change.
        var until = UInt64.max
        for change in (changes[name] ?? []).reversed() {
            if until < span.start { return states }
            if change.span.start <= span.end { states.append(change.after) }
            until = change.span.end
        }
        if until >= span.start { states.append(nil) }
        return states
    }

    /// Checks the pages of a query.
    /// - Parameter pages: All pages, from the first to the last.
    /// - Returns: The first violation.
    package func violation(of question: NoteQuestion, _ pages: [Page]) -> Violation? {
        guard let first = pages.first, let last = pages.last else { return nil }
        var names: Set<String> = []
        var before: Told?
        for (number, page) in pages.enumerated() {
            for told in page.told {
                let place = "page \(number + 1) of \(pages.count) of \(question)"
                guard question.passes(told.note) else { return Violation(.wrongAnswer, "\(place) tells \(told), which does not pass") }
                guard states(of: told.name, in: page.span).contains(told.note) else {
                    return Violation(.staleRead, "\(place) tells \(told), which it was not then")
                }
                if let before, !question.isOrdered(before, told) {
                    return Violation(.wrongAnswer, "\(place) tells \(told) behind \(before)")
                }
                before = told
                names.insert(told.name)
            }
        }
        let span = History.Span(first.span.start, last.span.end)
        for name in changes.keys.sorted() where !names.contains(name) {
            // Its position in the order; nil: not in the answer.
            let places = Set(states(of: name, in: span).map { note in note.flatMap { question.passes($0) ? question.key(of: $0) : nil } })
            guard places.count == 1, let place = places.first, place != nil else { continue }
            return Violation(
                .missed, "\(pages.count) pages of \(question) do not tell \(name), which passed from their beginning to their end, in one place")
        }
        return nil
    }
}

/// A query for notes, and its meaning.
package struct NoteQuestion: Hashable, Sendable, CustomStringConvertible {
    package enum Sort: Hashable, Sendable, CaseIterable {
        case rising
        case falling
    }

    /// Filters; nil: no filter on that value.
    package var shelf: Int64?
    package var rankAtLeast: Int64?
    package var word: String?
    /// The sort by rank; nil: by name.
    package var sort: Sort?

    package init(shelf: Int64? = nil, rankAtLeast: Int64? = nil, word: String? = nil, sort: Sort? = nil) {
        (self.shelf, self.rankAtLeast, self.word, self.sort) = (shelf, rankAtLeast, word, sort)
    }

    func passes(_ note: NoteLog.Note) -> Bool {
        if let shelf, note.shelf != shelf { return false }
        if let rankAtLeast, note.rank < rankAtLeast { return false }
        return word.map(note.words.contains) ?? true
    }

    /// Returns a note's sort key; equal keys go by name.
    func key(of note: NoteLog.Note) -> Int64 { sort == nil ? 0 : note.rank }

    /// Returns whether `right` may follow `left`: equal ranks go by name, in the direction of the sort.
    func isOrdered(_ left: NoteLog.Told, _ right: NoteLog.Told) -> Bool {
        let (first, second) = ((key(of: left.note), left.name), (key(of: right.note), right.name))
        return sort == .falling ? second < first : first < second
    }

    package var description: String {
        var filters: [String] = []
        if let shelf { filters.append("shelf = \(shelf)") }
        if let rankAtLeast { filters.append("rank >= \(rankAtLeast)") }
        if let word { filters.append("has \(word)") }
        let order =
            switch sort {
            case .rising: "rank"
            case .falling: "rank, falling"
            case nil: "name"
            }
        return "the query for notes with \(filters.joined(separator: ", ")) by \(order)"
    }
}
