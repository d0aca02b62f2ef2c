import NacreCloudTestSupport
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

extension FairQueue {
    fileprivate mutating func add(_ number: Int, _ turn: Turn) {
        add(TurnQueue.Ticket(number: number, turn: turn))
    }
}

@Suite struct FairQueueTests {
    private func queue(share: Int = .max, _ waiting: [(asker: String, rows: Int)]) -> FairQueue {
        var queue = FairQueue(share: share)
        for (index, each) in waiting.enumerated() { queue.add(index, Turn(asker: each.asker, rows: each.rows)) }
        return queue
    }

    private func askers(_ queue: inout FairQueue, _ count: Int = .max) -> String {
        var order = ""
        while order.count < count, let next = queue.next() { order += next.turn.asker }
        return order
    }

    @Test func `askers take turns, whoever came first and however much each wants`() {
        var queue = queue([("a", 1), ("a", 1), ("a", 1), ("a", 1), ("b", 1), ("b", 1), ("c", 1)])
        #expect(askers(&queue) == "abcabaa")
    }

    @Test func `what one asker wants goes in the order in which it came`() {
        var queue = queue((0..<50).map { ("a", $0 % 7 == 0 ? 400 : 1) })
        var order: [Int] = []
        while let next = queue.next() { order.append(next.number) }
        #expect(order == Array(0..<50))
    }

    @Test func `everybody gets the same amount of work done, in large pieces or in small ones`() {
        var queue = queue((0..<10).map { _ in ("a", 100) } + (0..<1000).map { _ in ("b", 1) })
        let first = askers(&queue, 505)
        #expect(first.count { $0 == "a" } == 5 && first.count { $0 == "b" } == 500)
    }

    @Test func `one small thing goes next, whatever waits and however often its askers had their turn`() {
        for done in 0..<40 {
            var queue = queue((0..<48).map { ("\($0 % 16)", 400) })
            for _ in 0..<done { _ = queue.next() }
            queue.add(-1, Turn(asker: "small"))
            #expect(queue.next()?.number == -1, "after \(done)")
        }
    }

    @Test func `a large thing is not put off for ever by small ones of ever new askers`() {
        var queue = queue([("large", 400)] + (0..<10).map { ("s\($0)", 1) })
        var turns = 0
        while let next = queue.next(), next.turn.asker != "large", turns < 100_000 {
            turns += 1
            queue.add(turns, Turn(asker: "n\(turns)"))
        }
        // One of eleven has an eleventh of the work.
        #expect(turns >= 400 && turns < 400 * 13, "\(turns)")
    }

    @Test func `bytes count as work`() {
        var queue = FairQueue(share: .max)
        queue.add(0, Turn(asker: "a", bytes: 2_000_000))
        queue.add(1, Turn(asker: "b", rows: 100))
        #expect(queue.next()?.number == 1)
    }

    @Test func `what costs more than is asked for stays first, and goes when anything may`() {
        var queue = queue([("a", 100)])
        #expect(queue.next(costAtMost: 99) == nil && queue.hasNext && queue.count == 1)
        queue.add(1, Turn(asker: "b"))
        #expect(queue.next(costAtMost: 99)?.number == 1)
        #expect(queue.next(costAtMost: 99) == nil)
        #expect(queue.next()?.number == 0)
    }

    @Test func `what an asker has under way elsewhere counts in its share`() {
        var queue = queue(share: 2, [("a", 1), ("a", 1), ("b", 1)])
        queue.beginElsewhere("a")
        #expect(askers(&queue) == "ab")
        queue.end("a")
        #expect(queue.hasNext)
        queue.beginElsewhere("a")
        #expect(!queue.hasNext && queue.next() == nil)
        queue.end("a")
        #expect(askers(&queue) == "a")
    }

