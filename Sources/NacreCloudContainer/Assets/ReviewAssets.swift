package import NacreCloudStorage
import NacreCloudWire
import NacreLocks

/// A fault of kept assets.
package struct AssetFinding: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// A chunk, or the bytes of a small asset, are not as they were sent.
        case damaged
        case missing
        /// A chunk that no asset has.
        case orphaned
    }

    package var kind: Kind
    /// The database of the asset, as far as it is known; empty for an orphaned chunk.
    package var database = ""
    package var zone = ""
    package var record = ""
    package var field = ""
    /// The name of the chunk; empty for the bytes of a small asset.
    package var chunk = ""
    /// Bytes that the chunk or asset should have, or has.
    package var bytes: Int64 = 0
}

/// A position in a look at all assets: along the assets of all databases, then along the chunks by the first bytes of
/// their names.
package enum AssetCursor: Hashable, Sendable {
    /// In the next database.
    case database(after: Int64)
    /// Behind an asset of a database; an empty key is before them all.
    case asset(database: Int64, after: String)
    case part(UInt8)

    package static let start = AssetCursor.database(after: .min)
    package static let firstPart = AssetCursor.part(0)

    package var text: String {
        switch self {
        case .database(let id): "database:\(id)"
        case .asset(let database, let key): "asset:\(database):\(key)"
        case .part(let part): "part:\(part)"
        }
    }

    /// Returns nil for text that `text` did not make.
    package init?(text: String) {
        let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        switch (parts.first, parts.count) {
        case ("database", 2):
            guard let id = Int64(parts[1]) else { return nil }
            self = .database(after: id)
        case ("asset", 3):
            guard let id = Int64(parts[1]) else { return nil }
            self = .asset(database: id, after: parts[2])
        case ("part", 2):
            guard let part = UInt8(parts[1]) else { return nil }
            self = .part(part)
        default: return nil
        }
    }
}

/// The result of one step of a look at all assets.
package struct AssetSlice: Sendable {
    package var findings: [AssetFinding] = []
    package var assets = 0
    package var chunks = 0
    package var bytes: Int64 = 0
    /// The position of the next step; nil: that was the last.
    package var next: AssetCursor?
}

extension Cloud {
    /// Takes one step of a look at all assets. It reads one asset whole and checks its chunks against their names, or
    /// goes to the next database, or looks for orphaned chunks of one part.
    ///
    /// ```swift
    /// var cursor: AssetCursor? = .start
    /// while let here = cursor { cursor = try await cloud.verifyAssets(from: here).next }
    /// ```
    package func verifyAssets(from cursor: AssetCursor) async throws -> AssetSlice {
        switch cursor {
        case .database(let id): return try await nextDatabase(after: id)
        case .asset(let id, let key): return try await verifyAsset(after: key, in: DatabaseID(rawValue: id))
        case .part(let part):
            let found = try await collectAssets(in: part, removes: false)
            return AssetSlice(findings: found.findings, next: found.next)
        }
    }

    /// Takes one step of a search for chunks that no asset has, with the bytes that they take.
    /// - Parameter removes: whether they are removed.
    package func collectAssets(in part: UInt8, removes: Bool) async throws -> AssetSlice {
        let orphans = try await orphans(in: part, removes: removes)
        let findings = orphans.map { AssetFinding(kind: .orphaned, chunk: $0.name.text, bytes: Int64($0.size)) }
        return AssetSlice(
            findings: findings, chunks: orphans.count, bytes: findings.reduce(0) { $0 + $1.bytes }, next: part < .max ? .part(part + 1) : nil)
    }

    private func nextDatabase(after id: Int64) async throws -> AssetSlice {
        let found = try await stored {
            try await self.store.read { try $0.rows(of: .databases, after: .database(DatabaseID(rawValue: id)), limit: 1).first?.key.database }
        }
        guard let found else { return AssetSlice(next: .firstPart) }
        return AssetSlice(next: .asset(database: found.rawValue, after: ""))
    }

