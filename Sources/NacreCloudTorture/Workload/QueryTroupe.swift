import NacreCloudWire
import NacreLocks
import NacreRandom

/// Savers save, replace and delete notes of their own, while askers query them page after page, indexes are made and
/// removed, and the server restarts. Each query is checked against the saves.
struct QueryTroupe {
    private static let savers = 2
    /// Clients besides the askers: the savers, and the client that changes indexes.
    static let others = savers + 1

    let arena: Arena
    var random: SeededRandom
    private(set) var testimony = Testimony()
    private let log = Locked(NoteLog())

    init(arena: Arena, random: SeededRandom) {
        (self.arena, self.random) = (arena, random)
    }

    /// Runs until the round is over, or a violation is found.
    mutating func run() async {
        var savers = (0..<Self.savers).map { NoteSaver(number: $0, arena: arena, log: log, random: random.branch()) }
        await attempt { troupe in
            // The first records create the type, which queries need.
            for index in savers.indices { try await savers[index].fill(&troupe.testimony.counts) }
        }
        let actors = savers
        await attempt { troupe in troupe.testimony.counts.add(try await troupe.play(actors)) }
        // Nothing changes any more: the queries return everything.
        await attempt { troupe in
            var asker = NoteAsker(number: 0, arena: troupe.arena, log: troupe.log, random: troupe.random.branch())
            for question in NoteForm.everything { _ = try await asker.ask(question) }
            troupe.testimony.counts.add(asker.counts)
        }
    }

    private mutating func attempt(_ body: (inout QueryTroupe) async throws -> Void) async {
        guard testimony.silence == nil, testimony.history.faults.isEmpty else { return }
        do {
            return try await body(&self)
        } catch AskFault.silent(let text) {
            testimony.silence = text
        } catch AskFault.refused(let error) {
            testimony.history.fault(.unexpected(error, asked: "one who asks for notes"))
        } catch {
            testimony.history.fault(error as? Violation ?? Violation(.unexpectedAnswer, "\(error)"))
        }
        arena.board.end()
    }

    private mutating func play(_ savers: [NoteSaver]) async throws -> TortureCounts {
        let (arena, log) = (arena, log)
        let askers = (0..<arena.askers).map { NoteAsker(number: $0, arena: arena, log: log, random: random.branch()) }
        let changer = arena.indexes.map { IndexChanger(indexes: $0, arena: arena, random: random.branch()) }
        return try await withThrowingTaskGroup(of: TortureCounts.self) { group in
            for saver in savers {
                group.addTask {
                    var (saver, counts) = (saver, TortureCounts())
                    while !arena.board.isOver { try await saver.step(&counts) }
                    return counts
                }
            }
            for asker in askers {
                group.addTask {
                    var asker = asker
                    try await asker.run()
                    return asker.counts
                }
            }
            if let changer {
                group.addTask {
                    var changer = changer
                    return try await changer.run()
                }
            }
            do {
                return try await group.reduce(into: TortureCounts()) { $0.add($1) }
            } catch {
                arena.board.end()
                throw error
            }
        }
    }
}

/// Saves notes under names of its own, several at once.
private struct NoteSaver {
    private static let batchMax: UInt64 = 24
    private static let fillBatch = 100
    private static let deletionOnceIn: UInt64 = 5
    /// Milliseconds between two batches, so that some queries go over several pages without a change.
    private static let pauseMax: UInt64 = 40

    let number: Int
    let arena: Arena
    let log: Locked<NoteLog>
    var random: SeededRandom
    private var version: Int64 = 0
    /// Names of notes that are not deleted.
    private var there: Set<String> = []

    init(number: Int, arena: Arena, log: Locked<NoteLog>, random: SeededRandom) {
        (self.number, self.arena, self.log, self.random) = (number, arena, log, random)
    }

    private func name(_ index: Int) -> String { "n\(index)of\(number)" }

    /// Saves each of its notes once.
    mutating func fill(_ counts: inout TortureCounts) async throws {
        for start in stride(from: 0, to: arena.notes, by: Self.fillBatch) {
            let names = (start..<min(arena.notes, start + Self.fillBatch)).map(name)
            try await save(names.map { ($0, note()) }, &counts)
        }
    }

    mutating func step(_ counts: inout TortureCounts) async throws {
        var places: Set<Int> = []
        for _ in 0...(random.next() % Self.batchMax) { places.insert(Int(random.next() % UInt64(max(1, arena.notes)))) }
        let changes = places.sorted().map(name).map { ($0, there.contains($0) && random.happens(onceIn: Self.deletionOnceIn) ? nil : note()) }
        try await save(changes, &counts)
        try? await Task.sleep(for: .milliseconds(Int64(random.next() % Self.pauseMax)))
    }

