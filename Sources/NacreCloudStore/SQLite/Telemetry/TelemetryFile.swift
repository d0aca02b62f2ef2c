package import NacreCloudStorage
import NacreLocks

/// The file `telemetry.sqlite` of a data folder, or the same in memory. It is no part of the store: it has a thread and
/// a connection of its own, is not backed up, and may be deleted while no server runs.
///
/// The file is opened by the first transaction, and again after each error of the disk. A damaged file, and one of
/// another version, are replaced by an empty one.
package final class TelemetryFile: TelemetryStorage {
    private let path: String?
    private let vfs: String?
    /// The thread, which the first transaction starts.
    private let thread = Locked<FileThreads?>(nil)
    private let connection = Locked<Connection?>(nil)

    /// - Parameter folder: the data folder; nil: in memory.
    package init(folder: String?, vfs: String? = nil) {
        (path, self.vfs) = (folder.map { $0 + "/" + Self.name }, vfs)
    }

    /// The file's name in a data folder.
    package static let name = "telemetry.sqlite"

    package func transaction<Value: Sendable>(
        _ body: @escaping @Sendable (any TelemetryTable) throws -> Value, ended: @escaping @Sendable (Bool) -> Void
    ) async throws -> Value {
        let thread = try self.thread.withLock { thread in
            let started = try thread ?? FileThreads(count: 1)
            thread = started
            return started
        }
        return try await thread.run { [self] in
            try connection.withLock { connection in
                do {
                    let open = try connection ?? Self.kind.open(path, vfs: vfs)
                    connection = open
                    let value = try Self.transaction(on: open, body)
                    ended(true)
                    return value
                } catch {
                    ended(false)
                    let error = StoreError(error)
                    // A file in memory would be lost with its connection, and has no disk that could fail.
                    if path != nil {
                        connection?.close()
                        connection = nil
                    }
                    if error.code == .corrupt, let path { SideFile.remove(path) }
                    throw error
                }
            }
        }
    }

    package func close() async {
        await thread.withLock { $0 }?.close()
        connection.withLock { connection in
            connection?.close()
            connection = nil
        }
    }

    private static func transaction<Value>(on connection: Connection, _ body: (any TelemetryTable) throws -> Value) throws -> Value {
        try connection.run(.beginWrite)
        do {
            let value = try body(SQLiteTelemetry(connection: connection))
            try connection.run(.commit)
            return value
        } catch {
            connection.abandonTransaction()
            throw error
        }
    }

    /// "NcrT" as a number marks the file. Removed salts are overwritten, and without a write-ahead log no copy of them
    /// stays beside the file.
    private static let kind = SideFile(
        mark: 1_315_140_180, version: 2, tables: tables, settings: ["secure_delete = ON", "journal_mode = TRUNCATE"])

    private static let tables = [
        Statement(
            """
            CREATE TABLE sums (
                tier INTEGER NOT NULL, slot INTEGER NOT NULL, series TEXT NOT NULL, state INTEGER NOT NULL, bytes BLOB NOT NULL,
                PRIMARY KEY (tier, slot, series)) STRICT, WITHOUT ROWID
            """),
        Statement("CREATE INDEX sums_open ON sums (tier, slot, series) WHERE state = 0"),
        // `made` is the order in which slots are removed. `bytes` and `series` are those of the slot's rows.
        Statement(
            """
            CREATE TABLE slots (
                tier INTEGER NOT NULL, slot INTEGER NOT NULL, made INTEGER NOT NULL, series INTEGER NOT NULL, bytes INTEGER NOT NULL,
                PRIMARY KEY (tier, slot)) STRICT, WITHOUT ROWID
            """),
        Statement("CREATE UNIQUE INDEX slots_made ON slots (made)"),
        Statement("CREATE TABLE salts (period TEXT NOT NULL PRIMARY KEY, id INTEGER NOT NULL, key BLOB NOT NULL) STRICT, WITHOUT ROWID"),
    ]
}

/// The tables of telemetry in one transaction.
private struct SQLiteTelemetry: TelemetryTable {
    let connection: Connection

    func entry(at key: TelemetryKey) throws -> TelemetryEntry? {
        try connection.use(.telemetryRow) { statement in
            statement.bind(key)
            guard try statement.step() else { return nil }
            return TelemetryEntry(state: statement.state(), bytes: statement.bytes())
        }
    }

