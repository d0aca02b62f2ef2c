import Glibc
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTestSupport
import NacreLocks
import Testing

/// Tests of a data folder that others can read or write.
@Suite struct PrivateFolder {
    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    private func open(_ path: String, _ events: Locked<[DataFolder.Findings]>) async throws -> SQLiteStore {
        var options = SQLiteOptions()
        options.report = { event in
            if case .wereOpen(let findings) = event { events.withLock { $0.append(findings) } }
        }
        return try await SQLiteStore.open(folder: path, options: options)
    }

    @Test func `what is open to others is closed, and each path is named once`() async throws {
        let parent = try TemporaryFolder()
        let folder = parent.path + "/data"
        let events = Locked([DataFolder.Findings]())
        await (try await open(folder, events)).close()
        #expect(events.withLock { $0 }.isEmpty)
        for name in ["admin.json", "nacre-20260101T000000Z.backup", "notes.txt"] {
            close(creat(folder + "/" + name, 0o644))
            chmod(folder + "/" + name, 0o644)
        }
        for (name, bits) in [("", 0o777), ("/nacre.sqlite", 0o644), ("/nacre.lock", 0o660)] as [(String, mode_t)] { chmod(folder + name, bits) }

        let store = try await open(folder, events)
        try await store.populate()
        #expect(mode(folder) == 0o700)
        for name in ["nacre.sqlite", "nacre.sqlite-wal", "nacre.lock", "admin.json", "nacre-20260101T000000Z.backup"] {
            #expect(mode(folder + "/" + name) == 0o600, "\(name)")
        }
        // Files that are not ours stay as they are.
        #expect(mode(folder + "/notes.txt") == 0o644)
        await store.close()
        let mended = [folder] + ["admin.json", "nacre-20260101T000000Z.backup", "nacre.lock", "nacre.sqlite"].map { folder + "/" + $0 }
        #expect(events.withLock { $0 }.map(\.mended) == [mended])
        #expect(events.withLock { $0 }.map(\.left) == [[]])
    }

    private func refusal(_ folder: String) async throws -> StoreError {
        do {
            await (try await SQLiteStore.open(folder: folder)).close()
        } catch let error as StoreError {
            return error
        }
        Issue.record("the folder was taken")
        return .closed
    }

    @Test func `a link in the place of a file is refused, with what to do`() async throws {
        for name in ["nacre.sqlite", "nacre.sqlite-wal", "nacre.lock", "admin.json"] {
            let parent = try TemporaryFolder()
            let (folder, elsewhere) = (parent.path + "/data", parent.path + "/elsewhere")
            await (try await SQLiteStore.open(folder: folder)).close()
            close(creat(elsewhere, 0o600))
            unlink(folder + "/" + name)
            symlink(elsewhere, folder + "/" + name)
            let error = try await refusal(folder)
            #expect(error.values["path"] == folder + "/" + name)
            #expect(error.values["remedy"]?.contains("cp --remove-destination") == true)
            #expect(mode(elsewhere) == 0o600)
        }
    }

    @Test func `a folder below one that others can write is refused, and below a sticky one it is not`() async throws {
        let parent = try TemporaryFolder()
        let folder = parent.path + "/data"
        chmod(parent.path, 0o777)
        let error = try await refusal(folder)
        #expect(error.values["path"] == parent.path)
        #expect(error.values["remedy"]?.hasPrefix("chmod go-w \(parent.path)") == true)
        // The folder above is not ours to change.
        #expect(mode(parent.path) == 0o777)
        chmod(parent.path, 0o1777)
        await (try await SQLiteStore.open(folder: folder)).close()
        chmod(parent.path, 0o700)
    }

    @Test(.enabled(if: mayRun(getuid() == 0), "needs root, to give a file away"))
    func `data of another user are refused, with what to do`() async throws {
        for name in ["", "/nacre.sqlite"] {
            let parent = try TemporaryFolder()
            let folder = parent.path + "/data"
            await (try await SQLiteStore.open(folder: folder)).close()
            chown(folder + name, 65534, 65534)
            let error = try await refusal(folder)
            #expect(error.values["path"] == folder + name)
            #expect(error.values["remedy"]?.hasPrefix("chown -R ") == true)
        }
    }
}
