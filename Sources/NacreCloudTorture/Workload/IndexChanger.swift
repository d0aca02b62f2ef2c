import NacreCloudWire
import NacreLocks
import NacreRandom

/// A change of a field's indexes, which an administrator may make.
package struct TortureIndexChange: Sendable {
    package var recordType: String
    /// One field, or two as in `shelf+rank`.
    package var field: String
    /// The index options, such as `QUERYABLE`; empty: removes the field's indexes. nil: unchanged.
    package var options: [String]?
    /// Whether indexes are made before a query needs them.
    package var isNow: Bool
}

/// The operation that makes and removes indexes while the server works.
package struct TortureIndexes: Sendable {
    /// Makes a change. Throws where it was not done, or may not have been; it is then requested again.
    package var change: @Sendable (TortureIndexChange) async throws -> Void

    package init(change: @escaping @Sendable (TortureIndexChange) async throws -> Void) {
        self.change = change
    }
}

/// The spans in which queries may be refused, since an option they need is removed. One for all arenas of a round:
/// they have one schema.
final class IndexClosures: Sendable {
    private let spans = Locked<[History.Span]>([])

    func begin() { spans.withLock { $0.append(History.Span(MonotonicClock.now, .max)) } }

    func end() { spans.withLock { $0[$0.count - 1].end = MonotonicClock.now } }

    func mayRefuse(in span: History.Span) -> Bool {
        spans.withLock { spans in spans.contains { $0.start <= span.end && $0.end >= span.start } }
    }
}

/// Makes and removes indexes of notes, again and again. `QueryTroupe` checks the queries meanwhile.
struct IndexChanger {
    private static let fields: [(name: String, options: [String])] = [
        (NoteForm.shelfField, ["QUERYABLE"]), (NoteForm.rankField, ["QUERYABLE", "SORTABLE"]), (NoteForm.textField, ["SEARCHABLE"]),
    ]
    private static let pair = "\(NoteForm.shelfField)+\(NoteForm.rankField)"
    /// Milliseconds between two changes, and without an option, at most.
    private static let pauseMax: UInt64 = 400
    private static let closedMax: UInt64 = 30
    /// The pause before a failed change is requested again.
    private static let retryPause: Duration = .milliseconds(100)

    let indexes: TortureIndexes
    let arena: Arena
    var random: SeededRandom
    private var counts = TortureCounts()

    init(indexes: TortureIndexes, arena: Arena, random: SeededRandom) {
        (self.indexes, self.arena, self.random) = (indexes, arena, random)
    }

    mutating func run() async throws -> TortureCounts {
        while !arena.board.isOver {
            let isMade = random.happens(onceIn: 2)
            if random.happens(onceIn: 3) {
                // A pair without options is not made for any query; `isNow` takes that back.
                try await change(Self.pair, options: isMade ? nil : [], isNow: isMade)
            } else {
                let field = Self.fields[Int(random.next() % UInt64(Self.fields.count))]
                if isMade { try await change(field.name, options: field.options, isNow: true) } else { try await takeAway(field) }
            }
            arena.board.did { $0.indexChanges += 1 }
            try? await Task.sleep(for: .milliseconds(Int64(random.next() % Self.pauseMax)))
        }
        return counts
    }

    /// Removes a field's options and adds them again; its indexes return when a query needs them.
    private mutating func takeAway(_ field: (name: String, options: [String])) async throws {
        arena.closures.begin()
        try await change(field.name, options: [], isNow: false)
        try? await Task.sleep(for: .milliseconds(Int64(random.next() % Self.closedMax)))
        try await change(field.name, options: field.options, isNow: false)
        arena.closures.end()
    }

    /// Requests a change until it is done.
    private mutating func change(_ field: String, options: [String]?, isNow: Bool) async throws {
        let deadline = ContinuousClock.now + Asker.patience
        while true {
            do {
                try await indexes.change(TortureIndexChange(recordType: NoteForm.recordType, field: field, options: options, isNow: isNow))
                counts.indexChanges += 1
                return
            } catch {
                guard ContinuousClock.now < deadline else { throw AskFault.silent("\(error)") }
                // The server may be away: this request waits for it.
                _ = try await arena.device(0).ask("users/caller", nil, as: UserIdentity.self)
                try? await Task.sleep(for: Self.retryPause)
            }
        }
    }
}
