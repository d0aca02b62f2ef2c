/// The versions of each record in their order. A batch names its predecessor, so neither clock nor tag is needed.
struct Chains {
    private struct Place: Hashable {
        var record: RecordKey
        var version: Version
    }

    /// writeOf[item]: the write that an item belongs to.
    private(set) var writeOf: [Int]
    /// isApplied[write]: whether its answer or a later sight shows that it was done.
    private(set) var isApplied: [Bool]
    /// next[item]: the item that replaced its version; -1 where none did.
    private(set) var next: [Int]
    /// position[item]: its position in its record's chain, from 1; 0 for an item that is not in it.
    private(set) var position: [Int]
    /// The first item of each record's chain.
    private(set) var first: [RecordKey: Int] = [:]
    /// The last item of each record's chain.
    private(set) var last: [RecordKey: Int] = [:]
    private(set) var violations: [Violation] = []
    /// Records whose chain forks, or whose number of deletions is unknown: they are not checked further.
    private(set) var broken: Set<RecordKey> = []

    /// The deletions of each record, in the order of its chain; also a single unanswered one.
    private(set) var deletions: [RecordKey: [Int]] = [:]

    private let history: History
    private var itemOf: [Place: Int] = [:]
    private var pending: [Int] = []
    /// creations[record]: the items that saved it over nothing.
    private var creations: [RecordKey: [Int]] = [:]

    init(_ history: History) {
        self.history = history
        writeOf = Array(repeating: 0, count: history.items.count)
        next = Array(repeating: -1, count: history.items.count)
        position = Array(repeating: 0, count: history.items.count)
        isApplied = history.writes.map { $0.outcome == .applied }
        for (number, write) in history.writes.enumerated() {
            for index in write.items {
                let item = history.items[index]
                writeOf[index] = number
                itemOf[Place(record: item.record, version: Version(write.batch))] = index
                if item.isDeletion { deletions[item.record, default: []].append(index) }
            }
        }
        believeWhatWasSeen()
        link()
        linkCreations()
        walk()
        settleDeletions()
    }

    /// Returns the item whose version was seen; nil where no batch made it, and for broken records.
    func item(_ sight: History.Sight) -> Int? {
        guard !broken.contains(sight.record) else { return nil }
        return shown(sight.record, as: sight.version).flatMap { position[$0] > 0 ? $0 : nil }
    }

    private func shown(_ record: RecordKey, as version: Version) -> Int? {
        itemOf[Place(record: record, version: version)].flatMap { history.items[$0].isDeletion ? nil : $0 }
    }

    /// Returns whether an item's write was acknowledged before a sight began.
    func isOver(_ item: Int, before span: History.Span) -> Bool {
        let write = history.writes[writeOf[item]]
        return write.outcome == .applied && write.span.end < span.start
    }

    /// Returns whether an item's write had been sent at a time.
    func isBegun(_ item: Int, at time: UInt64) -> Bool { history.writes[writeOf[item]].span.start <= time }

    // MARK: Applied writes

    private mutating func believeWhatWasSeen() {
        pending = isApplied.indices.filter { isApplied[$0] }
        for sight in history.sights where sight.version != .absent {
            if sight.version == .deleted {
                believeDeletion(of: sight.record)
            } else {
                believe(shown(sight.record, as: sight.version), sight.record, sight.version)
            }
        }
        while let write = pending.popLast() {
            for item in history.writes[write].items.map({ history.items[$0] }) where item.before != .absent {
                believe(itemOf[Place(record: item.record, version: item.before)], item.record, item.before)
            }
        }
    }

    private mutating func believe(_ item: Int?, _ record: RecordKey, _ version: Version) {
        guard let item else {
            if broken.insert(record).inserted {
                violations.append(Violation(.wrongContent, "\(record) was seen as \(version) left it, which never wrote it"))
            }
            return
        }
        believe(writeOf[item])
    }

    private mutating func believeDeletion(of record: RecordKey) {
        let candidates = deletions[record, default: []]
        if candidates.contains(where: { isApplied[writeOf[$0]] }) { return }
        let possible = candidates.filter { history.writes[writeOf[$0]].outcome == .unknown }
        if possible.count == 1 { believe(writeOf[possible[0]]) }
        if possible.isEmpty, broken.insert(record).inserted {
            violations.append(Violation(.lostWrite, "\(record) is not there any more, and nobody deleted it"))
        }
    }

