/// What waits for its turn, by who asks: everybody gets the same amount of work done, and in it small things go before large ones of others.
///
/// This is fair queueing by virtual time. Work that is given out moves a clock by its cost, divided by how many wait; each asker's next thing is
/// due its own cost after the one before, or after the clock where that is later; what is due first goes first. So an asker who comes with one small
/// thing goes before all who have had work, however much of theirs waits; and nothing waits for ever, because the clock passes it.
/// What one asker wants goes in the order in which it came. A change costs the logarithm of the number of askers. Lines are changed in place: a copy
/// is as long as the line, and each request changes one three times.
/// It knows only tickets: who waits keeps what a ticket stands for.
struct FairQueue {
    private struct Entry {
        let ticket: Lanes.Ticket
        let due: Double

        static func < (left: Entry, right: Entry) -> Bool {
            (left.due, left.ticket.number) < (right.due, right.ticket.number)
        }
    }

    private struct Line {
        private var entries: [Entry?] = []
        private var first = 0
        /// When its newest thing is due.
        private var last = 0.0
        private(set) var underWay = 0

        var next: Entry? { first < entries.count ? entries[first] : nil }

        /// Whether nothing is here of its asker, who has not had too much.
        func isOver(at clock: Double) -> Bool { underWay == 0 && next == nil && last <= clock }

        mutating func add(_ ticket: Lanes.Ticket, at clock: Double, share: Int) -> (entry: Entry, isFirst: Bool, mayGo: Bool) {
            let isFirst = next == nil
            last = max(clock, last) + Double(ticket.turn.cost)
            let entry = Entry(ticket: ticket, due: last)
            entries.append(entry)
            return (entry, isFirst, isFirst && underWay < share)
        }

        mutating func begin() {
            underWay += 1
        }

        mutating func removeFirst() {
            entries[first] = nil
            first += 1
            guard first * 2 > entries.count else { return }
            entries.removeFirst(first)
            first = 0
        }

        mutating func end() {
            underWay -= 1
        }
    }

    /// Things of one asker that may be under way at the same time.
    let share: Int
    private(set) var count = 0
    private var lines: [String: Line] = [:]
    /// The next entry of each line that has less than its share under way.
    private var heads = Heap<Entry>(<)
    private var clock = 0.0
    /// The latest that anything was due.
    private var latest = 0.0
    private var waitingLines = 0
    private var linesBeforeSweep = 64

    init(share: Int) {
        self.share = share
    }

    /// Whether somebody waits who may go.
    var hasNext: Bool { !heads.isEmpty }

    mutating func add(_ ticket: Lanes.Ticket) {
        let added = lines[ticket.turn.asker, default: Line()].add(ticket, at: clock, share: share)
        latest = max(latest, added.entry.due)
        if added.isFirst { waitingLines += 1 }
        if added.mayGo { heads.push(added.entry) }
        count += 1
        if lines.count > linesBeforeSweep { sweep() }
    }

    /// The next thing of all whose asker may go, where it costs no more than that; it is under way until `end`.
    mutating func next(costAtMost: Int = .max) -> Lanes.Ticket? {
        guard let head = heads.first, head.ticket.turn.cost <= costAtMost else { return nil }
        guard let ticket = heads.pop()?.ticket, let line = lines.index(forKey: ticket.turn.asker) else { return nil }
        lines.values[line].removeFirst()
        lines.values[line].begin()
        clock += Double(ticket.turn.cost) / Double(max(waitingLines, 1))
        count -= 1
        // Where nobody waits nobody has had too much.
        if count == 0 { clock = max(clock, latest) }
        if let next = lines.values[line].next {
            if lines.values[line].underWay < share { heads.push(next) }
        } else {
            waitingLines -= 1
        }
        return ticket
    }

    /// What was under way is done.
    mutating func end(_ asker: String) {
        guard let line = lines.index(forKey: asker) else { return }
        lines.values[line].end()
        if let next = lines.values[line].next {
            if lines.values[line].underWay == share - 1 { heads.push(next) }
        } else if lines.values[line].isOver(at: clock) {
            lines.remove(at: line)
        }
    }

    /// Begins something at once, without waiting: for who found nobody before it.
    mutating func beginNow(_ turn: Turn) -> Bool {
        guard count == 0, lines[turn.asker]?.underWay ?? 0 < share else { return false }
        lines[turn.asker, default: Line()].begin()
        return true
    }

    /// Something of an asker is under way in another queue, and counts in its share of this one, until `end`.
    mutating func beginElsewhere(_ asker: String) {
        lines[asker, default: Line()].begin()
        guard lines[asker]?.underWay == share else { return }
        heads.removeAll { $0.ticket.turn.asker == asker }
    }

    /// Forgets those who have nothing here and have not had too much.
    private mutating func sweep() {
        lines = lines.filter { !$0.value.isOver(at: clock) }
        linesBeforeSweep = max(64, lines.count * 2)
    }
}
