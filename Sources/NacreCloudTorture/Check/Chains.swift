/// The versions of each record in their order. A batch names the version that it builds on, so no clock and no tag is needed to know it.
struct Chains {
    private struct Place: Hashable {
        var record: RecordKey
        var version: Version
    }

    /// Which write an item belongs to.
    private(set) var writeOf: [Int]
    /// Whether a write was done, by what it was answered or by what was seen of it.
    private(set) var isApplied: [Bool]
    /// The item that replaced what an item left; -1 where none did.
    private(set) var next: [Int]
    /// An item's place in its record's chain, from 1; 0 for what is not in it.
    private(set) var position: [Int]
    /// The first item of each record's chain.
    private(set) var first: [RecordKey: Int] = [:]
    /// The last one.
    private(set) var last: [RecordKey: Int] = [:]
    private(set) var violations: [Violation] = []
    /// Records whose chain forks: nothing more can be said of them.
    private(set) var broken: Set<RecordKey> = []

    private let history: History
    private var itemOf: [Place: Int] = [:]
    private var deletions: [RecordKey: [Int]] = [:]
    private var pending: [Int] = []

    init(_ history: History) {
        self.history = history
        writeOf = Array(repeating: 0, count: history.items.count)
        next = Array(repeating: -1, count: history.items.count)
        position = Array(repeating: 0, count: history.items.count)
        isApplied = history.writes.map { $0.outcome == .applied }
        for (number, write) in history.writes.enumerated() {
            for place in write.items {
                let item = history.items[place]
                writeOf[place] = number
                if item.isDeletion {
                    deletions[item.record, default: []].append(place)
                } else {
                    itemOf[Place(record: item.record, version: Version(write.batch))] = place
                }
            }
        }
        believeWhatWasSeen()
        link()
        walk()
    }

    /// The item that made what somebody saw; nil where nobody made it, where it is not known who, and for records of forked chains.
    func item(_ sight: History.Sight) -> Int? {
        guard !broken.contains(sight.record) else { return nil }
        let item = sight.version == .deleted ? deletion(of: sight.record) : itemOf[Place(record: sight.record, version: sight.version)]
        return item.flatMap { position[$0] > 0 ? $0 : nil }
    }

    /// The deletion that was done; nil where several may have been.
    private func deletion(of record: RecordKey) -> Int? {
        let done = deletions[record, default: []].filter { isApplied[writeOf[$0]] }
        return done.count == 1 ? done[0] : nil
    }

    // MARK: What was done

    private mutating func believeWhatWasSeen() {
        pending = isApplied.indices.filter { isApplied[$0] }
        for sight in history.sights where sight.version != .absent {
            if sight.version == .deleted { believeDeletion(of: sight.record) } else { believe(sight.record, sight.version) }
        }
        while let write = pending.popLast() {
            for item in history.writes[write].items.map({ history.items[$0] }) where item.before != .absent { believe(item.record, item.before) }
        }
    }

    private mutating func believe(_ record: RecordKey, _ version: Version) {
        guard let item = itemOf[Place(record: record, version: version)] else {
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

    // MARK: In which order

    private mutating func link() {
        for (number, write) in history.writes.enumerated() where isApplied[number] {
            for place in write.items { link(place) }
        }
    }

    private mutating func link(_ place: Int) {
        let item = history.items[place]
        let before = item.before == .absent ? nil : itemOf[Place(record: item.record, version: item.before)]
        let other: Int?
        if let before {
            other = next[before] < 0 ? nil : next[before]
            if other == nil { next[before] = place }
        } else {
            other = first[item.record]
            if other == nil { first[item.record] = place }
        }
        guard let other else { return }
        broken.insert(item.record)
        let both = "\(history.text(ofWrite: writeOf[other])) and \(history.text(ofWrite: writeOf[place]))"
        violations.append(Violation(.doubleSuccess, "\(both) both replaced \(item.record) as \(item.before) left it"))
    }

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
}
