import Glibc
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks
import Testing

@testable import NacreCloudStore

@Suite struct WriteAheadLog {
    private static let body = [UInt8](repeating: 1, count: 40_000)

    private func pages(_ file: String, in folder: TemporaryFolder) -> Int {
        var status = stat()
        return stat(folder.path + "/" + file, &status) == 0 ? Int(status.st_size) / 4096 : 0
    }

    @Test func `the log is copied beside the writer`() async throws {
        var options = SQLiteOptions()
        options.pagesBeforeCheckpoint = 50
        let store = try await TemporarySQLiteStore(options: options)
        try await store.populate()
        for index in 0..<20 as Range<Int64> {
            try await store.apply(WritePlan(\.records, [Sample.put("r\(index)", index, body: Self.body)]))
        }
        while store.store.statistics[.checkpoints] == 0 { await Task.yield() }
        #expect(store.store.statistics[.forcedCheckpoints] == 0)
        #expect(try await store.names().count == 20)
        await store.close()
    }

    @Test func `the log does not grow without end, even while somebody always reads`() async throws {
        var options = SQLiteOptions()
        options.pagesInLog = 400
        let store = try await TemporarySQLiteStore(options: options)
        try await store.populate()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    var isDone = false
                    while !isDone {
                        do {
                            isDone = try await store.feed(limit: 50).count >= 50
                        } catch let error as StoreError where error.code == .outpaced {
                            // On a busy machine a long read may be ended twice for the log's sake, and asked to retry.
                        }
                    }
                }
            }
            // Ten times the bound in all.
            for index in 0..<400 as Range<Int64> {
                try await store.apply(
                    WritePlan(\.records, [Sample.put("r\(index % 60)", index, before: index >= 60 ? index - 60 : nil, body: Self.body)]))
            }
            try await group.waitForAll()
        }
        // A read of more than 2 ms that began since the last commit costs a step each time, and a busy machine makes
        // reads long. Without the bound there are 4,400.
        let bound = LogBound(pages: 400)
        #expect(pages("nacre.sqlite-wal", in: store.folder) <= Int(bound.hardPages + 8 * bound.step))
        await store.close()
        #expect(pages("nacre.sqlite-wal", in: store.folder) == 0)
    }

    /// The ways in which a read stays open for ever.
    enum LongRead: String, CaseIterable, Sendable {
        /// Many statements, one after the other.
        case manyQuestions
        /// One statement that has no end.
        case oneQuestion
        /// A read that ignores every error, and goes on until it may end.
        case deaf
    }

    @Test(arguments: LongRead.allCases)
    func `a read without end is ended and begun again, the log stays below its bound, and writers wait for nobody`(_ kind: LongRead) async throws {
        let disk = try #require(WatchedDisk { _ in .carryOut })
        var options = SQLiteOptions()
        options.vfs = disk.name
        options.pagesInLog = 400
        let store = try await TemporarySQLiteStore(options: options)
        try await store.populate([Sample.put("first", 1)])
        let (begun, continuation) = AsyncStream.makeStream(of: Void.self)
        let mayEnd = Locked(false)
        let tries = Locked(0)
        async let read = Result {
            try await store.read { transaction in
                let tried = tries.withLock { tries in
                    tries += 1
                    return tries
                }
                // The second attempt reads little.
                if tried > 1 { return }
                _ = try transaction.records(in: Sample.zone, named: ["first"])
                continuation.finish()
                while kind == .deaf, !mayEnd.withLock({ $0 }) { _ = try? transaction.records(in: Sample.zone, named: ["first"]) }
                while kind != .oneQuestion { _ = try transaction.records(in: Sample.zone, named: ["first"]) }
                let snapshot = try #require(transaction as? SQLiteSnapshot)
                try snapshot.ask {
                    _ = try $0.execute("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n")
                }
            }
        }
        for await _ in begun {}
        // Six times the length at which the log should restart; 11 pages each.
        var longest = 0
        for index in 0..<220 as Range<Int64> {
            try await store.apply(
                WritePlan(\.records, [Sample.put("r\(index % 60)", index, before: index >= 60 ? index - 60 : nil, body: Self.body)]))
            longest = max(longest, pages("nacre.sqlite-wal", in: store.folder))
        }
        mayEnd.withLock { $0 = true }
        try await read.get()
        #expect(tries.withLock { $0 } == 2)
        let statistics = store.store.statistics
        #expect(statistics[.readsEnded] == 1)
        let bound = LogBound(pages: 400)
        // A busy machine may keep the reader's thread from ending: each attempt that waits for it in vain costs a
        // step. Without the bound there are 2,420.
        #expect(longest <= Int(bound.hardPages + 8 * bound.step), "\(longest) pages")
        #expect(disk.sleptMicroseconds <= statistics[.forcedCheckpoints] * 1000 * Int(SQLiteLimits.checkpointPatienceMilliseconds))
        // Another read works as ever.
        #expect(try await store.names(limit: 100).count == 61)
        await store.close()
    }

    @Test func `a read that is in the way however often it is begun is told so`() async throws {
        var options = SQLiteOptions()
        options.pagesInLog = 400
        let store = try await TemporarySQLiteStore(options: options)
        try await store.populate([Sample.put("first", 1)])
        let isOver = Locked(false)
        async let read = Result {
            defer { isOver.withLock { $0 = true } }
            try await store.read { transaction in
                while true { _ = try transaction.records(in: Sample.zone, named: ["first"]) }
            }
        }
        var index: Int64 = 0
        while !isOver.withLock({ $0 }) {
            let before = index >= 60 ? index - 60 : nil
            try await store.apply(WritePlan(\.records, [Sample.put("r\(index % 60)", index, before: before, body: Self.body)]))
            index += 1
        }
        guard case .failure(let error) = await read else { return #expect(Bool(false), "the read ended by itself") }
        #expect(error as? StoreError == ReaderWatch.ended)
        #expect(ServerError(ReaderWatch.ended).code == .tryAgainLater)
        #expect(store.store.statistics[.readsEnded] == SQLiteLimits.readTries)
        await store.close()
    }

    @Test func `a backup keeps the log as long as it may, and is given up when the log is too long or there is no room`() {
        let readers = LogReaders(count: 1)
        readers[0].begin(atPage: 0)
        let watch = readers.beginBackup(pages: 5000)
        #expect(readers.backupPages == 5000)
        #expect(readers.beginBackup(pages: 1) == nil)
        readers.endBackup()
        #expect(watch?.isEnded == true)
        #expect(!readers[0].isEnded)
        readers.backupIsOver()
        #expect(readers.backupPages == nil)
    }

    private struct Row: Sendable {
        var length: Int32
        var copied: Int32
        var lastTry: Int32?
        var backup: Int32?
        var move: LogBound.Move

        init(_ length: Int32, copied: Int32, lastTry: Int32? = nil, backup: Int32? = nil, _ move: LogBound.Move) {
            self.length = length
            self.copied = copied
            self.lastTry = lastTry
            self.backup = backup
            self.move = move
        }
    }

    private static let rows = [
        Row(1599, copied: 0, .wait), Row(1599, copied: 1599, .wait),
        // The checkpointer copies; a small rest when it is done is left to the writer.
        Row(1600, copied: 0, .endReads(olderThan: 800)), Row(1600, copied: 1499, .endReads(olderThan: 800)),
        Row(1600, copied: 1500, .finish(endingReadsOlderThan: 800, insists: false)),
        Row(3199, copied: 3100, .finish(endingReadsOlderThan: 800, insists: false)),
        // A reader was in the way: no new attempt before the log has grown.
        Row(1699, copied: 1699, lastTry: 1600, .endReads(olderThan: 800)),
        Row(1700, copied: 1700, lastTry: 1600, .finish(endingReadsOlderThan: 800, insists: false)),
        // Any reader in the way, and any rest.
        Row(3200, copied: 0, .finish(endingReadsOlderThan: 100, insists: true)), Row(3299, copied: 0, lastTry: 3200, .wait),
        Row(3300, copied: 0, lastTry: 3200, .finish(endingReadsOlderThan: 100, insists: true)),
        // A backup goes on up to its own bound, which is never lower.
        Row(3300, copied: 0, backup: 9000, .wait), Row(9000, copied: 0, backup: 9000, .endBackup), Row(3200, copied: 0, backup: 10, .endBackup),
    ]

    @Test(arguments: rows) private func `what the writer does for the log is told by its length`(row: Row) {
        #expect(LogBound(pages: 1600).move(length: row.length, copied: row.copied, lastTry: row.lastTry, backupPages: row.backup) == row.move)
    }
}
