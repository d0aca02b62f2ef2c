import FoundationEssentials
import NacreCloudContainer
package import NacreCloudStorage
package import NacreCloudStore
import NacreLocks
import NacrePostgres

/// A store of any engine that a test closes and reopens, and to which it restores copies.
///
/// Each opening has the run that the test names.
package final class ReopenableStore: LayeredStore {
    /// The stored data of an earlier time.
    package enum Copy: Sendable {
        case memory(MemoryCopy)
        case folder(TemporaryFolder)
    }

    private enum Kept: Sendable {
        case memory(MemoryStore)
        case sqlite(SQLiteStore)
        case postgres(PostgresStore, PostgresServer, database: String)
    }

    private let folder: TemporaryFolder
    private let kept: Locked<Kept>
    private let engine: Engine

    package init(_ engine: Engine, run: Int64) async throws {
        self.engine = engine
        folder = try TemporaryFolder(on: .memory)
        switch engine {
        case .memory, .sideBySide: kept = Locked(.memory(MemoryStore(run: run)))
        case .sqlite: kept = Locked(.sqlite(try await Self.open(folder, run: run)))
        case .postgres:
            let server = try await PostgresServer.shared
            let database = try await server.makeDatabase()
            kept = Locked(.postgres(try await Self.open(database, of: server, run: run), server, database: database))
        }
    }

    private static func open(_ folder: TemporaryFolder, run: Int64) async throws -> SQLiteStore {
        var options = SQLiteOptions()
        options.drawRun = { _ in run }
        return try await SQLiteStore.open(folder: folder.path, options: options)
    }

    private static func open(_ database: String, of server: PostgresServer, run: Int64) async throws -> PostgresStore {
        var options = PostgresOptions.inFirstRun
        options.run = run
        return try await PostgresStore.open(server.url(database), options: options)
    }

    deinit {
        if case .postgres(_, let server, let database) = kept.withLock({ $0 }) { server.dropDatabase(database) }
    }

    package func reopen(run: Int64) async throws {
        switch kept.withLock({ $0 }) {
        case .memory(let store): store.beginRun(run)
        case .sqlite(let store):
            await store.close()
            let opened = try await Self.open(folder, run: run)
            kept.withLock { $0 = .sqlite(opened) }
        case .postgres(let store, let server, let database):
            await store.close()
            let opened = try await Self.open(database, of: server, run: run)
            kept.withLock { $0 = .postgres(opened, server, database: database) }
        }
    }

    /// Bytes of its files on the disk; 0 in memory.
    package var folderBytes: Int {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.reduce(0) { sum, name in
            let attributes = try? FileManager.default.attributesOfItem(atPath: folder.path + "/" + name)
            return sum + (attributes?[.size] as? Int ?? 0)
        }
    }

    /// Returns a copy of the stored data, taken while the store is open and without writers.
    package func copy() throws -> Copy? {
        switch kept.withLock({ $0 }) {
        case .memory(let store): return store.copy.map(Copy.memory)
        case .sqlite:
            let copy = try TemporaryFolder(on: .memory)
            try copy.take(from: folder)
            return .folder(copy)
        case .postgres: throw StoreError(.unavailable, "A copy of a database on PostgreSQL is made by its own programs")
        }
    }

    /// Closes the store, replaces its data by the copy, and opens it.
    package func putBack(_ copy: Copy, run: Int64) async throws {
        switch (copy, kept.withLock { $0 }) {
        case (.memory(let copy), _): kept.withLock { $0 = .memory(MemoryStore(copy, run: run)) }
        case (.folder(let copy), let current):
            if case .sqlite(let store) = current { await store.close() }
            try folder.take(from: copy)
            let opened = try await Self.open(folder, run: run)
            kept.withLock { $0 = .sqlite(opened) }
        }
    }

    package var below: any Store {
        switch kept.withLock({ $0 }) {
        case .memory(let store): engine == .sideBySide ? SideBySideStore(store) : store
        case .sqlite(let store): store
        case .postgres(let store, _, _): store
        }
    }
}

extension TemporaryFolder {
    /// Replaces all files of this folder by those of `other`.
    package func take(from other: TemporaryFolder) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: path) {
            try FileManager.default.removeItem(atPath: path + "/" + name)
        }
        for name in try FileManager.default.contentsOfDirectory(atPath: other.path) {
            try take(name, from: other)
        }
    }

    /// Replaces one file of this folder by that of `other`.
    package func take(_ name: String, from other: TemporaryFolder) throws {
        let place = path + "/" + name
        if FileManager.default.fileExists(atPath: place) { try FileManager.default.removeItem(atPath: place) }
        // Read to its end: `copyItem` of a file that shrinks meanwhile, as a log does, never ends.
        let source = URL(fileURLWithPath: other.path + "/" + name)
        let permissions = try FileManager.default.attributesOfItem(atPath: source.path)[.posixPermissions]
        try Data(contentsOf: source).write(to: URL(fileURLWithPath: place))
        if let permissions { try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: place) }
    }
}