    private mutating func believe(_ write: Int) {
        guard !isApplied[write] else { return }
        isApplied[write] = true
        pending.append(write)
        if history.writes[write].outcome == .refused {
            violations.append(Violation(.refusedApplied, "\(history.text(ofWrite: write)) was refused, and somebody saw it"))
        }
    }

    // MARK: The order of versions

    private mutating func link() {
        for (number, write) in history.writes.enumerated() where isApplied[number] {
            for place in write.items { link(place) }
        }
    }

    private mutating func link(_ index: Int) {
        let item = history.items[index]
        guard item.before != .absent, let before = itemOf[Place(record: item.record, version: item.before)] else {
            return creations[item.record, default: []].append(index)
        }
        if next[before] < 0 { next[before] = index } else { accuse(next[before], index) }
    }

    private mutating func accuse(_ one: Int, _ other: Int) {
        let item = history.items[other]
        broken.insert(item.record)
        let both = "\(history.text(ofWrite: writeOf[one])) and \(history.text(ofWrite: writeOf[other]))"
        violations.append(Violation(.doubleSuccess, "\(both) both replaced \(item.record) as \(item.before) left it"))
    }

    /// Links the chains of a record that was saved over nothing more than once: a late save may come after the record
    /// was made and deleted. All but one chain must end with a deletion, and none may be over before the deletion
    /// before it was sent.
    private mutating func linkCreations() {
        for (record, all) in creations {
            let chains = all.map { (creation: $0, end: end(of: $0)) }
            let ended = chains.filter { history.items[$0.end].isDeletion }.sorted { span($0.end).start < span($1.end).start }
            let open = chains.filter { !history.items[$0.end].isDeletion }
            let order = ended + open
            first[record] = order[0].creation
            if order.count > 1, mayEnd(open.map(\.end), of: record) {
                broken.insert(record)
                continue
            }
            if open.count > 1 { accuse(open[0].creation, open[1].creation) }
            for (earlier, later) in zip(order, order.dropFirst()) where history.items[earlier.end].isDeletion {
                if span(later.creation).end < span(earlier.end).start { accuse(earlier.creation, later.creation) }
                next[earlier.end] = later.creation
            }
        }
    }

    /// Returns whether all but one of some unreplaced saves may have been deleted by unanswered deletions.
    private func mayEnd(_ ends: [Int], of record: RecordKey) -> Bool {
        let open = deletions[record, default: []].filter { mayBeDone($0) }
            .compactMap { itemOf[Place(record: record, version: history.items[$0].before)] }
        return ends.count { !open.contains($0) } < 2 && ends.contains(where: open.contains)
    }

    /// Returns the last item of a chain.
    private func end(of start: Int) -> Int {
        var (place, count) = (start, 0)
        while next[place] >= 0, count < next.count { (place, count) = (next[place], count + 1) }
        return place
    }

    private func span(_ item: Int) -> History.Span { history.writes[writeOf[item]].span }

    private mutating func walk() {
        for (record, start) in first {
            var place = start
            var count = 1
            while place >= 0, position[place] == 0 {
                position[place] = count
                last[record] = place
                count += 1
                place = next[place]
            }
        }
    }

    private mutating func settleDeletions() {
        for (record, all) in deletions {
            let done = all.filter { position[$0] > 0 }.sorted { position[$0] < position[$1] }
            let open = all.filter { mayBeDone($0) }
            if !open.isEmpty, done.count + open.count > 1 { broken.insert(record) }
            deletions[record] = done + open
        }
    }

    /// Returns whether an unanswered deletion may have been done: nothing else replaced its version.
    private func mayBeDone(_ deletion: Int) -> Bool {
        let item = history.items[deletion]
        guard !isApplied[writeOf[deletion]], history.writes[writeOf[deletion]].outcome == .unknown else { return false }
        return itemOf[Place(record: item.record, version: item.before)].map { next[$0] < 0 } ?? false
    }
}
