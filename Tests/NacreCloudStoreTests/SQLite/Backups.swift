import FoundationEssentials
import Glibc
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks
import Testing

@testable import NacreCloudStore

/// Tests of backups of an open store, and of a folder that is not open.
@Suite struct Backups {
    private static let body = [UInt8](repeating: 3, count: 3000)

    private func order(_ path: String, _ folder: String) -> BackupOrder { BackupOrder(path: path, folder: folder, nacre: "1.2.3") }

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    private func names(in folder: String) throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }

    /// Makes a store with so many records, and a folder for backups.
    private func populated(_ records: Int64) async throws -> (store: TemporarySQLiteStore, place: TemporaryFolder) {
        let store = try await TemporarySQLiteStore()
        try await store.populate((1...records).map { Sample.put("r\($0)", $0, body: Self.body) })
        return (store, try TemporaryFolder())
    }

    private func restored(_ path: String) async throws -> [String] {
        let folder = try TemporaryFolder()
        _ = try FolderRestore.restore(path, to: folder.path + "/data", replaces: false, BackupControl())
        let store = try await SQLiteStore.open(folder: folder.path + "/data")
        let names = try await store.names(limit: 10_000)
        await store.close()
        return names
    }

    @Test func `a backup holds one moment of a database that is written on and on, and says what it is`() async throws {
        let (store, place) = try await populated(400)
        let path = place.path + "/one.backup"
        let written = Locked<Int64>(400)
        let isDone = Locked(false)
        async let writing: Void = {
            while !isDone.withLock({ $0 }) {
                let next = written.withLock { $0 } + 1
                try await store.apply(WritePlan(\.records, [Sample.put("r\(next)", next, body: Self.body)]))
                written.withLock { $0 = next }
            }
        }()
        let before = written.withLock { $0 }
        let manifest = try await store.store.backUp(order(path, store.folder.path))
        let after = written.withLock { $0 }
        isDone.withLock { $0 = true }
        try await writing

        #expect(manifest.nacre == "1.2.3" && manifest.schemaVersion == Migration.current && manifest.databases == 1)
        #expect(manifest.folder == store.folder.path && UTCText.seconds(manifest.time) != nil)
        #expect(try BackupFile.verify(path) == manifest)
        #expect(mode(path) == 0o600)
        #expect(try names(in: place.path) == ["one.backup"])
        // Earlier acknowledged records are in it; of later ones a prefix without a gap.
        let found = try await restored(path)
        #expect((before...after + 1).contains(Int64(found.count)))
        #expect(found == (1...found.count).map { "r\($0)" })
        await store.close()
    }

    @Test func `a backup that is cancelled leaves nothing, and closing the store ends one that is under way`() async throws {
        let (store, place) = try await populated(400)
        for closes in [false, true] {
            let path = place.path + "/none.backup"
            let (reached, continuation) = AsyncStream.makeStream(of: Void.self)
            let mayGoOn = Signal()
            let isFirst = Locked(true)
            let control = BackupControl { _ in
                guard
                    isFirst.withLock({ isFirst in
                        defer { isFirst = false }
                        return isFirst
                    })
                else { return }
                continuation.finish()
                mayGoOn.wait()
            }
            async let result = Result { try await store.store.backUp(order(path, store.folder.path), control) }
            for await _ in reached {}
            #expect(try names(in: place.path) == ["none.backup.part"])
            await #expect { try await store.store.backUp(order(path + "2", store.folder.path)) } throws: { ($0 as? StoreError)?.code == .inUse }
            async let closed: Void = closes ? store.close() : control.cancel()
            while !control.isCancelled { await Task.yield() }
            mayGoOn.notify()
            await closed
            guard case .failure(let error) = await result else { return #expect(Bool(false), "it was made") }
            #expect(error as? StoreError == BackupControl.cancelled)
            #expect(try names(in: place.path) == [])
        }
    }

    @Test func `a backup is given up when the log is too long for it, and the log begins anew`() async throws {
        let (store, place) = try await populated(400)
        let isFirst = Locked(true)
        let (reached, continuation) = AsyncStream.makeStream(of: Void.self)
        let mayGoOn = Signal()
        let control = BackupControl { _ in
            guard
                isFirst.withLock({ isFirst in
                    defer { isFirst = false }
                    return isFirst
                })
            else { return }
            continuation.finish()
            mayGoOn.wait()
        }
        async let result = Result { try await store.store.backUp(order(place.path + "/x.backup", store.folder.path), control) }
        for await _ in reached {}
        // A write without room, as the writer sees it.
        try await store.store.limitFile(toPages: 1)
        await #expect {
            try await store.apply(WritePlan(\.records, [Sample.put("big", 9999, body: [UInt8](repeating: 1, count: 900_000))]))
        } throws: {
            ($0 as? StoreError)?.code == .full
        }
        mayGoOn.notify()
        guard case .failure(let error) = await result else { return #expect(Bool(false), "it was made") }
        #expect(error as? StoreError == BackupCopy.givenUp)
        #expect(try names(in: place.path) == [])
        await store.close()
    }

    @Test func `every altered byte and every cut is found`() async throws {
        let (store, place) = try await populated(50)
        let path = place.path + "/whole.backup"
        let manifest = try await store.store.backUp(order(path, store.folder.path))
        await store.close()
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        let end = Int(manifest.databaseBytes)
        var places = [0, 18, 100, end / 2, end - 1, end, end + 20, bytes.count - 60, bytes.count - 50, bytes.count - 20, bytes.count - 1]
        places += (0..<40).map { _ in .random(in: 0..<bytes.count) }
        let altered = place.path + "/altered.backup"
        for index in places {
            var copy = bytes
            copy[index] ^= 1 << UInt8.random(in: 0..<8)
            try Data(copy).write(to: URL(fileURLWithPath: altered))
            #expect(throws: (any Error).self, "byte \(index)") { try BackupFile.verify(altered) }
        }
        for length in [0, 1, 100, end, end + 10, bytes.count - 1] {
            try Data(bytes.prefix(length)).write(to: URL(fileURLWithPath: altered))
            #expect(throws: BackupFile.unfinished, "\(length) bytes") { try BackupFile.verify(altered) }
        }
        try Data(bytes + [0]).write(to: URL(fileURLWithPath: altered))
        #expect(throws: BackupFile.unfinished) { try BackupFile.verify(altered) }
        #expect(try BackupFile.verify(path) == manifest)
    }

    @Test func `nothing is overwritten, and what a process left behind that is gone is replaced`() async throws {
        let (store, place) = try await populated(5)
        let path = place.path + "/a.backup"
        try Data([1]).write(to: URL(fileURLWithPath: path))
        await #expect { try await store.store.backUp(order(path, store.folder.path)) } throws: { ($0 as? StoreError)?.values["path"] == path }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data([1]))
        unlink(path)
        try Data([2]).write(to: URL(fileURLWithPath: path + ".part"))
        _ = try await store.store.backUp(order(path, store.folder.path))
        #expect(try names(in: place.path) == ["a.backup"])
        await store.close()
    }

    @Test func `a folder without a server is backed up as it is, with its log, and not while a store has it`() async throws {
        let (store, place) = try await populated(20)
        #expect { try FolderBackup.create(order(place.path + "/x", store.folder.path), BackupControl()) } throws: {
            ($0 as? StoreError)?.code == .inUse
        }
        // A kill leaves the file and its log.
        let copy = place.path + "/killed"
        mkdir(copy, 0o700)
        for name in ["nacre.sqlite", "nacre.sqlite-wal"] {
            try FileManager.default.copyItem(atPath: store.folder.path + "/" + name, toPath: copy + "/" + name)
        }
        await store.close()
        _ = try FolderBackup.create(order(place.path + "/killed.backup", copy), BackupControl())
        #expect(try await restored(place.path + "/killed.backup").count == 20)
        #expect { try FolderBackup.create(order(place.path + "/y", place.path + "/nowhere"), BackupControl()) } throws: {
            ($0 as? StoreError)?.text == "There are no data here"
        }
        #expect(!FileManager.default.fileExists(atPath: place.path + "/nowhere"))
    }

    @Test func `a restore keeps what was there, and is refused without leave or while a store has the folder`() async throws {
        let (store, place) = try await populated(20)
        let path = place.path + "/twenty.backup"
        _ = try await store.store.backUp(order(path, store.folder.path))
        try await store.apply(WritePlan(\.records, [Sample.put("r21", 21)]))
        let folder = store.folder.path
        #expect { try FolderRestore.restore(path, to: folder, replaces: true, BackupControl()) } throws: { ($0 as? StoreError)?.code == .inUse }
        await store.close()
        #expect { try FolderRestore.restore(path, to: folder, replaces: false, BackupControl()) } throws: {
            ($0 as? StoreError)?.values["remedy"]?.contains("--replace") == true
        }
        let outcome = try FolderRestore.restore(path, to: folder, replaces: true, BackupControl())
        let replaced = try #require(outcome.replaced)
        #expect(try names(in: folder) == ["nacre.lock", "nacre.sqlite", String(replaced.split(separator: "/").last ?? "")])
        #expect(mode(folder + "/nacre.sqlite") == 0o600)
        for (folder, count) in [(folder, 20), (replaced, 21)] {
            let store = try await SQLiteStore.open(folder: folder)
            #expect(try await store.names().count == count)
            await store.close()
        }
    }

    @Test func `a restore that is interrupted leaves the data of before`() async throws {
        let (store, place) = try await populated(20)
        let path = place.path + "/twenty.backup"
        _ = try await store.store.backUp(order(path, store.folder.path))
        await store.close()
        let folder = store.folder.path
        let before = try names(in: folder)
        let holder = Locked<BackupControl?>(nil)
        let control = BackupControl { progress in
            if progress.phase == .copying { holder.withLock { $0 }?.cancel() }
        }
        holder.withLock { $0 = control }
        #expect(throws: BackupControl.cancelled) { try FolderRestore.restore(path, to: folder, replaces: true, control) }
        #expect(try names(in: folder) == before)
        holder.withLock { $0 = nil }
    }

    @Test func `a restore that did not finish refuses the folder until it is run again`() async throws {
        let (store, place) = try await populated(3)
        let path = place.path + "/three.backup"
        _ = try await store.store.backUp(order(path, store.folder.path))
        await store.close()
        try Data().write(to: URL(fileURLWithPath: store.folder.path + "/nacre-restore-unfinished"))
        await #expect { _ = try await SQLiteStore.open(folder: store.folder.path) } throws: {
            ($0 as? StoreError)?.values["remedy"]?.contains("nacre backup restore") == true
        }
        _ = try FolderRestore.restore(path, to: store.folder.path, replaces: true, BackupControl())
        await (try await SQLiteStore.open(folder: store.folder.path)).close()
    }

    @Test func `an older file is backed up before it is rewritten, and the newer one names the backup that goes back`() async throws {
        let folder = try TemporaryFolder()
        await (try await SQLiteStore.open(folder: folder.path)).close()
        let next = Migration.current + 1
        let migrations = Migration.all + [Migration(version: next, statements: [Statement("CREATE TABLE later (id INTEGER PRIMARY KEY) STRICT")])]
        let plan = try FolderMigration.plan(folder.path, migrations)
        #expect(plan.from == Migration.current && plan.to == next && plan.isNeeded && plan.bytes > 0)
        #expect(try folder.sql("PRAGMA user_version") == ["\(Migration.current)"])
        let events = Locked([String?]())
        var options = SQLiteOptions()
        options.migrations = migrations
        options.backsUpBeforeMigrationAs = "1.2.3"
        options.report = { event in
            if case .migrating(Migration.current, next, let backup) = event { events.withLock { $0.append(backup) } }
        }
        await (try await SQLiteStore.open(folder: folder.path, options: options)).close()
        let path = try #require(events.withLock { $0 }.first ?? nil)
        #expect(try BackupFile.verify(path).schemaVersion == Migration.current)
        await (try await SQLiteStore.open(folder: folder.path, options: options)).close()
        #expect(try events.withLock { $0 }.count == 1 && folder.sql("SELECT count(*) FROM later") == ["0"])

        await #expect { _ = try await SQLiteStore.open(folder: folder.path) } throws: {
            ($0 as? StoreError)?.code == .newerVersion && ($0 as? StoreError)?.values["backup"] == path
        }
        _ = try FolderRestore.restore(path, to: folder.path, replaces: true, BackupControl())
        #expect(try folder.sql("PRAGMA user_version") == ["\(Migration.current)"])
        await (try await SQLiteStore.open(folder: folder.path)).close()
    }

    @Test func `a file of before version 1 is refused with what to do, and stays as it is`() async throws {
        let folder = try TemporaryFolder()
        await (try await SQLiteStore.open(folder: folder.path)).close()
        try folder.sql("PRAGMA application_id = 1315005298")
        let bytes = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/nacre.sqlite"))
        await #expect { _ = try await SQLiteStore.open(folder: folder.path) } throws: {
            ($0 as? StoreError)?.values["remedy"]?.hasPrefix("begin with another folder") == true
        }
        #expect(throws: StoreError.self) { try FolderMigration.plan(folder.path) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path + "/nacre.sqlite")) == bytes)
    }
}
