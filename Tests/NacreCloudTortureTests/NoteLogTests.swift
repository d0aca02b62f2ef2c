import Testing

@testable import NacreCloudTorture

/// Tests of the check of queries: the possible states of a note, and each kind of wrong page.
@Suite struct NoteLogTests {
    private static func note(_ version: Int64, shelf: Int64 = 1, rank: Int64 = 5, word: String = "apple") -> NoteLog.Note {
        NoteLog.Note(version: version, shelf: shelf, rank: rank, words: [word, "other"])
    }

    /// a and b do not change; c was deleted. d is moved at 100–110, e is saved anew with the same rank at 100–110, f
    /// is requested at 150 without an answer.
    private static let log: NoteLog = {
        var log = NoteLog()
        func save(_ name: String, _ note: NoteLog.Note?, _ start: UInt64, _ end: UInt64? = nil) {
            log.begin(name, note, at: start)
            if let end { log.end(name, at: end) }
        }
        save("a", note(1, rank: 3), 10, 20)
        save("b", note(2), 10, 20)
        save("c", note(3), 10, 20)
        save("c", nil, 30, 40)
        save("d", note(4, rank: 7), 10, 20)
        save("d", note(5, rank: 1), 100, 110)
        save("e", note(6), 10, 20)
        save("e", note(7), 100, 110)
        save("f", note(8), 150)
        save("g", note(9, shelf: 2), 10, 20)
        return log
    }()

    private static func told(_ name: String, _ note: NoteLog.Note) -> NoteLog.Told { NoteLog.Told(name, note) }

    private static let (a, b, e) = (told("a", note(1, rank: 3)), told("b", note(2)), told("e", note(6)))
    private static let d = told("d", note(4, rank: 7))
    private static let byRank = NoteQuestion(shelf: 1, sort: .rising)

    private static func kind(
        _ question: NoteQuestion = byRank, _ pages: (span: ClosedRange<UInt64>, told: [NoteLog.Told])...
    ) -> Violation.Kind? {
        log.violation(of: question, pages.map { NoteLog.Page(History.Span($0.span.lowerBound, $0.span.upperBound), $0.told) })?.kind
    }

    @Test func `a note may have been all that its changes leave open`() {
        func states(_ name: String, _ start: UInt64, _ end: UInt64) -> [Int64?] {
            Self.log.states(of: name, in: History.Span(start, end)).map { $0?.version }
        }
        #expect(states("d", 0, 5) == [nil])
        #expect(states("d", 15, 15) == [4, nil])
        #expect(states("d", 50, 60) == [4])
        #expect(states("d", 50, 105) == [5, 4])
        #expect(states("d", 105, 120) == [5, 4])
        #expect(states("d", 111, 120) == [5])
        #expect(states("c", 50, 60) == [nil])
        #expect(states("f", 160, 170) == [8, nil])
        #expect(states("unknown", 0, 1000) == [nil])
    }

    @Test func `pages that tell each note once and in order are as they should be`() {
        #expect(Self.kind(Self.byRank, (50...60, [Self.a, Self.b, Self.e, Self.d])) == nil)
        #expect(Self.kind(Self.byRank, (50...60, [Self.a]), (65...70, []), (75...80, [Self.b, Self.e, Self.d])) == nil)
        #expect(Self.kind(NoteQuestion(shelf: 1, sort: .falling), (50...60, [Self.d, Self.e, Self.b, Self.a])) == nil)
        #expect(Self.kind(NoteQuestion(shelf: 1), (50...60, [Self.a, Self.b, Self.d, Self.e])) == nil)
        #expect(Self.kind(NoteQuestion(shelf: 1, rankAtLeast: 5, word: "apple", sort: .rising), (50...60, [Self.b, Self.e, Self.d])) == nil)
        #expect(Self.kind(NoteQuestion(word: "plum")) == nil)
    }

    @Test func `what changes meanwhile may be told in either place, in both or in none`() {
        let moved = Self.told("d", Self.note(5, rank: 1))
        let saved = Self.told("e", Self.note(7))
        // d leaves for a position before the current page, or is met there before its change.
        #expect(Self.kind(Self.byRank, (50...60, [Self.a]), (120...130, [Self.b, saved])) == nil)
        #expect(Self.kind(Self.byRank, (50...106, [moved, Self.a]), (120...130, [Self.b, saved])) == nil)
        #expect(
            Self.kind(NoteQuestion(shelf: 1, sort: .falling), (50...60, [Self.d, Self.e]), (120...130, [Self.b, Self.a, moved])) == nil)
        // e keeps its position, so it must be found.
        #expect(Self.kind(Self.byRank, (50...60, [Self.a]), (120...130, [Self.b])) == .missed)
    }

    @Test func `each way to be wrong has its name`() {
        let right = [Self.a, Self.b, Self.e, Self.d]
        for index in right.indices {
            #expect(Self.kind(Self.byRank, (50...60, Array(right[..<index]) + Array(right[(index + 1)...]))) == .missed)
            #expect(Self.kind(Self.byRank, (50...60, Array(right[...index]) + Array(right[index...]))) == .wrongAnswer)
        }
        #expect(Self.kind(Self.byRank, (50...60, [Self.b, Self.a, Self.e, Self.d])) == .wrongAnswer)
        #expect(Self.kind(Self.byRank, (50...60, [Self.a, Self.e, Self.b, Self.d])) == .wrongAnswer)
        #expect(Self.kind(Self.byRank, (50...60, right + [Self.told("g", Self.note(9, shelf: 2, rank: 9))])) == .wrongAnswer)
        // Deleted, not saved yet, never saved, and as it was before.
        #expect(Self.kind(Self.byRank, (50...60, [Self.a, Self.b, Self.told("c", Self.note(3)), Self.e, Self.d])) == .staleRead)
        #expect(Self.kind(Self.byRank, (50...60, [Self.a, Self.b, Self.e, Self.told("f", Self.note(8)), Self.d])) == .staleRead)
        #expect(Self.kind(Self.byRank, (50...60, right + [Self.told("x", Self.note(1, rank: 9))])) == .staleRead)
        #expect(Self.kind(Self.byRank, (120...130, [Self.a, Self.b, Self.told("e", Self.note(7)), Self.d])) == .staleRead)
    }
}
