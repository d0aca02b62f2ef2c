/// Checks that followers of the feed never go back and never repeat; adds the order of commits to the graph.
struct FollowerCheck {
    private let history: History
    private let chains: Chains
    private(set) var violations: [Violation] = []

    init(_ history: History, _ chains: Chains) {
        self.history = history
        self.chains = chains
    }

    private struct Place {
        var stream: Int
        var page: Int
        /// The page's node in the graph.
        var node: Int
    }

    /// A follower's copy of the zone, with its beginning and its last complete page.
    private struct Copy {
        /// The time of the first page's answer. The feed does not name records that were deleted before.
        var begun: UInt64
        /// The item that each record was last shown as; of several possible deletions, the first.
        var items: [RecordKey: Int] = [:]
        /// The last page that had everything.
        var whole: Place?
        /// The last write that the feed showed.
        var lastWrite: Int?
    }

    /// Reads every stream from the beginning, and from each page the streams that went back to its token. Costs the
    /// entries of all of them, and for each reused token the records that were live there.
    mutating func run(_ node: (_ stream: Int, _ page: Int) -> Int, into graph: inout OrderGraph) {
        var branches: [Int: [(page: Int, stream: Int)]] = [:]
        for (number, stream) in history.streams.enumerated() {
            if case .token(let parent, let page) = stream.origin { branches[parent, default: []].append((page, number)) }
        }
        for (number, stream) in history.streams.enumerated() where stream.origin == .beginning {
            var copy = Copy(begun: stream.pages.first?.span.end ?? 0)
            let replays = Dictionary(grouping: branches[number] ?? [], by: \.page)
            for page in stream.pages.indices {
                take(page, of: number, node, &copy, &graph)
                for replay in replays[page] ?? [] {
                    var again = copy
                    again.whole = nil
                    follow(replay.stream, node, &again, &graph)
                }
            }
            close(copy, &graph)
        }
    }

    private mutating func follow(_ stream: Int, _ node: (Int, Int) -> Int, _ copy: inout Copy, _ graph: inout OrderGraph) {
        copy.lastWrite = nil
        for page in history.streams[stream].pages.indices { take(page, of: stream, node, &copy, &graph) }
        close(copy, &graph)
    }

    private mutating func take(_ page: Int, of stream: Int, _ node: (Int, Int) -> Int, _ copy: inout Copy, _ graph: inout OrderGraph) {
        let told = history.streams[stream].pages[page]
        let place = node(stream, page)
        if page > 0 { checkBorder(page, of: stream, copy) }
        for sight in told.sights.map({ history.sights[$0] }) {
            let known = copy.items[sight.record]
            let makers = chains.makers(of: sight, after: known, in: told.span)
            guard let item = makers.first else { continue }
            if let known, !isNews(item, over: known, sight, page, stream) { continue }
            if let whole = copy.whole { endWait(of: sight.record, as: known, at: whole, begun: copy.begun, &graph) }
            copy.items[sight.record] = item
            let write = chains.writeOf[item]
            graph.add(write, place, .shows)
            guard makers.count == 1 else { continue }
            if chains.next[item] >= 0 { graph.add(place, chains.writeOf[chains.next[item]], .lacks) }
            if let last = copy.lastWrite, last != write { graph.add(last, write, .precedes) }
            copy.lastWrite = write
        }
        if told.isCaughtUp { copy.whole = Place(stream: stream, page: page, node: place) }
    }

    private mutating func isNews(_ item: Int, over known: Int, _ sight: History.Sight, _ page: Int, _ stream: Int) -> Bool {
        guard chains.position[item] <= chains.position[known] else { return true }
        let place = history.text(ofPage: page, stream: stream)
        if item == known {
            violations.append(Violation(.repeatedChange, "\(place) shows \(sight.record) by \(sight.version) again"))
        } else {
            let newer = history.writes[chains.writeOf[known]].batch
            violations.append(Violation(.orderInversion, "\(place) shows \(sight.record) by \(sight.version) after it was shown as \(newer) left it"))
        }
        return false
    }

    /// Checks that a page without the mid-commit flag does not end inside a commit.
    private mutating func checkBorder(_ page: Int, of stream: Int, _ copy: Copy) {
        let pages = history.streams[stream].pages
        guard !pages[page - 1].isMidCommit, let first = pages[page].sights.first, !pages[page - 1].sights.isEmpty else { return }
        let sight = history.sights[first]
        let makers = chains.makers(of: sight, after: copy.items[sight.record], in: pages[page].span)
        guard makers.count == 1, let item = makers.first, chains.writeOf[item] == copy.lastWrite, copy.items[sight.record] != item else { return }
        let write = history.writes[chains.writeOf[item]].batch
        violations.append(Violation(.splitBatch, "\(history.text(ofPage: page, stream: stream)) begins with what the page before left of \(write)"))
    }

    /// Checks the state of a follower at its last complete page.
    private mutating func close(_ copy: Copy, _ graph: inout OrderGraph) {
        guard let whole = copy.whole else { return }
        for (record, known) in copy.items { endWait(of: record, as: known, at: whole, begun: copy.begun, &graph) }
        for record in chains.first.keys where copy.items[record] == nil {
            // The usual case, decided without a search: the record may have been gone when the follower began.
            if let last = chains.last[record], history.items[last].isDeletion, chains.isBegun(last, at: copy.begun) { continue }
            endWait(of: record, as: nil, at: whole, begun: copy.begun, &graph)
        }
    }

    /// Adds that a follower's version of a record, or its absence, was current at a complete page: the next item of
    /// the record's chain came later.
    private mutating func endWait(of record: RecordKey, as known: Int?, at whole: Place, begun: UInt64, _ graph: inout OrderGraph) {
        if let known {
            guard chains.next[known] >= 0 else { return }
            if !history.items[known].isDeletion { return miss(chains.next[known], at: whole, &graph) }
        }
        let span = history.streams[whole.stream].pages[whole.page].span
        let absences = chains.absences(
            of: record, from: known.map { chains.position[$0] } ?? 0, begunBy: known == nil ? begun : span.end, in: span)
        guard absences.count == 1, let next = absences[0].until else { return }
        miss(next, at: whole, &graph)
    }

    /// Notes that a complete page lacked an item: a violation if it was acknowledged before, otherwise an edge.
    private mutating func miss(_ item: Int, at place: Place, _ graph: inout OrderGraph) {
        let number = chains.writeOf[item]
        let page = history.streams[place.stream].pages[place.page]
        guard chains.isOver(item, before: page.span) else { return graph.add(place.node, number, .lacks) }
        let kind: Violation.Kind = history.streams[place.stream].origin == .beginning ? .skippedChange : .tokenSkips
        let text = history.text(ofPage: place.page, stream: place.stream)
        violations.append(
            Violation(kind, "\(text) should have all there is, and \(history.items[item].record) by \(history.text(ofWrite: number)) was left out"))
    }
}
