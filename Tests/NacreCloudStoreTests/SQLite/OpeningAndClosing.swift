import CNacreSQLite
import FoundationEssentials
import Glibc
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@Suite struct OpeningAndClosing {
    private func open(_ path: String) async throws -> SQLiteStore { try await SQLiteStore.open(folder: path) }

    @Test func `what was written is there after closing and opening`() async throws {
        let folder = try TemporaryFolder()
        let first = try await open(folder.path)
        try await first.populate([Sample.put("note", 1, parent: "folder", body: [UInt8](repeating: 1, count: 5000))])
        try await first.apply(WritePlan(\.zonesChanged, [Sample.zone]))
        let feed = try await first.feed()
        await first.close()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["nacre.lock", "nacre.sqlite"])

        let second = try await open(folder.path)
        #expect(try await second.feed() == feed)
        #expect(try await second.read { try $0.zoneFeed(in: Sample.database, after: .start, limit: 9) }.map(\.feedSeq) == [1])
        await second.close()
    }

    @Test func `folders are made as needed, for their owner alone`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/a/b//data/"
        let store = try await open(path)
        try await store.populate()
        for made in ["/a", "/a/b", "/a/b/data"] {
            var status = stat()
            #expect(stat(folder.path + made, &status) == 0)
            #expect(status.st_mode & 0o777 == 0o700)
        }
        for file in ["nacre.lock", "nacre.sqlite", "nacre.sqlite-wal"] {
            var status = stat()
            #expect(stat(path + file, &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600)
        }
        await store.close()
    }

    @Test func `a second opening is refused and told who has the folder`() async throws {
        let folder = try TemporaryFolder()
        let store = try await open(folder.path)
        for _ in 0..<2 {
            do {
                _ = try await open(folder.path)
                Issue.record("The folder was opened twice")
            } catch let error as StoreError {
                #expect(error.code == .inUse)
                #expect(error.values["pid"] == String(getpid()))
            }
        }
        try await store.populate()
        await store.close()
        await (try await open(folder.path)).close()
    }

    @Test func `a closed store gives its folder free even if a child process still holds its files`() async throws {
        let folder = try TemporaryFolder()
        let store = try await open(folder.path)
        // A second descriptor of the same open file, as a fork makes of every one: closing the first does not release
        // the lock.
        let held = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }.filter { descriptor in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
            return target == folder.path + "/nacre.lock"
        }
        let copies = held.map { fcntl($0, F_DUPFD_CLOEXEC, 0) }
        #expect(copies.count == 1)
        await store.close()
        await (try await open(folder.path)).close()
        for copy in copies {
            close(copy)
        }
    }

    @Test func `another process that has the folder is named`() async throws {
        let folder = try TemporaryFolder()
        await (try await open(folder.path)).close()
        // `flock` holds the lock and writes its own pid into it, as a server would.
        let script = "exec 9>>\"$0/nacre.lock\"; flock 9; echo $$ > \"$0/nacre.lock\"; echo held; read line"
        let (pid, output, input) = try spawn(["/bin/bash", "-c", script, folder.path])
        defer { close(output) }
        var byte: UInt8 = 0
        while byte != UInt8(ascii: "\n") { try #require(read(output, &byte, 1) == 1) }
        await #expect { _ = try await open(folder.path) } throws: { error in
            (error as? StoreError)?.code == .inUse && (error as? StoreError)?.values["pid"] == String(pid)
        }
        close(input)
        waitpid(pid, nil, 0)
        await (try await open(folder.path)).close()
    }

    @Test func `a newer version is refused with both versions and what to do`() async throws {
        let folder = try TemporaryFolder()
        await (try await open(folder.path)).close()
        let current = try #require(try folder.sql("PRAGMA user_version").first)
        try folder.sql("PRAGMA user_version = 999")
        do {
            _ = try await open(folder.path)
            Issue.record("A newer version was opened")
        } catch let error as StoreError {
            #expect(error.code == .newerVersion)
            #expect(error.values["found"] == "999")
            #expect(error.values["supported"] == current)
            #expect(error.text.contains("start that version"))
        }
        // The refused opening left no claim behind, and nothing in the file.
        try folder.sql("PRAGMA user_version = \(current)")
        await (try await open(folder.path)).close()
    }

    @Test func `a file that is not a database, or not ours, is refused`() async throws {
        let garbage = try TemporaryFolder()
        try [UInt8](repeating: 0x41, count: 8192).withUnsafeBytes { bytes in
            try Data(bytes).write(to: URL(fileURLWithPath: garbage.path + "/nacre.sqlite"))
        }
        await #expect { _ = try await open(garbage.path) } throws: { ($0 as? StoreError)?.code == .corrupt }

        let foreign = try TemporaryFolder()
        try foreign.sql("CREATE TABLE theirs (x)")
        await #expect { _ = try await open(foreign.path) } throws: { ($0 as? StoreError)?.code == .corrupt }
    }

    @Test func `damage in the file is found when it is read, and said to be damage`() async throws {
        let folder = try TemporaryFolder()
        let store = try await open(folder.path)
        try await store.populate((1...300).map { Sample.put("r\($0)", $0, body: [UInt8](repeating: 5, count: 600)) })
        await store.close()
        let url = URL(fileURLWithPath: folder.path + "/nacre.sqlite")
        // Erases the head of the first page of every table and index.
        let pages = try folder.sql("SELECT rootpage FROM sqlite_schema").compactMap { Int($0) }
        var data = try Data(contentsOf: url)
        for page in pages.map({ ($0 - 1) * 4096 }) {
            data.replaceSubrange(page..<page + 12, with: [UInt8](repeating: 0xee, count: 12))
        }
        try data.write(to: url)
        let damaged = try await open(folder.path)
        await #expect { _ = try await damaged.feed() } throws: { ($0 as? StoreError)?.code == .corrupt }
        await #expect { try await damaged.populate() } throws: { ($0 as? StoreError)?.code == .corrupt }
        await damaged.close()
    }

    @Test func `a killed process leaves everything that was acknowledged`() async throws {
        let folder = try TemporaryFolder()
        let store = try await open(folder.path)
        try await store.populate()
        for index in 1...50 as ClosedRange<Int64> {
            try await store.apply(WritePlan(\.records, [Sample.put("r\(index)", index)]))
        }
        // The current state of the disk is that after a kill: file and log, without a close.
        let copy = try TemporaryFolder()
        for name in ["nacre.sqlite", "nacre.sqlite-wal"] {
            try FileManager.default.copyItem(atPath: folder.path + "/" + name, toPath: copy.path + "/" + name)
        }
        let found = try await open(copy.path)
        #expect(try await found.names() == (1...50).map { "r\($0)" })
        await found.close()
        await store.close()
    }

    @Test func `a store that nobody holds any more gives its folder free`() async throws {
        let folder = try TemporaryFolder()
        do {
            let store = try await open(folder.path)
            try await store.populate()
        }
        var reopened: SQLiteStore?
        while reopened == nil {
            reopened = try? await open(folder.path)
            await Task.yield()
        }
        #expect(try await reopened?.read { try $0.databases([Sample.database]) } == [Sample.databaseRow])
    }

    /// Starts a program with pipes to its input and from its output.
    private func spawn(_ arguments: [String]) throws -> (pid: pid_t, output: Int32, input: Int32) {
        var (toChild, fromChild): ([Int32], [Int32]) = ([0, 0], [0, 0])
        try #require(pipe(&toChild) == 0)
        try #require(pipe(&fromChild) == 0)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, toChild[0], 0)
        posix_spawn_file_actions_adddup2(&actions, fromChild[1], 1)
        for descriptor in toChild + fromChild {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        let words = arguments.map { strdup($0) } + [nil]
        defer {
            for word in words {
                free(word)
            }
        }
        var pid: pid_t = 0
        try #require(posix_spawn(&pid, arguments[0], &actions, nil, words, environ) == 0)
        close(toChild[0])
        close(fromChild[1])
        return (pid, fromChild[0], toChild[1])
    }
}
