/// Judges a history and returns its violations. The history is the only input, so every verdict can be repeated.
///
/// The check looks for one order of commits that explains all sights: each batch atomic, and after every batch that was
/// answered before it was sent (strict serializability of the zone). A lookup shows one moment of that order, and pages
/// of the feed show its changes in order. A follower that reads the feed to its end has the zone of that moment. Tags
/// are unique and versions name their predecessor, so an order exists exactly if one graph has no cycle. Time and
/// memory are linear in the history, except for a sort by time.
package struct HistoryCheck {
    /// Cycles reported one by one at most; if there are more, something is wrong throughout.
    package static let cyclesMax = 25

    private let history: History
    private let chains: Chains
    private var graph: OrderGraph
    /// The node of each stream's first page.
    private var pageNodes: [Int] = []
    private var violations: [Violation]

    package static func violations(of history: History) -> [Violation] {
        var check = HistoryCheck(history)
        return check.run()
    }

    private init(_ history: History) {
        self.history = history
        chains = Chains(history)
        violations = history.faults + chains.violations
        var nodes = history.writes.count + history.reads.count
        for stream in history.streams {
            pageNodes.append(nodes)
            nodes += stream.pages.count
        }
        graph = OrderGraph(nodes: nodes)
    }

    private mutating func run() -> [Violation] {
        checkTags()
        addBatches()
        addReads()
        var followers = FollowerCheck(history, chains)
        followers.run({ [pageNodes] in pageNodes[$0] + $1 }, into: &graph)
        violations += followers.violations
        addTime()
        let realNodes = pageNodes.last.map { $0 + (history.streams.last?.pages.count ?? 0) } ?? history.writes.count + history.reads.count
        for cycle in graph.cycles(limit: Self.cyclesMax) { violations.append(violation(cycle, realNodes: realNodes)) }
        checkEnd()
        return violations
    }

    // MARK: Tags

    private struct Tagged: Hashable {
        var record: RecordKey
        var tag: UInt64
    }

    private struct Seen: Hashable {
        var record: RecordKey
        var version: Version
    }

    /// Checks that a version has one tag, and a tag one version.
    private mutating func checkTags() {
        var versions: [Tagged: Version] = [:]
        var tags: [Seen: UInt64] = [:]
        var (twice, reused): (Set<Seen>, Set<Seen>) = ([], [])
        for sight in history.sights where sight.tag != 0 {
            let seen = Seen(record: sight.record, version: sight.version)
            if let tag = tags.updateValue(sight.tag, forKey: seen), tag != sight.tag, twice.insert(seen).inserted {
                violations.append(Violation(.appliedTwice, "\(sight.record) by \(sight.version) has two change tags"))
            }
            let tagged = Tagged(record: sight.record, tag: sight.tag)
            if let version = versions.updateValue(sight.version, forKey: tagged), version != sight.version, reused.insert(seen).inserted {
                violations.append(Violation(.reusedTag, "\(sight.record) has one change tag as \(version) and as \(sight.version) left it"))
            }
        }
    }

    // MARK: The order of batches

    private mutating func addBatches() {
        for item in history.items.indices where chains.position[item] > 0 && chains.next[item] >= 0 {
            guard !chains.broken.contains(history.items[item].record) else { continue }
            graph.add(chains.writeOf[item], chains.writeOf[chains.next[item]], .builds)
        }
    }

    private mutating func addReads() {
        for (number, read) in history.reads.enumerated() {
            let node = history.writes.count + number
            for sight in read.sights.map({ history.sights[$0] }) {
                if sight.version == .absent || sight.version == .deleted {
                    addAbsence(sight, in: read.span, node)
                    continue
                }
                guard let item = chains.item(sight) else { continue }
                graph.add(chains.writeOf[item], node, .shows)
                if chains.next[item] >= 0 { graph.add(node, chains.writeOf[chains.next[item]], .lacks) }
            }
        }
    }

    /// Adds the edges of a record that was not there.
    private mutating func addAbsence(_ sight: History.Sight, in span: History.Span, _ node: Int) {
        let absences = chains.absences(of: sight.record, from: sight.version == .deleted ? 1 : 0, begunBy: span.end, in: span)
        guard absences.count == 1 else { return }
        if let since = absences[0].since { graph.add(chains.writeOf[since], node, .shows) }
        if let until = absences[0].until { graph.add(node, chains.writeOf[until], .lacks) }
    }

    private struct Moment {
        var time: UInt64
        var node: Int
        var isStart: Bool
    }

    /// Adds that everything answered comes before everything asked later. A node stands for each moment between
    /// answers and later requests, so the edges are as few as the answers.
    private mutating func addTime() {
        var moments: [Moment] = []
        func add(_ node: Int, _ span: History.Span, isAnswered: Bool = true) {
            moments.append(Moment(time: span.start, node: node, isStart: true))
            if isAnswered { moments.append(Moment(time: span.end, node: node, isStart: false)) }
        }
        for (number, write) in history.writes.enumerated() where chains.isApplied[number] {
            add(number, write.span, isAnswered: write.outcome == .applied)
        }
        for (number, read) in history.reads.enumerated() { add(history.writes.count + number, read.span) }
        for (number, stream) in history.streams.enumerated() {
            for (page, told) in stream.pages.enumerated() { add(pageNodes[number] + page, told.span) }
        }
        // At equal times the request comes first: it was not sent after the answer.
        moments.sort { ($0.time, $0.isStart ? 0 : 1) < ($1.time, $1.isStart ? 0 : 1) }
        var current: Int?
        var hasStarted = true
        for moment in moments {
            if moment.isStart {
                if let current { graph.add(current, moment.node, .time) }
                hasStarted = true
                continue
            }
            if hasStarted {
                let next = graph.addNode()
                if let current { graph.add(current, next, .time) }
                current = next
                hasStarted = false
            }
            if let current { graph.add(moment.node, current, .time) }
        }
    }

    // MARK: Cycles

    private func violation(_ cycle: [OrderGraph.Edge], realNodes: Int) -> Violation {
        let accused = Int(cycle[0].from)
        let kind: Violation.Kind
        switch cycle[0].reason {
        case .lacks:
            if cycle.allSatisfy({ $0.reason != .time && $0.reason != .precedes }) {
                // One read saw part of a batch; several reads saw orders that contradict each other.
                kind = cycle.count { $0.reason == .lacks } == 1 ? .splitBatch : .orderInversion
            } else if accused < history.writes.count + history.reads.count {
                kind = .staleRead
            } else {
                kind = history.streams[stream(ofNode: accused)].origin == .beginning ? .skippedChange : .tokenSkips
            }
        case .precedes, .builds, .shows, .time: kind = .orderInversion
        }
        return Violation(kind, text(cycle, realNodes: realNodes))
    }

    private func stream(ofNode node: Int) -> Int {
        (pageNodes.lastIndex { $0 <= node }) ?? 0
    }

    private func text(_ cycle: [OrderGraph.Edge], realNodes: Int) -> String {
        let told = cycle.filter { Int($0.from) < realNodes }
        var text = ""
        for (index, edge) in told.enumerated() {
            let reason =
                switch edge.reason {
                case .time: "was answered before"
                case .builds: "was replaced by"
                case .shows: "is shown by"
                case .lacks: "does not show"
                case .precedes: "comes in the feed before"
                }
            text += index == 0 ? "\(self.text(ofNode: Int(edge.from))) \(reason) " : "\(self.text(ofNode: Int(edge.from))), which \(reason) "
        }
        return text + "the first of these"
    }

    private func text(ofNode node: Int) -> String {
        if node < history.writes.count { return history.text(ofWrite: node) }
        if node < history.writes.count + history.reads.count { return history.text(ofRead: node - history.writes.count) }
        let stream = stream(ofNode: node)
        return history.text(ofPage: node - pageNodes[stream], stream: stream)
    }

    // MARK: The final state

    /// Checks that the final state is the end of every chain, except for unanswered batches, which may still come.
    private mutating func checkEnd() {
        let open = history.writes.filter { $0.outcome == .unknown }.flatMap { $0.items.map { history.items[$0].record } }
        let excluded = chains.broken.union(open)
        var looked: [RecordKey: Version] = [:]
        for sight in history.finalSights.map({ history.sights[$0] }) where !excluded.contains(sight.record) {
            let shown = sight.version == .deleted ? .absent : sight.version
            looked[sight.record] = shown
            guard let last = chains.last[sight.record] else { continue }
            let write = history.writes[chains.writeOf[last]]
            guard shown != (history.items[last].isDeletion ? .absent : Version(write.batch)) else { continue }
            let text = history.text(ofWrite: chains.writeOf[last])
            violations.append(Violation(.lostWrite, "at the end \(sight.record) is \(shown), without \(text)"))
        }
        guard !history.finalSights.isEmpty else { return }
        let quiet = history.writes.map(\.span.end).max() ?? 0
        for (number, stream) in history.streams.enumerated() where stream.origin == .beginning {
            guard let last = stream.pages.last, last.isCaughtUp, last.span.start >= quiet else { continue }
            compare(looked, with: copy(of: stream).filter { !excluded.contains($0.key) }, of: number)
        }
    }

    /// Returns the copy of a client that followed a stream to its end.
    private func copy(of stream: History.Stream) -> [RecordKey: Version] {
        var copy: [RecordKey: Version] = [:]
        for page in stream.pages {
            for sight in page.sights.map({ history.sights[$0] }) { copy[sight.record] = sight.version == .deleted ? .absent : sight.version }
        }
        return copy
    }

    private mutating func compare(_ looked: [RecordKey: Version], with copy: [RecordKey: Version], of stream: Int) {
        for record in Set(looked.keys).union(copy.keys).sorted(by: { $0.rawValue < $1.rawValue }) {
            let (there, followed) = (looked[record] ?? .absent, copy[record] ?? .absent)
            guard there != followed else { continue }
            violations.append(Violation(.wrongFinalState, "at the end \(record) is \(there), and \(followed) to follower \(stream)"))
        }
    }
}
