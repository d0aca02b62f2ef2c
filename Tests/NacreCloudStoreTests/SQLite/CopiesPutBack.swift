import FoundationEssentials
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// Tests with an older copy of the data put back, in every usual way: clients that have seen lost changes are told,
/// and no save is overwritten.
@Suite struct CopiesPutBack {
    enum Way: String, CaseIterable, Sendable {
        /// The server is stopped, its folder copied, and put back later.
        case folderOfStoppedServer
        /// The folder is copied while the server runs, as a snapshot of the disk does.
        case folderOfRunningServer
        /// Only `nacre.sqlite` is copied, of a stopped server, and put back over that of a stopped server.
        case fileOverFile
        /// `nacre backup create` while the server runs, and `nacre backup restore`.
        case restoredByCommand
    }

    /// Whether the number of new changes is still below that of the lost ones when the old tokens are used.
    enum Asked: String, CaseIterable, Sendable {
        case atOnce, afterNewWrites
    }

    /// A device's tokens, tags and markers.
    private struct Memory {
        var zone: String
        var database: String
        var tag: String
        var marker: String?
    }

    /// A server on a folder, with its own clock and randomness.
    private struct Server {
        let store: SQLiteStore
        let ann: TestCloudUser

        init(_ folder: TemporaryFolder, seed: UInt64, options: SQLiteOptions = SQLiteOptions()) async throws {
            store = try await SQLiteStore.open(folder: folder.path, options: options)
            ann = TestCloud(store, seed: seed).user("_ann")
        }

        func save(_ names: [String], zone: String = "Z") async throws {
            for name in names { _ = try await ann.modify([.update(name, ["n": .int64(1)])], zone: zone) }
        }

        func page(after marker: String? = nil, zoneWide: Bool = false) async throws -> RecordsQueryResponse {
            let request = RecordsQueryRequest(
                query: Query(recordType: "Note", filters: [QueryFilter(.equals, fieldName: "n", value: .int64(1))]),
                zoneID: zoneWide ? nil : ZoneID(zoneName: "Z"), zoneWide: zoneWide, resultsLimit: 2, continuationMarker: marker)
            return try await ann.cloud.queryRecords(request, in: ann.target, by: ann.caller)
        }

        func memory() async throws -> Memory {
            Memory(
                zone: try await ann.changes("Z").syncToken, database: try await ann.databaseChanges().syncToken,
                tag: try await ann.lookup(["a0"], zone: "Z").first?.record?.recordChangeTag ?? "",
                marker: try await page().continuationMarker)
        }

        func names() async throws -> [String] {
            try await ann.changes("Z").records.compactMap(\.recordName)
        }
    }

    private static let old = (0..<5).map { "a\($0)" }
    private static let lost = (0..<20).map { "lost\($0)" }
    private static let new = (0..<40).map { "new\($0)" }

    /// Saves, copies, saves on, and puts the copy back.
    private static func putBack(
        _ way: Way, in folder: TemporaryFolder
    ) async throws -> (server: Server, kept: Memory, lost: Memory, wide: String?) {
        let copy = try TemporaryFolder()
        var server = try await Server(folder, seed: 1)
        try await server.ann.makeZone("Z")
        try await server.save(old)
        _ = try await server.ann.modify([.create("before")], zone: "Z", id: "op-before", digest: [1])
        let kept = try await server.memory()
        let backup = BackupOrder(path: copy.path + "/a.backup", folder: folder.path, nacre: "0")
        switch way {
        case .folderOfRunningServer: try copy.take(from: folder)
        case .restoredByCommand: _ = try await server.store.backUp(backup)
        case .folderOfStoppedServer, .fileOverFile:
            await server.store.close()
            try copy.take(from: folder)
            server = try await Server(folder, seed: 2)
        }
        try await server.save(lost)
        try await server.save(["a0"])
        _ = try await server.ann.modify([.create("lost")], zone: "Z", id: "op-lost", digest: [2])
        try await server.ann.makeZone("Lost")
        let lost = try await server.memory()
        let wide = try await server.page(zoneWide: true).continuationMarker
        await server.store.close()
        switch way {
        case .fileOverFile: try folder.take("nacre.sqlite", from: copy)
        case .restoredByCommand: _ = try FolderRestore.restore(backup.path, to: folder.path, replaces: true, BackupControl())
        case .folderOfStoppedServer, .folderOfRunningServer: try folder.take(from: copy)
        }
        return (try await Server(folder, seed: 3), kept, lost, wide)
    }

