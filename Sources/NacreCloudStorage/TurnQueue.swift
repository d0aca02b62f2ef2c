/// A waiting room in front of a bounded number of slots, with one queue for each kind of read. Long reads never have
/// all slots, one asker has at most a part of them, and the kinds are served by rotation.
///
/// The room gives out tickets, and its user keeps the work that each stands for. This makes it one type: as generic
/// code it would run unspecialized in other modules. It is a value without a lock: its user locks it.
///
/// ```
/// guard let ticket = queue.add(turn) else { throw refused }
/// while let ticket = queue.next() { start(ticket) }
/// queue.end(ticket.turn)
/// ```
package struct TurnQueue {
    /// Work that waits, or that has a slot until `end`.
    package struct Ticket: Hashable, Sendable {
        /// The number of the ticket: tickets are counted in the order in which they came.
        package let number: Int
        package let turn: Turn
    }

    private let places: TurnLimits
    private let room: TurnRoom
    private var queues: [FairQueue]
    private var underWay: [Int]
    private var waiting = TurnRoom.none
    private var held: [String: TurnRoom] = [:]
    /// The index of the kind that is asked first the next time.
    private var first = 0
    private var lastNumber = 0

    package init(_ places: TurnLimits, room: TurnRoom) {
        self.places = places
        self.room = room
        queues = Turn.Kind.allCases.map { FairQueue(share: places.ofOneAsker(in: $0)) }
        underWay = queues.map { _ in 0 }
    }

    /// The number of tickets that wait.
    package var count: Int { waiting.count }

    /// Queues a turn. Returns nil if the turn, or all waiting turns of its asker together, exceed the free room.
    package mutating func add(_ turn: Turn) -> Ticket? {
        let more = Self.room(of: turn)
        let mine = held[turn.asker, default: .none] + more
        let free = room - waiting
        guard free.holds(more), free.holds(mine) else { return nil }
        held[turn.asker] = mine
        waiting = waiting + more
        lastNumber += 1
        let ticket = Ticket(number: lastNumber, turn: turn)
        queues[turn.kind.rawValue].add(ticket)
        return ticket
    }

    /// Whether a ticket waits that may have a slot now.
    package var hasNext: Bool {
        Turn.Kind.allCases.contains { queues[$0.rawValue].hasNext && isOpen($0) }
    }

    /// Takes the next ticket of a cost of at most `costAtMost`; nil if none may have a slot.
    package mutating func next(costAtMost: Int = .max) -> Ticket? {
        for step in queues.indices {
            let index = (first + step) % queues.count
            guard let kind = Turn.Kind(rawValue: index), isOpen(kind), let ticket = queues[index].next(costAtMost: costAtMost) else { continue }
            first = index + 1
            underWay[index] += 1
            if let other = kind.otherLong { queues[other.rawValue].beginElsewhere(ticket.turn.asker) }
            let less = Self.room(of: ticket.turn)
            waiting = waiting - less
            if let asker = held.index(forKey: ticket.turn.asker) {
                held.values[asker] = held.values[asker] - less
                if held.values[asker].count == 0 { held.remove(at: asker) }
            }
            return ticket
        }
        return nil
    }

    /// Takes a slot without waiting. Returns false if a ticket of the kind waits, or no slot is free for the asker.
    package mutating func beginNow(_ turn: Turn) -> Bool {
        guard isOpen(turn.kind), queues[turn.kind.rawValue].beginNow(turn) else { return false }
        underWay[turn.kind.rawValue] += 1
        if let other = turn.kind.otherLong { queues[other.rawValue].beginElsewhere(turn.asker) }
        return true
    }

    /// Frees the slot of a turn.
    package mutating func end(_ turn: Turn) {
        underWay[turn.kind.rawValue] -= 1
        queues[turn.kind.rawValue].end(turn.asker)
        if let other = turn.kind.otherLong { queues[other.rawValue].end(turn.asker) }
    }

    private func isOpen(_ kind: Turn.Kind) -> Bool {
        guard underWay.reduce(0, +) < places.all else { return false }
        guard kind != .short else { return true }
        let long = underWay.reduce(0, +) - underWay[Turn.Kind.short.rawValue]
        return long < places.long && underWay[kind.rawValue] < places.longOfOneKind
    }

    private static func room(of turn: Turn) -> TurnRoom {
        TurnRoom(count: 1, rows: turn.rows, bytes: turn.bytes)
    }
}

/// The most turns that may be under way at the same time.
package struct TurnLimits: Hashable, Sendable {
    package var all: Int
    /// The most of both long kinds together. The rest is for short reads.
    package var long: Int
    /// The most of each long kind.
    package var longOfOneKind: Int
    /// The most of one asker: of short reads, and of both long kinds together.
    package var shortOfOneAsker: Int
    package var longOfOneAsker: Int
    /// A bulk turn begins only while its asker has fewer long turns than this under way.
    package var bulkOfOneAsker: Int

    /// - Parameter bulkOfOneAsker: nil takes the value of `longOfOneAsker`.
    package init(all: Int, long: Int, longOfOneKind: Int, shortOfOneAsker: Int, longOfOneAsker: Int, bulkOfOneAsker: Int? = nil) {
        self.all = all
        self.long = long
        self.longOfOneKind = longOfOneKind
        self.shortOfOneAsker = shortOfOneAsker
        self.longOfOneAsker = longOfOneAsker
        self.bulkOfOneAsker = bulkOfOneAsker ?? longOfOneAsker
    }

    fileprivate func ofOneAsker(in kind: Turn.Kind) -> Int {
        switch kind {
        case .short: shortOfOneAsker
        case .query: longOfOneAsker
        case .bulk: bulkOfOneAsker
        }
    }

    /// Slots without a bound.
    package static var unbounded: TurnLimits {
        TurnLimits(all: .max, long: .max, longOfOneKind: .max, shortOfOneAsker: .max, longOfOneAsker: .max)
    }
}

extension Turn.Kind {
    /// The kind that shares the slots of one asker with this kind; nil for short reads.
    fileprivate var otherLong: Turn.Kind? {
        switch self {
        case .short: nil
        case .query: .bulk
        case .bulk: .query
        }
    }
}

/// The amount of work that may wait. The turns of one asker may take at most the room that is still free.
package struct TurnRoom: Hashable, Sendable {
    package var count: Int
    package var rows: Int
    package var bytes: Int

    package init(count: Int, rows: Int, bytes: Int) {
        self.count = count
        self.rows = rows
        self.bytes = bytes
    }

    package static let unbounded = TurnRoom(count: .max, rows: .max, bytes: .max)
    package static let none = TurnRoom(count: 0, rows: 0, bytes: 0)

    package func holds(_ other: TurnRoom) -> Bool {
        other.count <= count && other.rows <= rows && other.bytes <= bytes
    }

    package static func + (left: TurnRoom, right: TurnRoom) -> TurnRoom {
        TurnRoom(count: left.count + right.count, rows: left.rows + right.rows, bytes: left.bytes + right.bytes)
    }

    package static func - (left: TurnRoom, right: TurnRoom) -> TurnRoom {
        TurnRoom(count: left.count - right.count, rows: left.rows - right.rows, bytes: left.bytes - right.bytes)
    }
}
