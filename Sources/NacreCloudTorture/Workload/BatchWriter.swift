import NacreCloudWire
import NacreRandom

/// Changes several records at once, each over the version it knows, again and again; sometimes only its own record,
/// over any version. It abandons some answers and repeats some requests, as clients on bad networks do.
struct BatchWriter {
    /// Records of one batch, at most.
    private static let recordsMax = 5
    /// One batch in so many changes the record that no other client writes, without a tag: there only the operation
    /// ID prevents that a retry is done twice.
    private static let ownOnceIn: UInt64 = 8
    private static let deletionOnceIn: UInt64 = 16
    private static let repetitionOnceIn: UInt64 = 8
    private static let abandonedOnceIn: UInt64 = 16
    /// Milliseconds after which an answer is abandoned: around the time that an answer takes.
    private static let abandonedAfter: ClosedRange<Int64> = 1...12

    /// A batch that is being sent.
    private struct Draft {
        var batch: BatchID
        var items: [History.Item]
        var body: [UInt8]
    }

    let number: Int
    let arena: Arena
    var random: SeededRandom
    private(set) var testimony = Testimony()
    private var batches = 0
    private var own = Version.absent

    private var ownRecord: RecordKey { RecordKey(slot: Board.slots + number) }

    init(number: Int, arena: Arena, random: SeededRandom) {
        self.number = number
        self.arena = arena
        self.random = random
    }

    /// Runs until the round is over, or a violation is found.
    mutating func run() async {
        while !arena.board.isOver, batches < BatchID.batchesMax {
            let before = testimony.history.count
            batches += 1
            let draft = random.happens(onceIn: Self.ownOnceIn) ? draftOfOwn() : draftOfShared()
            guard await send(draft) else { return arena.board.end() }
            arena.board.add(entries: testimony.history.count - before)
            arena.board.did { $0.batches += 1 }
        }
    }

    // MARK: Requests

    private mutating func draftOfOwn() -> Draft {
        let batch = BatchID(writer: number, number: batches)
        let change = RecordChange(
            recordName: ownRecord.name, recordType: RecordForm.recordType, set: RecordForm.fields(of: batch, ownRecord))
        return draft(batch, [(History.Item(ownRecord, over: own), RecordOperation(.forceUpdate, change))])
    }

    private mutating func draftOfShared() -> Draft {
        let batch = BatchID(writer: number, number: batches)
        let slots = arena.board.pick(Int(random.next() % UInt64(Self.recordsMax)) + 1, using: &random)
        return draft(batch, slots.map { operation(on: $0, batch) })
    }

    private mutating func operation(on slot: Board.Slot, _ batch: BatchID) -> (History.Item, RecordOperation) {
        let record = slot.record
        var change = RecordChange(recordName: record.name, recordType: RecordForm.recordType, recordChangeTag: slot.newest?.tag)
        guard let newest = slot.newest else {
            change.set = RecordForm.fields(of: batch, record)
            return (History.Item(record, over: .absent), RecordOperation(.create, change))
        }
        if record.successor != nil, random.happens(onceIn: Self.deletionOnceIn) {
            return (History.Item(record, over: newest.version, isDeletion: true), RecordOperation(.delete, change))
        }
        change.set = RecordForm.fields(of: batch, record)
        return (History.Item(record, over: newest.version), RecordOperation(.update, change))
    }

    private func draft(_ batch: BatchID, _ parts: [(item: History.Item, operation: RecordOperation)]) -> Draft {
        let request = RecordsModifyRequest(
            operations: parts.map(\.operation), zoneID: arena.zoneID, atomic: true,
            extension: RequestExtension(wantsDetails: true, operationID: "\(arena.run)-\(batch.rawValue)"))
        return Draft(batch: batch, items: parts.map(\.item), body: request.json())
    }

    // MARK: Answers

    /// Sends a batch and checks its answer.
    /// - Returns: Whether to go on.
    private mutating func send(_ draft: Draft) async -> Bool {
        let start = MonotonicClock.now
        do {
            let asked = try await ask(draft, mayAbandon: true)
            let isApplied = try take(asked, of: draft)
            if isApplied, random.happens(onceIn: Self.repetitionOnceIn) { try await again(draft) }
            return true
        } catch let fault as AskFault {
            testimony.counts.batchesUnanswered += 1
            testimony.history.write(draft.batch, History.Span(start, MonotonicClock.now), .unknown, draft.items)
            switch fault {
            case .silent(let text): testimony.silence = text
            case .refused(let error): testimony.history.fault(.unexpected(error, asked: "\(draft.batch)"))
            }
        } catch {
            if testimony.history.writes.last?.batch != draft.batch {
                testimony.history.write(draft.batch, History.Span(start, MonotonicClock.now), .unknown, draft.items)
            }
            testimony.history.fault(error as? Violation ?? Violation(.unexpectedAnswer, "\(error)"))
        }
        return false
    }