    @Test(arguments: Way.allCases, Asked.allCases)
    func `a token, tag, marker or operation of a lost state is told, never answered in part`(way: Way, asked: Asked) async throws {
        let folder = try TemporaryFolder()
        let (server, kept, lost, wide) = try await Self.putBack(way, in: folder)
        let ann = server.ann
        if asked == .afterNewWrites {
            try await server.save(Self.new)
            try await ann.makeZone("New1", "New2", "New3", "New4")
        }

        // Tokens.
        await #expect(performing: { try await ann.changes("Z", after: lost.zone) }, throws: isExpired)
        await #expect(performing: { try await ann.databaseChanges(after: lost.database) }, throws: isExpired)
        // Tags.
        let over = try await ann.modify([.make(.update, "a0", tag: lost.tag, ["n": .int64(9)])], zone: "Z").first
        #expect(over?.error?.code == .conflict, "\(String(describing: over))")
        // Markers.
        for marker in [lost.marker, wide] {
            let marker = try #require(marker)
            await #expect { try await server.page(after: marker, zoneWide: marker == wide) } throws: {
                ($0 as? ServerError)?.field == "continuationMarker"
            }
        }
        // Operations: a lost one is done once, and a kept one is not done again.
        for _ in 0..<2 {
            let again = try await ann.modify([.create("lost")], zone: "Z", id: "op-lost", digest: [2]).first
            #expect(again?.record != nil, "\(String(describing: again))")
            let before = try await ann.modify([.create("before")], zone: "Z", id: "op-before", digest: [1]).first
            #expect(before?.record != nil, "\(String(describing: before))")
        }

        // A client that saw only kept changes goes on from there, and gets exactly the changes since.
        let since = try await ann.changes("Z", after: kept.zone)
        #expect(Set(since.records.compactMap(\.recordName)) == Set((asked == .afterNewWrites ? Self.new : []) + ["lost"]))
        #expect(try await ann.databaseChanges(after: kept.database).zones.count == (asked == .afterNewWrites ? 5 : 1))
        #expect(try await server.page(after: kept.marker).records.isEmpty == false)
        let mine = try await ann.modify([.make(.update, "a0", tag: kept.tag, ["n": .int64(2)])], zone: "Z").first
        #expect(mine?.record != nil, "\(String(describing: mine))")
        #expect(try await server.names().contains { $0.hasPrefix("lost") && $0 != "lost" } == false)
        await server.store.close()
    }

    /// A kill leaves the log; then an older file replaces the one that it belongs to.
    /// - Parameter pagesInLog: With few, the log has restarted since, and has only a part of the saves.
    @Test(arguments: [2, 16_384] as [Int32])
    func `an older file under a newer log is refused`(pagesInLog: Int32) async throws {
        var options = SQLiteOptions()
        options.pagesInLog = pagesInLog
        let (folder, old, killed) = (try TemporaryFolder(), try TemporaryFolder(), try TemporaryFolder())
        var server = try await Server(folder, seed: 1)
        try await server.ann.makeZone("Z")
        try await server.save(Self.old)
        await server.store.close()
        try old.take(from: folder)
        server = try await Server(folder, seed: 2, options: options)
        try await server.save(Self.lost)
        try killed.take(from: folder)
        await server.store.close()

        // The folder as the kill left it is complete.
        let whole = try TemporaryFolder()
        try whole.take(from: killed)
        server = try await Server(whole, seed: 3)
        #expect(Set(try await server.names()) == Set(Self.old + Self.lost))
        await server.store.close()

        try killed.take("nacre.sqlite", from: old)
        for _ in 0..<2 {
            await #expect { try await SQLiteStore.open(folder: killed.path) } throws: {
                ($0 as? StoreError)?.code == .foreignLog
            }
        }
        // A backup would write the log into the file, and is refused too.
        let backup = BackupOrder(path: whole.path + "/a.backup", folder: killed.path, nacre: "0")
        #expect { try FolderBackup.create(backup, BackupControl()) } throws: { ($0 as? StoreError)?.code == .foreignLog }
        #expect { try FolderMigration.plan(killed.path) } throws: { ($0 as? StoreError)?.code == .foreignLog }
        await #expect(throws: StoreError.self) { try await SQLiteStore.open(folder: killed.path) }
        // The same where the whole old folder was copied over it.
        try killed.take("nacre.lock", from: old)
        await #expect(throws: StoreError.self) { try await SQLiteStore.open(folder: killed.path) }
        // The remedy of the error:
        for name in ["nacre.sqlite-wal", "nacre.sqlite-shm"] { try FileManager.default.removeItem(atPath: killed.path + "/" + name) }
        server = try await Server(killed, seed: 4)
        #expect(Set(try await server.names()) == Set(Self.old))
        await server.store.close()
    }

    @Test func `a client in the middle of a zone does not go on where what it has seen was lost`() async throws {
        let (folder, copy) = (try TemporaryFolder(), try TemporaryFolder())
        var server = try await Server(folder, seed: 1)
        try await server.ann.makeZone("Z")
        try await server.save(Self.old)
        await server.store.close()
        try copy.take(from: folder)
        server = try await Server(folder, seed: 2)
        // a1 moves to the end of the feed, and is not on the first page. After the copy is put back, it stands before
        // the end of that page.
        try await server.save(["a1"])
        let page = try await server.ann.changes("Z", limit: 3)
        #expect(page.records.compactMap(\.recordName) == ["a0", "a2", "a3"] && page.moreComing)
        await server.store.close()
        try folder.take(from: copy)
        server = try await Server(folder, seed: 3)
        let ann = server.ann
        await #expect(performing: { try await ann.changes("Z", after: page.syncToken) }, throws: isExpired)
        await server.store.close()
    }
}

/// Returns whether an error is "Change token expired", as the framework gets it.
private func isExpired(_ error: any Error) -> Bool {
    (error as? ServerError)?.nativeCode == NativeErrorCode.changeTokenExpired.rawValue
}
