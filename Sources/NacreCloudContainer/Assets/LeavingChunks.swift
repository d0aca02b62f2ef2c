import NacreCloudAccounts
import NacreCloudStorage
import NacreCloudWire
import NacreLocks

/// The mark of a chunk that a server removes where other servers have the same chunks. It is a row of the server's own
/// data, because a chunk without an asset belongs to no database.
///
/// Pins (`AssetReceiver`) keep a chunk that the same process is taking in. Between servers the order of two writes
/// does: a remover marks the chunk and then looks for rows that name it; a receiver writes its rows and then looks for
/// the mark. At least one of them sees the other. The mark outlives the removal, for a receiver that has put its chunk
/// before the removal and writes its rows after it.
///
/// A chunk leaves by one removal at a time: another one leaves it alone until `doubtSeconds` are over. A removal
/// changes its own mark alone, which it knows by its time.
struct LeavingChunk: Equatable, Sendable {
    enum State: UInt8 {
        /// No row named the chunk. A server may be taking it in, so it stays for now.
        case suspected = 1
        case leaving = 2
        /// The storage has answered that it is removed.
        case gone = 3
    }

    var state: State
    var since: Timestamp

    /// Seconds after which a removal is over whose end nobody has noted. On this server: longer than a request that was
    /// given up may be on its way to a bucket.
    static let doubtSeconds: Double = 120
    /// Seconds that a chunk is suspected before a sweep removes it. On this server: most files are sent within an hour.
    static let patienceSeconds: Double = 3600
    /// Seconds that a mark is kept: longer than a file can be on its way.
    static let keptSeconds = 2 * Limits.assetGraceSeconds

    private static let version: UInt8 = 1

    func row(of chunk: ChunkName, in database: DatabaseID) -> EntryRow {
        var writer = ByteWriter()
        writer.byte(Self.version)
        writer.byte(state.rawValue)
        writer.double(since.secondsSince2001)
        return EntryRow(key: Self.key(of: chunk, in: database), value: writer.bytes, expires: since + Self.keptSeconds)
    }

    static func key(of chunk: ChunkName, in database: DatabaseID) -> EntryKey { EntryKey(database, .leavingChunk, chunk.text) }

    init(_ state: State, since: Timestamp) {
        (self.state, self.since) = (state, since)
    }

    /// - Throws: `StoreError.corrupt` where the row is not as it was written.
    init(_ row: EntryRow) throws {
        let damaged = StoreError(.corrupt, "The mark of a chunk is not what was written", ["chunk": row.key.key])
        do {
            var reader = ByteReader(row.value)
            guard try reader.byte() == Self.version, let state = State(rawValue: try reader.byte()) else { throw damaged }
            self.init(state, since: Timestamp(secondsSince2001: try reader.double()))
        } catch {
            throw damaged
        }
    }

    fileprivate static func marks(
        of names: [ChunkName], in database: DatabaseID, _ transaction: any ReadTransaction
    ) throws -> [ChunkName: LeavingChunk] {
        let rows = try transaction.entries(in: database, .leavingChunk, keys: names.map(\.text))
        var marks: [ChunkName: LeavingChunk] = [:]
        for row in rows { if let name = ChunkName(text: row.key.key) { marks[name] = try LeavingChunk(row) } }
        return marks
    }

    /// Whether the chunk may be removed from now on, even if it is there again at this moment.
    func mayStillGo(at now: Timestamp) -> Bool { state == .leaving && now < since + Self.doubtSeconds }
}

extension Cloud {
    /// On this server: marks of one transaction.
    private static let marksTogether = 500