    private mutating func note() -> NoteLog.Note {
        version += 1
        return NoteForm.note(version, using: &random)
    }

    private mutating func save(_ changes: [(name: String, after: NoteLog.Note?)], _ counts: inout TortureCounts) async throws {
        let operations = changes.map { name, note in
            guard let note else { return RecordOperation(.forceDelete, RecordChange(recordName: name)) }
            return RecordOperation(
                .forceUpdate, RecordChange(recordName: name, recordType: NoteForm.recordType, set: NoteForm.fields(of: note)))
        }
        let request = RecordsModifyRequest(
            operations: operations, zoneID: arena.askedZoneID, atomic: true,
            extension: RequestExtension(wantsDetails: true, operationID: "\(arena.run)-n\(number)-\(random.next())"))
        let start = MonotonicClock.now
        log.withLock { log in for change in changes { log.begin(change.name, change.after, at: start) } }
        let asked = try await arena.device(number).ask("records/modify", request.json(), as: RecordsResponse.self)
        counts.retries += asked.attempts - 1
        for case .failure(let name, let error) in asked.answer.records {
            throw Violation(.unexpectedAnswer, "\(name ?? "a note") was refused with \(error.code.rawValue): \(error.reason)")
        }
        let end = MonotonicClock.now
        log.withLock { log in for change in changes { log.end(change.name, at: end) } }
        for (name, note) in changes { if note == nil { there.remove(name) } else { there.insert(name) } }
    }
}

/// Queries notes, and checks each answer against the log.
private struct NoteAsker {
    private static let limitMax: UInt64 = 60
    /// Milliseconds between two pages, where there is a pause: an index may come or go meanwhile.
    private static let pauseMax: UInt64 = 60
    private static let pauseOnceIn: UInt64 = 3
    /// Pages after which a query counts as endless: pages that wait for an index are held back, and are few.
    private static let pagesMax = 5_000

    let number: Int
    let arena: Arena
    let log: Locked<NoteLog>
    var random: SeededRandom
    private(set) var counts = TortureCounts()

    init(number: Int, arena: Arena, log: Locked<NoteLog>, random: SeededRandom) {
        (self.number, self.arena, self.log, self.random) = (number, arena, log, random)
    }

    mutating func run() async throws {
        while !arena.board.isOver {
            if try await ask(NoteForm.question(using: &random)) { arena.board.did { $0.questions += 1 } }
        }
    }

    /// Runs a query to its end and checks it.
    /// - Returns: false where the query was refused and the option it needs may have been removed.
    /// - Throws: `Violation`, `AskFault`.
    mutating func ask(_ question: NoteQuestion) async throws -> Bool {
        var pages: [NoteLog.Page] = []
        var marker: String?
        repeat {
            guard let page = try await self.page(of: question, after: marker) else {
                counts.questionsRefused += 1
                return false
            }
            pages.append(NoteLog.Page(page.span, try page.answer.records.map(NoteForm.told)))
            marker = page.answer.continuationMarker
            guard pages.count < Self.pagesMax else { throw Violation(.unexpectedAnswer, "\(question) never ends") }
            if marker != nil, random.happens(onceIn: Self.pauseOnceIn) {
                try? await Task.sleep(for: .milliseconds(Int64(random.next() % Self.pauseMax)))
            }
        } while marker != nil
        let log = log.withLock { $0 }
        if let violation = log.violation(of: question, pages) { throw violation }
        counts.questions += 1
        counts.questionPages += pages.count
        return true
    }

    /// Returns the next page; nil where the query was refused, and an option that it needs may have been removed.
    private mutating func page(of question: NoteQuestion, after marker: String?) async throws -> Asker.Asked<RecordsQueryResponse>? {
        let request = RecordsQueryRequest(
            query: NoteForm.query(question), zoneID: arena.askedZoneID, resultsLimit: Int(random.next() % Self.limitMax) + 1,
            continuationMarker: marker, extension: RequestExtension(wantsDetails: true))
        let start = MonotonicClock.now
        do throws(AskFault) {
            let asked = try await arena.device(number).ask("records/query", request.json(), as: RecordsQueryResponse.self)
            counts.retries += asked.attempts - 1
            if let failure = asked.answer.failures.first {
                throw AskFault.refused(failure.error)
            }
            return asked
        } catch {
            guard case .refused(let refusal) = error, refusal.code == .badRequest,
                arena.closures.mayRefuse(in: History.Span(start, MonotonicClock.now))
            else { throw error }
            return nil
        }
    }
}
