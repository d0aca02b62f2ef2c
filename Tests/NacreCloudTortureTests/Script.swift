@testable import NacreCloudTorture

/// A history as a test writes it: records are letters, batches numbers, times milliseconds.
struct Script {
    enum Part {
        case create(Character)
        /// Over a deletion, too: the record is made again.
        case update(Character, over: Int)
        case delete(Character, over: Int)
    }

    private(set) var history = History()

    init() {
        _ = history.follow()
    }

    private static func key(_ letter: Character) -> RecordKey {
        RecordKey(slot: Int((letter.asciiValue ?? 0) &- 97))
    }

    private static func version(_ number: Int) -> Version { Version(BatchID(writer: 0, number: number)) }

    private static func span(_ time: ClosedRange<Int>) -> History.Span {
        History.Span(UInt64(time.lowerBound) * 1_000_000, UInt64(time.upperBound) * 1_000_000)
    }

    /// Adds a write.
    /// - Parameter tag: The tag in the answer; 0: none.
    mutating func write(
        _ number: Int, _ parts: [Part], at time: ClosedRange<Int>, _ outcome: History.Outcome = .applied, tag: UInt64 = 0
    ) {
        let items = parts.map { part in
            switch part {
            case .create(let letter): History.Item(Self.key(letter), over: .absent)
            case .update(let letter, let before): History.Item(Self.key(letter), over: Self.version(before))
            case .delete(let letter, let before): History.Item(Self.key(letter), over: Self.version(before), isDeletion: true)
            }
        }
        let shown = tag == 0 ? [] : items.map { History.Sight($0.record, Self.version(number), tag: tag) }
        history.write(BatchID(writer: 0, number: number), Self.span(time), outcome, items, shown: shown)
    }

    /// Returns sights; nil stands for a record that is not there.
    private func sights(_ shown: [(Character, Int?)], tag: UInt64 = 0, missing: Version = .deleted) -> [History.Sight] {
        shown.map { History.Sight(Self.key($0.0), $0.1.map(Self.version) ?? missing, tag: tag) }
    }

    mutating func lookup(_ shown: [(Character, Int?)], at time: ClosedRange<Int>, tag: UInt64 = 0, missing: Version = .deleted) {
        history.read(.lookup, Self.span(time), sights(shown, tag: tag, missing: missing))
    }

    mutating func follow(from origin: History.Stream.Origin = .beginning) -> Int {
        history.follow(from: origin)
    }

    mutating func page(
        _ shown: [(Character, Int?)], at time: ClosedRange<Int>, of stream: Int = 0, isCaughtUp: Bool = true, isMidCommit: Bool = false
    ) {
        history.page(of: stream, Self.span(time), sights(shown), isCaughtUp: isCaughtUp, isMidCommit: isMidCommit)
    }

    mutating func end(_ shown: [(Character, Int?)]) {
        history.end(with: sights(shown))
    }

    /// Returns a correct history of writers that conflict, and a follower.
    static func honest() -> Script {
        var script = Script()
        script.write(1, [.create("a"), .create("b")], at: 0...10)
        script.page([("a", 1), ("b", 1)], at: 11...20)
        script.write(2, [.update("a", over: 1), .create("c")], at: 21...40)
        script.write(3, [.update("a", over: 1)], at: 22...38, .refused)
        script.lookup([("a", 2), ("b", 1)], at: 35...45)
        script.write(4, [.update("a", over: 2)], at: 50...60)
        script.write(5, [.delete("c", over: 2)], at: 55...65)
        script.page([("a", 4)], at: 58...61, isCaughtUp: false)
        script.page([("c", nil)], at: 62...70)
        script.page([("a", 4), ("c", nil)], at: 80...85, of: script.follow(from: .token(stream: 0, page: 0)))
        return script
    }
}
