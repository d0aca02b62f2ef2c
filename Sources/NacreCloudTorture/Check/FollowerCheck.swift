/// What each follower of the feed was shown: that it never goes back and never repeats, and what it says about the order of commits.
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
        /// In the graph.
        var node: Int
    }

    /// What a follower has, and since when nobody can tell it otherwise.
    private struct Copy {
        /// The item that each record was last shown as.
        var items: [RecordKey: Int] = [:]
        /// The last page that had all there was.
        var whole: Place?
        /// The last write that the feed showed.
        var lastWrite: Int?
    }

    /// Reads every stream from the beginning, and from each of its pages the ones that went back to that page's token. Costs the entries
    /// of all of them, and for each token that was used again the records that were live there.
    mutating func run(_ node: (_ stream: Int, _ page: Int) -> Int, into graph: inout OrderGraph) {
        var branches: [Int: [(page: Int, stream: Int)]] = [:]
        for (number, stream) in history.streams.enumerated() {
            if case .token(let parent, let page) = stream.origin { branches[parent, default: []].append((page, number)) }
        }
        for (number, stream) in history.streams.enumerated() where stream.origin == .beginning {
            var copy = Copy()
            let replays = Dictionary(grouping: branches[number] ?? [], by: \.page)
            for page in stream.pages.indices {
                take(page, of: number, node, &copy, &graph)
                for replay in replays[page] ?? [] {
                    var again = copy
                    again.whole = nil
                    follow(replay.stream, node, &again, &graph)
                }
            }
            close(copy, knowsAll: true, &graph)
        }
    }

    private mutating func follow(_ stream: Int, _ node: (Int, Int) -> Int, _ copy: inout Copy, _ graph: inout OrderGraph) {
        copy.lastWrite = nil
        for page in history.streams[stream].pages.indices { take(page, of: stream, node, &copy, &graph) }
        close(copy, knowsAll: false, &graph)
    }

    private mutating func take(_ page: Int, of stream: Int, _ node: (Int, Int) -> Int, _ copy: inout Copy, _ graph: inout OrderGraph) {
        let told = history.streams[stream].pages[page]
        let place = node(stream, page)
        if page > 0 { checkBorder(page, of: stream, copy) }
        for sight in told.sights.map({ history.sights[$0] }) {
            guard let item = chains.item(sight) else { continue }
            let write = chains.writeOf[item]
            if let known = copy.items[sight.record] {
                guard isNews(item, over: known, sight, page, stream) else { continue }
                if let whole = copy.whole, chains.next[known] >= 0 { miss(chains.next[known], at: whole, &graph) }
            } else if let whole = copy.whole, let first = chains.first[sight.record] {
                miss(first, at: whole, &graph)
            }
            copy.items[sight.record] = item
            graph.add(write, place, .shows)
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

    /// A page that does not say so never ends inside a commit.
    private mutating func checkBorder(_ page: Int, of stream: Int, _ copy: Copy) {
        let pages = history.streams[stream].pages
        guard !pages[page - 1].isMidCommit, let first = pages[page].sights.first, !pages[page - 1].sights.isEmpty else { return }
        let sight = history.sights[first]
        guard let item = chains.item(sight), chains.writeOf[item] == copy.lastWrite, copy.items[sight.record] != item else { return }
        let write = history.writes[chains.writeOf[item]].batch
        violations.append(Violation(.splitBatch, "\(history.text(ofPage: page, stream: stream)) begins with what the page before left of \(write)"))
    }

    /// What a follower still believed at its last look at everything.
    private mutating func close(_ copy: Copy, knowsAll: Bool, _ graph: inout OrderGraph) {
        guard let whole = copy.whole else { return }
        for item in copy.items.values where chains.next[item] >= 0 { miss(chains.next[item], at: whole, &graph) }
        guard knowsAll else { return }
        for (record, first) in chains.first where copy.items[record] == nil && !chains.broken.contains(record) {
            // A follower that starts late does not see a record that is deleted already.
            if let last = chains.last[record], history.items[last].isDeletion { continue }
            miss(first, at: whole, &graph)
        }
    }

    /// A page that had all there was did not have what an item made. Where that had been acknowledged before the page was asked for, there is
    /// nothing to weigh; else it came later.
    private mutating func miss(_ item: Int, at place: Place, _ graph: inout OrderGraph) {
        let number = chains.writeOf[item]
        let write = history.writes[number]
        let page = history.streams[place.stream].pages[place.page]
        guard write.outcome == .applied, write.span.end < page.span.start else { return graph.add(place.node, number, .lacks) }
        let kind: Violation.Kind = history.streams[place.stream].origin == .beginning ? .skippedChange : .tokenSkips
        let text = history.text(ofPage: place.page, stream: place.stream)
        violations.append(
            Violation(kind, "\(text) should have all there is, and \(history.items[item].record) by \(history.text(ofWrite: number)) was left out"))
    }
}
