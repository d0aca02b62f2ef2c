import NacreCloudContainer
package import NacreCloudStorage
package import NacreCloudStore

/// The engines on which a guarantee of `Store` is tested: `@Test(arguments: Engine.allCases)`.
package enum Engine: String, CaseIterable, Sendable, CustomStringConvertible {
    case memory
    case sqlite
    /// Guarantees no more than `Store` does.
    case sideBySide
    case postgres

    /// The engines that need nothing of the machine.
    package static let embedded: [Engine] = [.memory, .sqlite, .sideBySide]

    /// Every engine; PostgreSQL where it is installed, or where every test must run.
    package static let allCases: [Engine] = embedded + (mayRun(PostgresServer.programs != nil) ? [.postgres] : [])

    /// Whether writes run one after the other. If so, the last runs of their bodies are in commit order.
    package var hasOneWriter: Bool { self == .memory || self == .sqlite }

    package var description: String { rawValue }

    /// Makes a new, empty store of this engine, with a temporary folder that is deleted with the store.
    package func makeStore(on place: TemporaryFolder.Place = .disk) async throws -> any Store {
        switch self {
        case .memory: MemoryStore()
        case .sqlite: try await TemporarySQLiteStore(on: place)
        case .sideBySide: SideBySideStore()
        case .postgres: try await TemporaryPostgresStore()
        }
    }
}

/// A SQLite store in a temporary folder.
package final class TemporarySQLiteStore: LayeredStore {
    package let store: SQLiteStore
    package let folder: TemporaryFolder
    package var below: any Store { store }

    /// Opens a store in the run of `MemoryStore`, unless the options draw another.
    package init(options: SQLiteOptions = .inFirstRun, on place: TemporaryFolder.Place = .disk) async throws {
        folder = try TemporaryFolder(on: place)
        store = try await SQLiteStore.open(folder: folder.path, options: options)
    }
}

extension SQLiteOptions {
    /// Options with which changes are numbered as in a `MemoryStore` and in the oldest files, and index rows are
    /// packed wherever a record has more than one.
    package static let inFirstRun: SQLiteOptions = {
        var options = SQLiteOptions()
        options.drawRun = { _ in Run.first }
        options.packing = .eager
        return options
    }()
}

extension PackingBound {
    /// Bounds that pack nearly everything, often, and into small blocks, as only large data does otherwise.
    package static let eager = PackingBound(rowsApart: 1, blockBytes: 120, idleBytes: 300, busyBytes: 600, fullBytes: 4000, smallWriteRows: 20)
}