    private func verifyAsset(after key: String, in database: DatabaseID) async throws -> AssetSlice {
        let found: (asset: StoredAsset, inline: Int64?, name: String)?
        do {
            found = try await store.read { transaction in
                guard let row = try transaction.entries(in: database, .asset, after: key, limit: 1).first else { return nil }
                let asset = try StoredAsset(row)
                let inline = asset.chunks.isEmpty ? try transaction.entries(in: database, .assetBytes, keys: [asset.id.key]).first : nil
                let name = try transaction.databases([database]).first?.key.text
                return (asset, inline.map { Int64($0.value.count) }, name ?? String(database.rawValue))
            }
        } catch let error as StoreError where error.code == .corrupt {
            failed(error)
            // The row is damaged and does not name its asset; `nacre check` names the row.
            let finding = AssetFinding(kind: .damaged, database: String(database.rawValue))
            return AssetSlice(findings: [finding], next: .database(after: database.rawValue))
        }
        guard let (asset, inline, name) = found else { return AssetSlice(next: .database(after: database.rawValue)) }
        var slice = AssetSlice(assets: 1, bytes: asset.size, next: .asset(database: database.rawValue, after: asset.id.key))
        func add(_ kind: AssetFinding.Kind, _ chunk: AssetChunk?) {
            slice.findings.append(
                AssetFinding(
                    kind: kind, database: name, zone: asset.destination.zoneName, record: asset.destination.recordName,
                    field: asset.destination.fieldName,
                    chunk: chunk?.name.text ?? "", bytes: chunk.map { Int64($0.size) } ?? asset.size))
        }
        if asset.chunks.isEmpty {
            if inline == nil { add(.missing, nil) } else if inline != asset.size { add(.damaged, nil) }
            return slice
        }
        let storage = try assetStorage()
        let chunkKey = try await chunkKey(of: database)
        var seen: Set<AssetChunk> = []
        for chunk in asset.chunks where seen.insert(chunk).inserted {
            slice.chunks += 1
            do {
                _ = try await storage.chunk(chunk, under: chunkKey)
            } catch let error as StoreError where error.code == .corrupt {
                // The chunk may have gone with its asset while the others were read.
                guard try await isThere(asset.id, in: database) else { return AssetSlice(next: slice.next) }
                add(error.isMissingChunk ? .missing : .damaged, chunk)
            }
        }
        return slice
    }

    private func isThere(_ asset: AssetID, in database: DatabaseID) async throws -> Bool {
        try await stored { try await self.store.read { try !$0.entries(in: database, .asset, keys: [asset.key]).isEmpty } }
    }

    // MARK: Orphans

    /// Returns the chunks of one part that no asset and no upload has: those of a process that ended between keeping
    /// them and its commit.
    ///
    /// A chunk that no row of uses names is sought in all assets before it counts as an orphan: a lost row costs no
    /// file. The row is written anew then, and the log is told.
    ///
    /// With several servers on the same chunks, one of them may be taking an orphan in: it is removed by a look that
    /// comes an hour after another one found it, or later.
    ///
    /// Costs a look into the folder, and where it has chunks a call of the store for some hundred databases. Where no
    /// row names a chunk, it costs a look at all assets.
    /// - Parameter removes: whether they are removed.
    package func orphans(in part: UInt8, removes: Bool) async throws -> [AssetChunk] {
        let there = try await stored { try await self.assetStorage().chunks(in: part) }
        guard !there.isEmpty else { return [] }
        let orphans = Locked<Set<ChunkName>>([])
        let removed = try await stored {
            try await self.removeChunks(there.map(\.name), after: LeavingChunk.patienceSeconds) { names in
                var used = try await self.usedChunks(in: part)
                let unnamed = Set(names).subtracting(used)
                if !unnamed.isEmpty { used.formUnion(try await self.usedByAssets(of: unnamed)) }
                let free = Set(names).subtracting(used)
                orphans.withLock { $0 = free }
                return removes ? used : Set(names)
            }
        }
        let found = removes ? removed : orphans.withLock { $0 }
        return there.filter { found.contains($0.name) }
    }

