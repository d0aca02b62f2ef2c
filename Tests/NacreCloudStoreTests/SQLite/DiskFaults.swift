import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks
import Testing

@Suite struct DiskFaults {
    private static let body = [UInt8](repeating: 7, count: 3000)

    private func code(_ result: Result<Void, any Error>) -> StoreError.Code? {
        guard case .failure(let error) = result else { return nil }
        return (error as? StoreError)?.code
    }

    @Test func `a file at its limit refuses writes, goes on reading, and takes writes again`() async throws {
        let store = try await TemporarySQLiteStore()
        try await store.populate([Sample.put("first", 1)])
        try await store.store.limitFile(toPages: 40)
        var failed: StoreError.Code?
        var written = 0
        while failed == nil, written < 200 {
            let name = "r\(written)"
            failed = code(await Result { try await store.apply(WritePlan(\.records, [Sample.put(name, 2, body: Self.body)])) })
            if failed == nil { written += 1 }
        }
        #expect(failed == .full)
        #expect(try await store.names(limit: 1000).count == written + 1)

        try await store.store.limitFile(toPages: 1000)
        try await store.apply(WritePlan(\.records, [Sample.put("after", 3, body: Self.body)]))
        #expect(try await store.names(limit: 1000).count == written + 2)
    }

    @Test func `a full disk refuses writes cleanly, goes on reading, and needs no restart`() async throws {
        let disk = try #require(FaultyDisk())
        var options = SQLiteOptions()
        options.vfs = disk.name
        let store = try await TemporarySQLiteStore(options: options)
        try await store.populate([Sample.put("first", 1)])
        disk.set(.full)
        let results = await withTaskGroup(of: Result<Void, any Error>.self) { group in
            for index in 0..<20 {
                group.addTask {
                    await Result { try await store.apply(WritePlan(\.records, [Sample.put("r\(index)", 2, body: Self.body)])) }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.allSatisfy { code($0) == .full })
        #expect(disk.faults > 0)
        #expect(try await store.names() == ["first"])

        disk.set(.none)
        try await store.apply(WritePlan(\.records, [Sample.put("after", 3, body: Self.body)]))
        #expect(try await store.names() == ["first", "after"])
        await store.close()
        let reopened = try await SQLiteStore.open(folder: store.folder.path)
        #expect(try await reopened.names() == ["first", "after"])
    }

    @Test func `a commit that fails once is replayed, and every request of its group is answered with the truth`() async throws {
        let disk = try #require(FaultyDisk())
        var options = SQLiteOptions()
        options.vfs = disk.name
        let store = try await TemporarySQLiteStore(options: options)
        try await store.populate()
        for round in 0..<20 {
            disk.set(.writeOnce)
            let results = await withTaskGroup(of: (String, Result<Void, any Error>).self) { group in
                for index in 0..<10 {
                    group.addTask {
                        let name = "\(round)-\(index)"
                        return (name, await Result { try await store.apply(WritePlan(\.records, [Sample.put(name, 1, body: Self.body)])) })
                    }
                }
                return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            let kept = Set(try await store.names(limit: 1000).filter { $0.hasPrefix("\(round)-") })
            let said = Set(results.filter { code($0.value) == nil }.map(\.key))
            #expect(kept == said)
            #expect(results.values.allSatisfy { code($0) == nil || code($0) == .unavailable })
            // A group of several is replayed and all succeed; a single write fails.
            #expect(said.count >= 9)
        }
        #expect(disk.faults == 20)
    }

    @Test func `a sync that fails stops writing for good, and says so once`() async throws {
        let disk = try #require(FaultyDisk())
        let losses = Locked([StoreError]())
        var options = SQLiteOptions()
        options.vfs = disk.name
        options.onFsyncFailure = { error in losses.withLock { $0.append(error) } }
        let store = try await TemporarySQLiteStore(options: options)
        try await store.populate([Sample.put("first", 1)])
        disk.set(.syncOnce)
        let failed = await Result { try await store.apply(WritePlan(\.records, [Sample.put("lost", 2)])) }
        #expect(code(failed) == .unavailable)
        // A second sync would succeed; the store does not try one any more.
        let later = await Result { try await store.apply(WritePlan(\.records, [Sample.put("later", 3)])) }
        #expect(code(later) == .unavailable)
        #expect(losses.withLock { $0 }.count == 1)
        #expect(try await store.names() == ["first"])
        await store.close()
    }

    @Test func `a sync that fails ends the process with code 70, unless told otherwise`() async throws {
        // Made here, not in the process that ends, which would leave it behind.
        let folder = try TemporaryFolder()
        let result = await #expect(processExitsWith: .exitCode(70), observing: [\.standardErrorContent]) { [path = folder.path as String] in
            let disk = try #require(FaultyDisk())
            var options = SQLiteOptions()
            options.vfs = disk.name
            let store = try await SQLiteStore.open(folder: path, options: options)
            try await store.populate()
            disk.set(.syncOnce)
            try await store.apply(WritePlan(\.records, [Sample.put("lost", 1)]))
        }
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.contains("nacre: the disk failed to keep what it was given (SQLite code 1034); stopping"))
    }
}
