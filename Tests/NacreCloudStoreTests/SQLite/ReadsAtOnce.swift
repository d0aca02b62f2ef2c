import Glibc
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import Testing

@testable import NacreCloudStore

/// Tests that small reads which need not wait run on the calling thread.
@Suite struct ReadsAtOnce {
    private static let names = (0..<200).map { "r\($0)" }

    private func filled(_ folder: TemporaryFolder, count: Int = 200, bodyBytes: Int = 8000) async throws -> SQLiteStore {
        let store = try await SQLiteStore.open(folder: folder.path)
        try await store.populate(
            (0..<count).map { Sample.put("r\($0)", Int64($0 + 1), body: [UInt8](repeating: UInt8($0 & 0xff), count: bodyBytes)) })
        return store
    }

    /// Reads some records as a user's request, and returns how many reads ran on calling threads.
    private func lookUp(
        _ names: some Sequence<String>, in store: SQLiteStore, as turn: Turn = Turn(asker: "_ann")
    ) async throws -> (records: [RecordRow], readsAtOnce: Int) {
        let before = store.statistics[.readsAtOnce]
        let names = Array(names)
        let records = try await Turn.$current.withValue(turn) {
            try await store.read { try $0.records(in: Sample.zone, named: names, bytesMax: .max) }
        }
        return (records, store.statistics[.readsAtOnce] - before)
    }

    @Test(arguments: [
        (Turn(asker: "_ann"), 1), (Turn(asker: "_ann", rows: 8), 1), (Turn(asker: "_ann", rows: 9), 0), (Turn(asker: "_ann", kind: .query), 0),
        (Turn(asker: "_ann", kind: .bulk), 0), (Turn(asker: ""), 0), (Turn(asker: "_ann", isAmongMany: true), 0),
    ])
    func `which reads they are`(turn: Turn, readsAtOnce: Int) async throws {
        let store = try await TemporarySQLiteStore()
        try await store.populate([Sample.put("r1", 1)])
        let found = try await lookUp(["r1"], in: store.store, as: turn)
        #expect(found.records.map(\.name) == ["r1"])
        #expect(found.readsAtOnce == readsAtOnce)
    }

    @Test func `a read that would wait for the disk is left to a reader, and is answered all the same`() async throws {
        let folder = try TemporaryFolder(on: .disk)
        let first = try await filled(folder)
        await first.close()
        let store = try await SQLiteStore.open(folder: folder.path)
        try forget(folder.path + "/nacre.sqlite")
        let cold = try await lookUp(Self.names.suffix(3), in: store)
        #expect(cold.records.map(\.body.count) == [8000, 8000, 8000])
        #expect(cold.readsAtOnce == 0)
        // The rows that the reader fetched are in memory now.
        let warm = try await lookUp(Self.names.suffix(3), in: store)
        #expect(warm.records == cold.records)
        #expect(warm.readsAtOnce == 1)
        await store.close()
    }

    @Test func `a read of more bytes than one request may take of the asking thread is left to a reader`() async throws {
        let folder = try TemporaryFolder(on: .disk)
        let store = try await filled(folder, bodyBytes: 70_000)
        #expect(try await lookUp(Self.names.prefix(2), in: store).readsAtOnce == 1)
        let large = try await lookUp(Self.names.suffix(5), in: store)
        #expect(large.records.count == 5)
        #expect(large.readsAtOnce == 0)
        await store.close()
    }

    @Test func `a read of many steps is left to a reader`() async throws {
        let folder = try TemporaryFolder(on: .disk)
        let store = try await filled(folder, count: 1000, bodyBytes: 10)
        let count = try await Turn.$current.withValue(Turn(asker: "_ann")) {
            try await store.read { transaction in
                try transaction.feed([FeedScan(of: Sample.zone, view: .owner, after: .start, baseline: .zero, limit: 1000)], bytesMax: .max)[0]
                    .entries
                    .count
            }
        }
        #expect(count == 1000)
        #expect(store.statistics[.readsAtOnce] == 0)
        // The connection that stopped half-way stays usable.
        #expect(try await lookUp(["r7"], in: store).readsAtOnce == 1)
        await store.close()
    }

    @Test func `a connection serves on however often it was stopped in the middle of a read`() async throws {
        let folder = try TemporaryFolder(on: .disk)
        let store = try await filled(folder, count: 1000, bodyBytes: 10)
        // SQLite checks for an interrupt every thousand steps of a statement, counted over its runs; in time, also at
        // the end of a transaction.
        try await Turn.$current.withValue(Turn(asker: "_ann")) {
            for _ in 0..<600 {
                let hits = try await store.read { transaction in
                    try transaction.records(in: Sample.zone, after: nil, limit: 1000, bytesMax: .max).count
                }
                #expect(hits == 1000)
            }
        }
        #expect(store.statistics[.readsAtOnce] == 0)
        #expect(try await lookUp(["r7"], in: store).readsAtOnce == 1)
        await store.close()
    }

    @Test func `what the body throws is thrown once, and a closed store says so`() async throws {
        struct Refusal: Error {}
        let store = try await TemporarySQLiteStore()
        try await store.populate([Sample.put("r1", 1)])
        await Turn.$current.withValue(Turn(asker: "_ann")) {
            await #expect(throws: Refusal.self) { try await store.store.read { _ -> Int in throw Refusal() } }
            #expect(store.store.statistics[.readsAtOnce] == 1)
            await store.store.close()
            await #expect(throws: StoreError.closed) { try await store.store.read { try $0.databases([Sample.database]) } }
        }
    }

    /// Drops a file from the kernel's cache.
    private func forget(_ path: String) throws {
        let file = open(path, O_RDWR)
        try #require(file >= 0)
        defer { close(file) }
        try #require(fsync(file) == 0)
        try #require(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0)
    }
}