    /// Returns the chunks among these that assets have although no row of uses names them. Writes these rows anew.
    private func usedByAssets(of names: Set<ChunkName>) async throws -> Set<ChunkName> {
        var used: Set<ChunkName> = []
        var cursor: AssetCursor? = .start
        while let here = cursor {
            let (next, found) = try await assetPage(at: here, having: names)
            for (asset, database) in found {
                let rows = try await stored {
                    try await self.store.write { transaction -> Ending<[EntryRow]> in
                        // The asset may have gone meanwhile, and its rows with it.
                        guard try !transaction.entries(in: database, .asset, keys: [asset.id.key]).isEmpty else { return .rollback([]) }
                        let uses = asset.uses(in: database)
                        let there = try transaction.entries(in: database, .chunkUse, keys: uses.map(\.key.key)).map(\.key)
                        let lost = uses.filter { !there.contains($0.key) }
                        var plan = WritePlan()
                        plan.entries = lost
                        try transaction.apply(plan)
                        return .commit(lost)
                    }
                }
                if !rows.isEmpty {
                    let values = ["asset": asset.id.key, "rows": String(rows.count)]
                    failed(StoreError(.corrupt, "Chunks of an asset were not noted as used, and are again", values))
                }
                used.formUnion(names.intersection(asset.chunks.map(\.name)))
            }
            cursor = next
        }
        return used
    }

    /// Reads a page of a database's assets, or goes to the next database.
    /// - Returns: the position behind the page, and the assets of the page that have one of the chunks.
    private func assetPage(
        at cursor: AssetCursor, having names: Set<ChunkName>
    ) async throws -> (next: AssetCursor?, found: [(StoredAsset, DatabaseID)]) {
        guard case .asset(let id, let key) = cursor else {
            guard case .database(let id) = cursor, case .asset(let next, _)? = try await nextDatabase(after: id).next else { return (nil, []) }
            return (.asset(database: next, after: ""), [])
        }
        let database = DatabaseID(rawValue: id)
        return try await stored {
            try await self.store.read { transaction in
                let page = try transaction.entries(in: database, .asset, after: key, limit: Limits.checkRows)
                let assets = try page.map { try StoredAsset($0) }
                let found = assets.filter { asset in asset.chunks.contains { names.contains($0.name) } }
                return (page.last.map { .asset(database: id, after: $0.key.key) } ?? .database(after: id), found.map { ($0, database) })
            }
        }
    }

    /// Returns the names of a part that assets have or announced files wait for, in all databases.
    private func usedChunks(in part: UInt8) async throws -> Set<ChunkName> {
        let prefix = HexText.encode([part])
        return try await store.eachDatabase { database, transaction in
            let names = try transaction.chunkUses(withPrefix: prefix, in: database).map(\.chunk)
            return try transaction.announcedChunks(withFirst: part, in: database).union(names)
        }.reduce(into: []) { $0.formUnion($1) }
    }
}

extension ReadTransaction {
    /// Returns the chunks that assets of a database have, each with the key of its asset, from one snapshot. Where a
    /// chunk goes from one asset to another, one of the two uses is seen.
    func chunkUses(withPrefix prefix: String, in database: DatabaseID) throws -> [(chunk: ChunkName, asset: String)] {
        var uses: [(chunk: ChunkName, asset: String)] = []
        var last = prefix
        while true {
            let page = try entries(in: database, .chunkUse, after: last, limit: Limits.checkRows).prefix { $0.key.key.hasPrefix(prefix) }
            for row in page {
                let parts = row.key.key.split(separator: "/", maxSplits: 1)
                if parts.count == 2, let name = ChunkName(text: parts[0]) { uses.append((name, String(parts[1]))) }
            }
            guard let next = page.last?.key.key else { return uses }
            last = next
        }
    }
}

extension EntryRow {
    /// The chunks that an asset's row names; nil: this is another row.
    /// - Throws: `StoreError.corrupt` where the row is not as it was written.
    package var assetChunks: [AssetChunk]? {
        get throws { key.kind == .asset ? try StoredAsset(self).chunks : nil }
    }
}
