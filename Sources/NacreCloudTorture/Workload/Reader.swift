import NacreCloudWire
import NacreRandom

/// Follows the zone's feed and keeps its tokens, looks records up, and sometimes goes back to an old token. Waits for
/// changes as the framework does.
struct Reader {
    private static let pageSizes = [3, 10, 50, 200]
    private static let lookupOnceIn: UInt64 = 4
    private static let queryOnceIn: UInt64 = 3
    private static let replayOnceIn: UInt64 = 6
    private static let lookupRecords = 12
    /// Tokens kept to go back to, and how often that is done in a round: each time costs a pass over every record.
    private static let tokensMax = 64
    private static let replaysMax = 150
    /// Seconds to wait for changes.
    private static let waitSeconds = 0.25

    let number: Int
    let arena: Arena
    var random: SeededRandom
    var testimony = Testimony()
    private var stream = 0
    private var token: String?
    private var databaseToken: String?
    private var kept: [(stream: Int, page: Int, token: String)] = []
    /// Records that it has seen, the newest last.
    private(set) var known: [RecordKey] = []
    private var replays = 0

    init(number: Int, arena: Arena, random: SeededRandom) {
        self.number = number
        self.arena = arena
        self.random = random
    }

    /// Runs until the writers are done and everything is read, or a violation is found.
    mutating func run() async {
        stream = testimony.history.follow()
        do {
            while true {
                let before = testimony.history.count
                let isLast = arena.board.writersAreDone
                try await catchUp()
                if isLast { return }
                if random.happens(onceIn: Self.lookupOnceIn) { try await lookUp() }
                if random.happens(onceIn: Self.queryOnceIn) { try await query() }
                if random.happens(onceIn: Self.replayOnceIn) { try await replay() }
                arena.board.add(entries: testimony.history.count - before)
                try await waitForNews()
            }
        } catch AskFault.silent(let text) {
            testimony.silence = text
        } catch AskFault.refused(let error) {
            testimony.history.fault(.unexpected(error, asked: "follower \(number)"))
        } catch let violation as Violation {
            testimony.history.fault(violation)
        } catch {
            testimony.history.fault(Violation(.unexpectedAnswer, "\(error)"))
        }
        arena.board.end()
    }

    /// Reads the final state: by a feed from its beginning, and by name.
    mutating func runOnce() async {
        await run()
        guard testimony.silence == nil, testimony.history.faults.isEmpty else { return }
        do {
            var sights: [History.Sight] = []
            let records = arena.board.records + (0..<BatchID.writersMax).map { RecordKey(slot: Board.slots + $0) }
            for start in stride(from: 0, to: records.count, by: Self.pageSizes.max() ?? 1) {
                sights += try await lookUp(Array(records[start...].prefix(Self.pageSizes.max() ?? 1)), missing: .absent).sights
            }
            testimony.history.end(with: sights)
        } catch {
            testimony.silence = "the records could not be looked up at the end"
        }
    }

    // MARK: The feed

    private mutating func catchUp() async throws {
        while let page = try await page(after: token) {
            take(page, of: stream)
            token = page.told.syncToken
            if !page.told.isMidCommit { keep(page.told.syncToken) }
            if !page.told.moreComing { return }
        }
        testimony.counts.tokensExpired += 1
        // The token has expired: everything is read again.
        token = nil
        stream = testimony.history.follow()
        while let page = try await page(after: token) {
            take(page, of: stream)
            token = page.told.syncToken
            if !page.told.moreComing { return }
        }
        throw Violation(.unexpectedAnswer, "a token that was just given has expired")
    }

    private struct Turned {
        var told: ChangesZoneResponse.Page
        var sights: [History.Sight]
        var span: History.Span
    }

    /// Reads a page; nil where the token has expired.
    private mutating func page(after token: String?) async throws -> Turned? {
        let limit = Self.pageSizes[Int(random.next() % UInt64(Self.pageSizes.count))]
        let request = ChangesZoneRequest(
            zones: [.init(zoneID: arena.zoneID, syncToken: token, resultsLimit: limit)], extension: RequestExtension(wantsDetails: true))
        let asked = try await arena.device(number).ask("changes/zone", request.json(), as: ChangesZoneResponse.self)
        testimony.counts.retries += asked.attempts - 1
        switch asked.answer.zones.first {
        case .page(let page)?:
            var sights: [History.Sight] = []
            for result in page.records {
                switch result {
                case .record(let record): sights.append(try RecordForm.sight(record))
                case .deleted(let tombstone): sights.append(try RecordForm.sight(tombstone))
                case .failure(_, let error): throw AskFault.refused(error)
                }
            }
            testimony.counts.pages += 1
            testimony.counts.changesRead += sights.count
            return Turned(told: page, sights: sights, span: asked.span)
        case .failure(_, let error)?:
            guard error.isExpiry, token != nil else { throw AskFault.refused(error) }
            return nil
        case nil: throw Violation(.unexpectedAnswer, "one zone was asked for, and none answered")
        }
    }