    /// Removes chunks that are not needed from the storage. Costs further calls of the store where other servers have
    /// the same chunks: marks are written before a removal, and once it is done.
    /// - Parameters:
    ///   - patience: seconds for which no server must have needed a chunk, where there are several.
    ///   - needed: returns the chunks among these that rows name. May be called twice.
    /// - Returns: the chunks that were removed, or were not there.
    @discardableResult
    func removeChunks(
        _ names: [ChunkName], after patience: Double = 0, unless needed: @Sendable ([ChunkName]) async throws -> Set<ChunkName>
    ) async throws -> Set<ChunkName> {
        let removal = Locked<(chunks: [ChunkName], mark: LeavingChunk?)>(([], nil))
        let isAlone = store.neighbours == nil
        try await assetStorage().remove(names) { names in
            var kept = try await needed(names)
            var free = names.filter { !kept.contains($0) }
            var mark: LeavingChunk?
            if !isAlone, !free.isEmpty {
                let mine = LeavingChunk(.leaving, since: self.clock())
                let going = try await self.markLeaving(free, mine, after: patience)
                kept.formUnion(Set(free).subtracting(going))
                let found = going.isEmpty ? [] : try await needed(going)
                try await self.change(Array(found), to: nil) { $0 == mine }
                kept.formUnion(found)
                free = going.filter { !found.contains($0) }
                mark = mine
            }
            removal.withLock { [free, mark] in $0 = (free, mark) }
            return kept
        }
        let (gone, mine) = removal.withLock { $0 }
        if let mine { try await change(gone, to: LeavingChunk(.gone, since: clock())) { $0 == mine } }
        return Set(gone)
    }

    /// Marks chunks that no row names.
    /// - Returns: those that have this removal's mark; the others are suspected, or leave by another removal.
    private func markLeaving(_ names: [ChunkName], _ mark: LeavingChunk, after patience: Double) async throws -> [ChunkName] {
        let known = patience > 0 ? try await marks(of: names) : [:]
        let going = names.filter { name in patience <= 0 || known[name].map { $0.since + patience <= mark.since } ?? false }
        let new = Set(names).subtracting(going).filter { known[$0] == nil }
        try await change(Array(new), to: LeavingChunk(.suspected, since: mark.since)) { $0 == nil }
        return try await change(going, to: mark) { $0.map { !$0.mayStillGo(at: mark.since) } ?? true }
    }

    /// Gives chunks another mark in place of one that may be changed. The lock of the server's data makes removals
    /// change marks one after another.
    /// - Parameters:
    ///   - next: nil: the mark is removed.
    ///   - mayChange: says it of the mark that a chunk has.
    /// - Returns: the chunks whose mark was changed.
    @discardableResult
    private func change(
        _ names: [ChunkName], to next: LeavingChunk?, where mayChange: @escaping @Sendable (LeavingChunk?) -> Bool
    ) async throws -> [ChunkName] {
        var changed: [ChunkName] = []
        var rest = names[...]
        while !rest.isEmpty {
            let some = Array(rest.prefix(Self.marksTogether))
            rest = rest.dropFirst(Self.marksTogether)
            changed += try await registry.write(.server) { database, _, transaction in
                let marks = try LeavingChunk.marks(of: some, in: database, transaction)
                let free = some.filter { mayChange(marks[$0]) }
                if free.isEmpty { return .rollback([]) }
                var plan = WritePlan()
                if let next {
                    plan.entries = free.map { next.row(of: $0, in: database) }
                } else {
                    plan.entriesRemoved = free.map { LeavingChunk.key(of: $0, in: database) }
                }
                try transaction.apply(plan)
                return .commit(free)
            }
        }
        return changed
    }

    private func marks(of names: [ChunkName]) async throws -> [ChunkName: LeavingChunk] {
        let database = try await registry.databaseID(Registry.Part.server.key)
        return try await store.read { try LeavingChunk.marks(of: names, in: database, $0) }
    }

    /// Whether all chunks are there of an asset whose rows are written, and no other server is removing one. Costs a
    /// call of the store where other servers have the same chunks, and a read of each chunk that was being removed
    /// while it came.
    func isWhole(_ asset: StoredAsset, in database: DatabaseID) async throws -> Bool {
        guard store.neighbours != nil, !asset.chunks.isEmpty else { return true }
        let chunks = Set(asset.chunks)
        let (marks, now) = (try await marks(of: chunks.map(\.name)), clock())
        let doubtful = chunks.filter { marks[$0.name].map { $0.state != .suspected } ?? false }
        if doubtful.contains(where: { marks[$0.name]?.mayStillGo(at: now) ?? false }) { return false }
        for chunk in doubtful {
            do {
                _ = try await assetStorage().chunk(chunk, under: try await chunkKey(of: database))
            } catch let error as StoreError where error.code == .corrupt {
                return false
            }
        }
        return true
    }
}

extension ServerError {
    static let chunkRemoved = ServerError(
        .tryAgainLater, "a part of the file was removed while it came, because no record had it before", native: .assetNotAvailable,
        remedy: "Send the file again.", retryAfter: 2)
}
