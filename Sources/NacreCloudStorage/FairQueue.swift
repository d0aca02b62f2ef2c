/// A queue that gives every asker the same amount of work, and lets small requests pass the large ones of other askers.
///
/// This is fair queueing by virtual time. Each ticket that is given out advances a clock by its cost, divided by the
/// number of waiting askers. An asker's next ticket is due its own cost after the previous one, or after the clock if
/// that is later. The ticket that is due first goes first. An asker with one small request therefore passes all askers
/// that have had work, however much they have waiting. No ticket waits for ever, because the clock passes it.
///
/// The tickets of one asker go in the order in which they came. A change costs the logarithm of the number of askers. A
/// `Line` is changed in place, because a copy costs its length and each request changes one three times. The queue
/// knows only tickets: its user keeps the work that a ticket stands for.
struct FairQueue {
    private struct Entry {
        let ticket: TurnQueue.Ticket
        let due: Double

        static func < (left: Entry, right: Entry) -> Bool {
            (left.due, left.ticket.number) < (right.due, right.ticket.number)
        }
    }

    private struct Line {
        private var entries: [Entry?] = []
        private var first = 0
        /// The virtual time at which its newest ticket is due.
        private var last = 0.0
        private(set) var underWay = 0

        var next: Entry? { first < entries.count ? entries[first] : nil }

        /// Whether the asker has nothing waiting or under way, and no debt.
        func isOver(at clock: Double) -> Bool { underWay == 0 && next == nil && last <= clock }

        mutating func add(_ ticket: TurnQueue.Ticket, at clock: Double, share: Int) -> (entry: Entry, isFirst: Bool, mayGo: Bool) {
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

    /// The most tickets of one asker that may be under way at the same time.
    package let share: Int
    package private(set) var count = 0
    private var lines: [String: Line] = [:]
    /// The next entry of each line that has less than its share under way.
    private var heads = Heap<Entry>(<)
    private var clock = 0.0
    /// The latest virtual time at which any ticket was due.
    private var latest = 0.0
    private var waitingLines = 0
    private var linesBeforeSweep = 64

    package init(share: Int) {
        self.share = share
    }

    /// Whether a ticket waits whose asker has a free slot.
    package var hasNext: Bool { !heads.isEmpty }

    package mutating func add(_ ticket: TurnQueue.Ticket) {
        let added = lines[ticket.turn.asker, default: Line()].add(ticket, at: clock, share: share)
        latest = max(latest, added.entry.due)
        if added.isFirst { waitingLines += 1 }
        if added.mayGo { heads.push(added.entry) }
        count += 1
        if lines.count > linesBeforeSweep { sweep() }
    }

    /// Takes the next ticket whose asker has a free slot, if its cost is at most `costAtMost`. `end` frees the slot.
    package mutating func next(costAtMost: Int = .max) -> TurnQueue.Ticket? {
        guard let head = heads.first, head.ticket.turn.cost <= costAtMost else { return nil }
        guard let ticket = heads.pop()?.ticket, let line = lines.index(forKey: ticket.turn.asker) else { return nil }
        lines.values[line].removeFirst()
        lines.values[line].begin()
        clock += Double(ticket.turn.cost) / Double(max(waitingLines, 1))
        count -= 1
        // The queue is empty: forget past usage, so that no asker starts with a debt.
        if count == 0 { clock = max(clock, latest) }
        if let next = lines.values[line].next {
            if lines.values[line].underWay < share { heads.push(next) }
        } else {
            waitingLines -= 1
        }
        return ticket
    }

    /// Frees the slot of a ticket that is done.
    package mutating func end(_ asker: String) {
        guard let line = lines.index(forKey: asker) else { return }
        lines.values[line].end()
        if let next = lines.values[line].next {
            if lines.values[line].underWay == share - 1 { heads.push(next) }
        } else if lines.values[line].isOver(at: clock) {
            lines.remove(at: line)
        }
    }

    /// Takes a slot at once, without a ticket. Returns false if a ticket waits or the asker's share is used up.
    package mutating func beginNow(_ turn: Turn) -> Bool {
        guard count == 0, lines[turn.asker]?.underWay ?? 0 < share else { return false }
        lines[turn.asker, default: Line()].begin()
        return true
    }

    /// Counts work of an asker in another queue against its share of this one, until `end`.
    mutating func beginElsewhere(_ asker: String) {
        lines[asker, default: Line()].begin()
        guard lines[asker]?.underWay == share else { return }
        heads.removeAll { $0.ticket.turn.asker == asker }
    }

    /// Forgets the askers that have nothing here and no debt.
    private mutating func sweep() {
        lines = lines.filter { !$0.value.isOver(at: clock) }
        linesBeforeSweep = max(64, lines.count * 2)
    }
}