    private mutating func ask(_ draft: Draft, mayAbandon: Bool) async throws -> Asker.Asked<RecordsResponse> {
        var patience: Duration?
        if mayAbandon, random.happens(onceIn: Self.abandonedOnceIn) {
            patience = .milliseconds(Int64.random(in: Self.abandonedAfter, using: &random))
            testimony.counts.answersAbandoned += 1
        }
        let asked = try await arena.device(number).ask("records/modify", draft.body, as: RecordsResponse.self, abandoning: patience)
        testimony.counts.retries += asked.attempts - 1
        guard asked.answer.records.count == draft.items.count else {
            throw Violation(.unexpectedAnswer, "\(draft.batch) has \(draft.items.count) records, and \(asked.answer.records.count) results")
        }
        return asked
    }

    /// Sends an acknowledged batch once more: it must be recognized, and not be done again.
    private mutating func again(_ draft: Draft) async throws {
        testimony.counts.repetitions += 1
        let asked: Asker.Asked<RecordsResponse>
        do {
            asked = try await ask(draft, mayAbandon: false)
        } catch AskFault.silent(let text) {
            testimony.silence = text
            return arena.board.end()
        }
        let results = try Results(asked.answer, of: draft.items)
        if let failure = results.failures.first(where: { $0.code != .notFound }) {
            throw Violation(.retryForgotten, "\(draft.batch) was acknowledged, and then refused with \(failure.code.rawValue): \(failure.reason)")
        }
        testimony.history.read(.retry, asked.span, results.sights)
    }

    private mutating func take(_ asked: Asker.Asked<RecordsResponse>, of draft: Draft) throws -> Bool {
        let results = try Results(asked.answer, of: draft.items)
        let isRetry = asked.attempts > 1
        let outcome = results.outcome(isRetry: isRetry, of: draft.items)
        switch outcome {
        case .applied where !results.failures.isEmpty && !isRetry:
            throw Violation(.splitBatch, "\(draft.batch) was answered as done in part: \(results.failures[0].reason)")
        case .applied:
            let mine = results.sights.filter { $0.version == Version(draft.batch) || $0.version == .deleted }
            guard isRetry || mine.count == draft.items.count else {
                throw Violation(.wrongContent, "\(draft.batch) was answered with records as another batch left them")
            }
            testimony.history.write(draft.batch, asked.span, .applied, draft.items, shown: mine)
            // A retry is answered with the current records.
            if isRetry { testimony.history.read(.retry, asked.span, results.sights) }
            testimony.counts.batchesApplied += 1
            testimony.counts.recordsChanged += draft.items.count
            if draft.items.contains(where: { $0.record == ownRecord }) { own = Version(draft.batch) }
        case .refused, .unknown:
            testimony.history.write(draft.batch, asked.span, outcome, draft.items)
            testimony.history.read(.refusal, asked.span, results.sights)
            testimony.counts.batchesRefused += 1
            try checkRefusal(of: draft, results)
        }
        for (sight, tag) in zip(results.sights, results.tags) { learn(sight, tag) }
        return outcome == .applied
    }

    /// Checks that a batch was refused for a version other than the one it builds on.
    private func checkRefusal(of draft: Draft, _ results: Results) throws {
        for item in draft.items {
            guard let sight = results.sights.first(where: { $0.record == item.record }), sight.version == item.before else { continue }
            throw Violation(.unexpectedAnswer, "\(draft.batch) was refused, because \(item.record) was as \(item.before) left it, on which it builds")
        }
        if draft.items.contains(where: { $0.record == ownRecord }) {
            throw Violation(.unexpectedAnswer, "\(draft.batch) was refused, and asked for no version: \(results.failures[0].reason)")
        }
    }

    private func learn(_ sight: History.Sight, _ tag: String) {
        if sight.version == .deleted {
            arena.board.bury(sight.record)
        } else {
            arena.board.learn(sight.record, Board.Newest(version: sight.version, tag: tag))
        }
    }
}

extension Violation {
    static func unexpected(_ error: ServerError, asked: String) -> Violation {
        Violation(.unexpectedAnswer, "\(asked) was answered \(error.code.rawValue), \(error.reason)")
    }
}
