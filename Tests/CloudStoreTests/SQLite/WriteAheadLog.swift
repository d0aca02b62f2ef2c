import CloudContainer
import CloudStore
import CloudTestSupport
import CloudWire
import Glibc
import Testing

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
                    while try await store.feed(limit: 50).count < 50 {}
                }
            }
            // Ten times the bound in all.
            for index in 0..<400 as Range<Int64> {
                try await store.apply(
                    WritePlan(\.records, [Sample.put("r\(index % 60)", index, before: index >= 60 ? index - 60 : nil, body: Self.body)]))
            }
            try await group.waitForAll()
        }
        #expect(store.store.statistics[.forcedCheckpoints] >= 3)
        #expect(pages("nacre.sqlite-wal", in: store.folder) < 800, "the bound, and the commits until it is noticed")
        await store.close()
        #expect(pages("nacre.sqlite-wal", in: store.folder) == 0)
    }
}
