package import NacreCloudContainer
package import NacreCloudStore

/// The engines that a promise of `Store` is tested on: `@Test(arguments: Engine.allCases)`.
package enum Engine: String, CaseIterable, Sendable, CustomStringConvertible {
    case memory
    case sqlite
    /// Gives no more than `Store` promises.
    case sideBySide

    /// Writes run one after the other, whatever they lock: their bodies' last runs are the order of their commits.
    package var hasOneWriter: Bool { self != .sideBySide }

    package var description: String { rawValue }

    /// A new, empty store of this engine, with a folder of its own that goes when the store does.
    package func makeStore(on place: TemporaryFolder.Place = .disk) async throws -> any Store {
        switch self {
        case .memory: MemoryStore()
        case .sqlite: try await TemporarySQLiteStore(on: place)
        case .sideBySide: SideBySideStore()
        }
    }
}

/// A SQLite store in a temporary folder.
package final class TemporarySQLiteStore: LayeredStore {
    package let store: SQLiteStore
    package let folder: TemporaryFolder
    package var below: any Store { store }

    /// In the run of `MemoryStore`, unless the options draw another.
    package init(options: SQLiteOptions = .inFirstRun, on place: TemporaryFolder.Place = .disk) async throws {
        folder = try TemporaryFolder(on: place)
        store = try await SQLiteStore.open(folder: folder.path, options: options)
    }
}

extension SQLiteOptions {
    /// Changes are numbered as those of a `MemoryStore` and of the oldest files, and rows of indexes are packed wherever a record has more than one.
    package static let inFirstRun: SQLiteOptions = {
        var options = SQLiteOptions()
        options.drawRun = { _ in Run.first }
        options.packing = .eager
        return options
    }()
}

extension PackingBound {
    /// Packs nearly everything, often, and into small blocks: what large data do becomes visible with little.
    package static let eager = PackingBound(rowsApart: 1, blockBytes: 120, idleBytes: 300, busyBytes: 600, fullBytes: 4000, smallWriteRows: 20)
}