    func put(_ entry: TelemetryEntry, at key: TelemetryKey) throws {
        let old = try self.entry(at: key)
        try connection.use(.telemetrySlotMake) { statement in
            statement.bind(key.tier, key.slot)
            _ = try statement.step()
        }
        try connection.use(.telemetryRowPut) { statement in
            statement.bind(key)
            statement.bind(entry.state.rawValue)
            try entry.bytes.withUnsafeBufferPointer { bytes in
                statement.bind(borrowed: bytes)
                _ = try statement.step()
            }
        }
        try connection.use(.telemetrySlotGrow) { statement in
            statement.bind(key.tier, key.slot)
            statement.bind(old == nil ? 1 : 0)
            statement.bind(entry.bytes.count - (old?.bytes.count ?? -key.series.utf8.count))
            _ = try statement.step()
        }
    }

    func eachEntry(of tier: TelemetryTier, slots: ClosedRange<Int64>, _ body: (TelemetryKey, TelemetryEntry) throws -> Void) throws {
        try connection.use(.telemetryRows) { statement in
            statement.bind(tier, slots.lowerBound)
            statement.bind(slots.upperBound)
            while try statement.step() {
                let key = TelemetryKey(tier, statement.integer(), statement.string())
                try body(key, TelemetryEntry(state: statement.state(), bytes: statement.bytes()))
            }
        }
    }

    func openEntries(of tier: TelemetryTier, before slot: Int64) throws -> [(key: TelemetryKey, entry: TelemetryEntry)] {
        try connection.use(.telemetryOpenRows) { statement in
            statement.bind(tier, slot)
            var rows: [(key: TelemetryKey, entry: TelemetryEntry)] = []
            while try statement.step() {
                let key = TelemetryKey(tier, statement.integer(), statement.string())
                rows.append((key, TelemetryEntry(state: .open, bytes: statement.bytes())))
            }
            return rows
        }
    }

    func seriesCount(of tier: TelemetryTier, _ slot: Int64) throws -> Int {
        try connection.use(.telemetrySeriesCount) { statement in
            statement.bind(tier, slot)
            return try statement.step() ? Int(statement.integer()) : 0
        }
    }

    func usage(of tier: TelemetryTier) throws -> (slots: Int, bytes: Int) {
        try connection.use(.telemetryUsage) { statement in
            statement.bind(tier.rawValue)
            guard try statement.step() else { return (0, 0) }
            return (Int(statement.integer()), Int(statement.integer()))
        }
    }

    func firstMadeSlot(of tier: TelemetryTier) throws -> Int64? {
        try connection.use(.telemetryFirstSlot) { statement in
            statement.bind(tier.rawValue)
            return try statement.step() ? statement.integer() : nil
        }
    }

    func remove(_ tier: TelemetryTier, _ slot: Int64) throws {
        for removal in [Statement.telemetryRowsRemove, .telemetrySlotRemove] {
            try connection.use(removal) { statement in
                statement.bind(tier, slot)
                _ = try statement.step()
            }
        }
    }

    func salts() throws -> [String: TelemetrySalt] {
        try connection.use(.telemetrySalts) { statement in
            var salts: [String: TelemetrySalt] = [:]
            while try statement.step() { salts[statement.string()] = TelemetrySalt(id: statement.integer(), key: statement.bytes()) }
            return salts
        }
    }

    func setSalts(_ salts: [String: TelemetrySalt]) throws {
        try connection.run(.telemetrySaltsRemove)
        for (period, salt) in salts {
            try connection.use(.telemetrySaltPut) { statement in
                statement.bind(period)
                statement.bind(salt.id)
                try salt.key.withUnsafeBufferPointer { bytes in
                    statement.bind(borrowed: bytes)
                    _ = try statement.step()
                }
            }
        }
    }
}

extension PreparedStatement {
    fileprivate func bind(_ tier: TelemetryTier, _ slot: Int64) {
        bind(tier.rawValue)
        bind(slot)
    }

    fileprivate func bind(_ key: TelemetryKey) {
        bind(key.tier, key.slot)
        bind(key.series)
    }

    /// The state of a row; one that is unknown counts as hidden.
    fileprivate func state() -> TelemetryEntry.State { TelemetryEntry.State(rawValue: Int(integer())) ?? .hidden }
}