    private mutating func take(_ page: Turned, of stream: Int) {
        testimony.history.page(
            of: stream, page.span, page.sights, isCaughtUp: !page.told.moreComing, isMidCommit: page.told.isMidCommit)
        known += page.sights.filter { $0.version != .deleted }.map(\.record)
        if known.count > Self.lookupRecords * 8 { known.removeFirst(known.count - Self.lookupRecords * 4) }
    }

    private mutating func keep(_ token: String) {
        let entry = (stream: stream, page: testimony.history.streams[stream].pages.count - 1, token: token)
        if kept.count < Self.tokensMax { return kept.append(entry) }
        // Each new token replaces a random one, so that old ones stay among them.
        kept[Int(random.next() % UInt64(Self.tokensMax))] = entry
    }

    private mutating func replay() async throws {
        guard replays < Self.replaysMax, let old = kept.randomElement(using: &random) else { return }
        replays += 1
        testimony.counts.tokensReplayed += 1
        var branch: Int?
        var token = old.token
        while let page = try await page(after: token) {
            let stream = branch ?? testimony.history.follow(from: .token(stream: old.stream, page: old.page))
            branch = stream
            take(page, of: stream)
            token = page.told.syncToken
            if !page.told.moreComing { return }
        }
        testimony.counts.tokensExpired += 1
        kept.removeAll { $0.token == old.token }
    }

    // MARK: Lookups

    private mutating func lookUp() async throws {
        let records = Set((0..<Self.lookupRecords).compactMap { _ in known.randomElement(using: &random) })
        guard !records.isEmpty else { return }
        // The records were seen before: one that is not there any more is deleted.
        let (sights, span) = try await lookUp(Array(records), missing: .deleted)
        testimony.history.read(.lookup, span, sights)
    }

    /// Looks records up.
    /// - Parameter missing: The version of a record that is not there.
    private mutating func lookUp(_ records: [RecordKey], missing: Version) async throws -> (sights: [History.Sight], span: History.Span) {
        let request = RecordsLookupRequest(
            records: records.map { .init(recordName: $0.name) }, zoneID: arena.zoneID, extension: RequestExtension(wantsDetails: true))
        let asked = try await arena.device(number).ask("records/lookup", request.json(), as: RecordsResponse.self)
        testimony.counts.retries += asked.attempts - 1
        testimony.counts.lookups += 1
        guard asked.answer.records.count == records.count else {
            throw Violation(.unexpectedAnswer, "\(records.count) records were looked up, and \(asked.answer.records.count) answered")
        }
        var sights: [History.Sight] = []
        for (result, record) in zip(asked.answer.records, records) {
            switch result {
            case .record(let found):
                let sight = try RecordForm.sight(found)
                guard sight.record == record else { throw Violation(.wrongContent, "\(record) was looked up, and \(sight.record) found") }
                sights.append(sight)
            case .deleted: sights.append(History.Sight(record, .deleted))
            case .failure(_, let error):
                guard error.code == .notFound else { throw AskFault.refused(error) }
                sights.append(History.Sight(record, missing))
            }
        }
        return (sights, asked.span)
    }

    /// Waits until the server announces a change, or for a moment.
    private mutating func waitForNews() async throws {
        var isMore = true
        while isMore {
            let request = ChangesDatabaseRequest(
                syncToken: databaseToken, extension: RequestExtension(wantsDetails: true, waitSeconds: Self.waitSeconds))
            guard let answer = try await news(request) else { continue }
            databaseToken = answer.syncToken
            isMore = answer.moreComing
        }
    }

    /// Asks for changes; nil where the token has expired, and the next request is to ask from the beginning.
    private mutating func news(_ request: ChangesDatabaseRequest) async throws -> ChangesDatabaseResponse? {
        do {
            return try await arena.device(number).ask("changes/database", request.json(), as: ChangesDatabaseResponse.self).answer
        } catch {
            guard case .refused(let refusal) = error, refusal.isExpiry, databaseToken != nil else { throw error }
            testimony.counts.tokensExpired += 1
            databaseToken = nil
            return nil
        }
    }
}

extension ServerError {
    /// Whether the error says that a token is too old, or of a history that is gone. This is a valid answer.
    var isExpiry: Bool { nativeCode == NativeErrorCode.changeTokenExpired.rawValue }
}
