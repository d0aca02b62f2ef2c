/// What waits for its turn, by who asks: everybody gets the same amount of work done, and in it small things go before large ones of others.
///
/// This is fair queueing by virtual time. Work that is given out moves a clock by its cost, divided by how many wait; each asker's next thing is
/// due its own cost after the one before, or after the clock where that is later; what is due first goes first. So an asker who comes with one small
/// thing goes before all who have had work, however much of theirs waits; and nothing waits for ever, because the clock passes it.
/// What one asker wants goes in the order in which it came. A change costs the logarithm of the number of askers.
struct FairQueue<Element> {
    private struct Entry {
        let element: Element
        let turn: Turn
        let due: Double
    }

    private struct Line {
        var entries: [Entry?] = []
        var first = 0
        /// When its newest thing is due.
        var last = 0.0
        var underWay = 0

        var next: Entry? { first < entries.count ? entries[first] : nil }

        mutating func removeFirst() {
            entries[first] = nil
            first += 1
            guard first * 2 > entries.count else { return }
            entries.removeFirst(first)
            first = 0
        }
    }

    /// The next thing of an asker who may go.
    private struct Head {
        let due: Double
        let order: Int
        let asker: String

        static func < (left: Head, right: Head) -> Bool {
            (left.due, left.order) < (right.due, right.order)
        }
    }

    /// Things of one asker that may be under way at the same time.
    let share: Int
    private(set) var count = 0
    private var lines: [String: Line] = [:]
    /// A heap: none comes before the one at half its place.
    private var heads: [Head] = []
    private var clock = 0.0
    /// The latest that anything was due.
    private var latest = 0.0
    private var waitingLines = 0
    private var orders = 0
    private var linesBeforeSweep = 64

    init(share: Int) {
        self.share = share
    }

    /// Whether somebody waits who may go.
    var hasNext: Bool { !heads.isEmpty }

    mutating func add(_ element: Element, _ turn: Turn) {
        var line = lines[turn.asker] ?? Line()
        line.last = max(clock, line.last) + Double(turn.cost)
        latest = max(latest, line.last)
        let entry = Entry(element: element, turn: turn, due: line.last)
        if line.next == nil {
            waitingLines += 1
            if line.underWay < share { pushHead(entry) }
        }
        line.entries.append(entry)
        lines[turn.asker] = line
        count += 1
        if lines.count > linesBeforeSweep { sweep() }
    }

    /// The next thing of all whose asker may go; it is under way until `end`.
    mutating func next() -> (element: Element, turn: Turn)? {
        guard let head = popHead(), var line = lines[head.asker], let entry = line.next else { return nil }
        // Taken out, so that its entries are not copied.
        lines[head.asker] = nil
        line.removeFirst()
        line.underWay += 1
        clock += Double(entry.turn.cost) / Double(max(waitingLines, 1))
        count -= 1
        // Where nobody waits nobody has had too much.
        if count == 0 { clock = max(clock, latest) }
        if let next = line.next {
            if line.underWay < share { pushHead(next) }
        } else {
            waitingLines -= 1
        }
        lines[head.asker] = line
        return (entry.element, entry.turn)
    }

    /// What was under way is done.
    mutating func end(_ asker: String) {
        guard var line = lines.removeValue(forKey: asker) else { return }
        line.underWay -= 1
        if let next = line.next {
            if line.underWay == share - 1 { pushHead(next) }
        } else if line.underWay == 0, line.last <= clock {
            return
        }
        lines[asker] = line
    }

    /// Begins something at once, without waiting: for who found nobody before it.
    mutating func beginNow(_ turn: Turn) -> Bool {
        guard count == 0, lines[turn.asker]?.underWay ?? 0 < share else { return false }
        var line = lines.removeValue(forKey: turn.asker) ?? Line()
        line.underWay += 1
        lines[turn.asker] = line
        return true
    }

    /// Forgets those who have nothing here and have not had too much.
    private mutating func sweep() {
        lines = lines.filter { $0.value.underWay > 0 || $0.value.next != nil || $0.value.last > clock }
        linesBeforeSweep = max(64, lines.count * 2)
    }

    // MARK: The heap

    private mutating func pushHead(_ entry: Entry) {
        orders += 1
        var place = heads.count
        heads.append(Head(due: entry.due, order: orders, asker: entry.turn.asker))
        while place > 0, heads[place] < heads[(place - 1) / 2] {
            heads.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    private mutating func popHead() -> Head? {
        guard let first = heads.first, let last = heads.popLast() else { return nil }
        guard !heads.isEmpty else { return first }
        heads[0] = last
        var place = 0
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2] where child < heads.count && heads[child] < heads[least] { least = child }
            if least == place { return first }
            heads.swapAt(place, least)
            place = least
        }
    }
}