    @Test func `an asker has no more under way than its share, and goes on when one is done`() {
        var queue = queue(share: 2, [("a", 1), ("a", 1), ("a", 1), ("b", 1)])
        #expect(askers(&queue) == "aba")
        #expect(!queue.hasNext && queue.count == 1)
        queue.end("b")
        #expect(!queue.hasNext)
        queue.end("a")
        #expect(askers(&queue) == "a")
    }

    @Test func `whatever comes and goes, each thing goes once, in its asker's order, and shares are kept`() {
        var random = SeededRandom(seed: 7)
        var queue = FairQueue(share: 3)
        var underWay: [String: Int] = [:]
        var last: [String: Int] = [:]
        var left = 0
        for number in 0..<20_000 {
            switch random.next() % 3 {
            case 0:
                queue.add(number, Turn(asker: "\(random.next() % 90)", rows: Int(random.next() % 400)))
                left += 1
            case 1:
                guard let next = queue.next() else { continue }
                let asker = next.turn.asker
                #expect(next.number > last[asker, default: -1])
                last[asker] = next.number
                underWay[asker, default: 0] += 1
                left -= 1
                #expect(underWay[asker, default: 0] <= 3)
            default:
                guard let asker = underWay.keys.sorted().first(where: { underWay[$0, default: 0] > 0 }) else { continue }
                underWay[asker, default: 0] -= 1
                queue.end(asker)
            }
        }
        while left > 0 {
            if let next = queue.next() {
                left -= 1
                underWay[next.turn.asker, default: 0] += 1
                continue
            }
            for (asker, count) in underWay { for _ in 0..<count { queue.end(asker) } }
            underWay = [:]
            guard queue.hasNext else { break }
        }
        #expect(left == 0 && queue.count == 0)
    }
}

@Suite struct TurnQueueTests {
    private static let places = TurnLimits(all: 4, long: 3, longOfOneKind: 2, shortOfOneAsker: 3, longOfOneAsker: 2)

    private func lanes(_ turns: [Turn], _ places: TurnLimits = places, room: TurnRoom = .unbounded) -> TurnQueue {
        var lanes = TurnQueue(places, room: room)
        for turn in turns { _ = lanes.add(turn) }
        return lanes
    }

    private func taken(_ lanes: inout TurnQueue) -> [Turn] {
        var taken: [Turn] = []
        while let next = lanes.next() { taken.append(next.turn) }
        return taken
    }

    @Test func `whatever waits, a place is left for short work`() {
        let long = (0..<20).flatMap { [Turn(asker: "\($0)", kind: .query), Turn(asker: "\($0)", kind: .bulk)] }
        var lanes = lanes(long)
        #expect(taken(&lanes).count == 3)
        #expect(!lanes.hasNext)
        let added = lanes.add(Turn(asker: "a"))
        #expect(added != nil && lanes.next() == added)
    }

    @Test func `one kind of long work leaves a place to the other`() {
        var lanes = lanes((0..<20).map { Turn(asker: "\($0)", kind: .query) })
        #expect(taken(&lanes).count == 2)
        let added = lanes.add(Turn(asker: "a", kind: .bulk))
        #expect(added != nil && lanes.next() == added)
    }

    @Test(arguments: Turn.Kind.allCases)
    func `one asker never has all places`(kind: Turn.Kind) {
        var lanes = lanes((0..<20).map { _ in Turn(asker: "a", kind: kind) })
        #expect(taken(&lanes).count == (kind == .short ? 3 : 2))
        let added = lanes.add(Turn(asker: "b"))
        #expect(added != nil && lanes.next() == added)
    }

    @Test func `one asker has its share of both long lanes together, and the next goes when one of them is done`() {
        let turns = (0..<5).flatMap { _ in [Turn(asker: "a", kind: .query), Turn(asker: "a", kind: .bulk)] }
        var lanes = lanes(turns, TurnLimits(all: 4, long: 3, longOfOneKind: 3, shortOfOneAsker: 3, longOfOneAsker: 2))
        let mine = taken(&lanes)
        #expect(mine.count == 2 && !lanes.hasNext && !lanes.beginNow(Turn(asker: "a", kind: .bulk)))
        for kind in [Turn.Kind.query, .bulk] {
            let others = lanes.add(Turn(asker: "b", kind: kind))
            #expect(others != nil && lanes.next() == others, "whatever another one wants")
            lanes.end(Turn(asker: "b", kind: kind))
        }
        var done = 0
        var underWay = mine
        while let turn = underWay.popLast() {
            lanes.end(turn)
            done += 1
            underWay += taken(&lanes)
            #expect(underWay.count <= 2)
        }
        #expect(done == turns.count && lanes.count == 0)
    }

    @Test func `bulk may have a smaller share of an asker's places, in which its queries count`() {
        let places = TurnLimits(all: 8, long: 6, longOfOneKind: 6, shortOfOneAsker: 6, longOfOneAsker: 4, bulkOfOneAsker: 2)
        let (query, bulk) = (Turn(asker: "a", kind: .query), Turn(asker: "a", kind: .bulk))
        for (turns, most) in [
            ([bulk, bulk, bulk], 2), ([query, query, query, query, query], 4), ([query, query, bulk], 2), ([query, bulk, bulk], 2),
        ] {
            var lanes = lanes([], places)
            #expect(turns.count { lanes.beginNow($0) } == most, "\(turns)")
        }
    }

    @Test func `lanes take turns for a place that any may have`() {
        let turns = (0..<5).flatMap { _ in Turn.Kind.allCases.map { Turn(asker: "a", kind: $0) } }
        var lanes = lanes(turns, TurnLimits(all: 1, long: 1, longOfOneKind: 1, shortOfOneAsker: 1, longOfOneAsker: 1))
        var order: [Turn.Kind] = []
        while let next = lanes.next() {
            #expect(lanes.next() == nil)
            order.append(next.turn.kind)
            lanes.end(next.turn)
        }
        #expect(order == (0..<5).flatMap { _ in Turn.Kind.allCases })
    }

    @Test func `who finds nobody before it begins at once, in its place`() {
        var lanes = lanes([])
        let turn = Turn(asker: "a", kind: .bulk)
        #expect(lanes.beginNow(turn) && lanes.beginNow(turn) && !lanes.beginNow(turn))
        let added = lanes.add(turn)
        #expect(added != nil && lanes.next() == nil)
        lanes.end(turn)
        #expect(lanes.beginNow(Turn(asker: "b", kind: .bulk)) == false, "somebody waits")
        #expect(lanes.next() == added)
    }

    @Test(arguments: [
        (TurnRoom(count: 10, rows: .max, bytes: .max), Turn(asker: "a"), 5),
        (TurnRoom(count: .max, rows: 1000, bytes: .max), Turn(asker: "a", rows: 100), 5),
        (TurnRoom(count: .max, rows: .max, bytes: 80), Turn(asker: "a", bytes: 8), 5),
    ])
    func `one asker has half of the room in number, rows and bytes, and another one finds the rest`(room: TurnRoom, turn: Turn, most: Int) {
        var lanes = lanes([], .unbounded, room: room)
        let mine = (0..<10).count { _ in lanes.add(turn) != nil }
        #expect(mine == most)
        var others = turn
        others.asker = "b"
        #expect(lanes.add(others) != nil)
        _ = lanes.next()
        #expect(lanes.count == most)
        while lanes.next() != nil {}
        #expect(lanes.count == 0)
    }

    @Test func `what went is room again`() {
        var lanes = lanes([], .unbounded, room: TurnRoom(count: 4, rows: 4, bytes: 4))
        for _ in 0..<100 {
            let added = lanes.add(Turn(asker: "a", bytes: 2))
            let next = lanes.next()
            #expect(added != nil && next == added)
            if let next { lanes.end(next.turn) }
        }
    }
}
