package import NacreCloudStorage
package import NacreCloudWire

/// The task that removes old assets that no record has, and then their chunks that no other asset has.
///
/// The task decides under the lock of the zone, as a save does. A save that came before has put the asset into its
/// record, and one that comes after does not find it any more.
package struct CollectAssets: TaskHandler {
    private var zone: ZoneAddress
    private var zoneName: String
    /// Assets and announced files that are still to be looked at.
    private var assets: [String]
    /// Chunks of assets that were removed.
    private var chunks: [ChunkName] = []

    /// On this server: assets of one chunk of work. Each asset may have thousands of chunks.
    private static let assetsPerChunk = 10
    private static let chunksPerChunk = 200

    /// Returns the task that looks at assets of a zone when they may be old.
    package static func task(for assets: [AssetID], of zone: ZoneRow, due: Timestamp) -> TaskRow {
        let keys = assets.map(\.key).sorted()
        let work = CollectAssets(zone: zone.address, zoneName: zone.name, assets: keys)
        // One commit releases an asset once, so that the time tells two tasks of it apart.
        let name = "\(keys.first ?? ""):\(keys.count):\(Int64(due.millisecondsSince1970))"
        return TaskRow(key: TaskKey(zone.address.database, .collectAssets, name), payload: work.payload, due: due)
    }

    /// Returns the task that looks at the chunks of assets whose rows go with their zone.
    package static func task(forChunksOf assets: [StoredAsset], in zone: ZoneAddress, due: Timestamp) -> TaskRow {
        var work = CollectAssets(zone: zone, zoneName: "", assets: [])
        work.chunks = Array(Set(assets.flatMap { $0.chunks.map(\.name) }))
        let name = "\(assets.first?.id.key ?? ""):zone"
        return TaskRow(key: TaskKey(zone.database, .collectAssets, name), payload: work.payload, due: due)
    }

    /// Returns the task that looks at an announced file when it may be old.
    package static func task(for announced: AnnouncedUploadID, of zone: ZoneRow, due: Timestamp) -> TaskRow {
        let work = CollectAssets(zone: zone.address, zoneName: zone.name, assets: [announced.key])
        return TaskRow(key: TaskKey(zone.address.database, .collectAssets, "\(announced.key):announced"), payload: work.payload, due: due)
    }

    private init(zone: ZoneAddress, zoneName: String, assets: [String]) {
        self.zone = zone
        self.zoneName = zoneName
        self.assets = assets
    }

    package init(_ task: TaskRow) throws {
        do {
            var reader = ByteReader(task.payload)
            zone = ZoneAddress(database: task.key.database, zone: try reader.signed())
            zoneName = try reader.string()
            assets = []
            for _ in 0..<(try reader.count()) { assets.append(try reader.string()) }
            for _ in 0..<(try reader.count()) { chunks.append(ChunkName(try reader.block())) }
        } catch {
            throw task.malformed
        }
    }

    package var payload: [UInt8] {
        var writer = ByteWriter()
        writer.signed(zone.zone)
        writer.string(zoneName)
        writer.number(UInt64(assets.count))
        for asset in assets { writer.string(asset) }
        writer.number(UInt64(chunks.count))
        for chunk in chunks { writer.block(chunk.bytes) }
        return writer.bytes
    }

    package mutating func chunk(_ leased: LeasedTask) async throws -> Bool {
        if chunks.isEmpty {
            self = try await removeRows(leased)
        } else {
            try await removeChunks(leased)
        }
        let isDone = assets.isEmpty && chunks.isEmpty
        if isDone {
            try await leased.cloud.store.write { transaction in
                try leased.requireLease(transaction)
                try transaction.apply(WritePlan(finishing: leased.key))
                return .commit(())
            }
        }
        return !isDone
    }

    /// Removes the rows of the next assets that may go.
    /// - Returns: the work that is left, which the same transaction stores.
    private func removeRows(_ leased: LeasedTask) async throws -> CollectAssets {
        let now = leased.cloud.clock()
        let work = self
        return try await leased.cloud.store.write { transaction in
            var rest = work
            let zone = try transaction.lock(zoneNamed: work.zoneName, in: work.zone.database).zone
            try leased.requireLease(transaction)
            var plan = WritePlan()
            let next = Array(rest.assets.suffix(Self.assetsPerChunk))
            let found = try transaction.entries(in: work.zone.database, .asset, keys: next).map { try StoredAsset($0) }
            let (rows, keys) = found.few(of: next)
            rest.assets.removeLast(keys.count)
            let isThere = zone?.address == work.zone
            let held = isThere ? try transaction.assetsHeld(of: rows, in: work.zone) : []
            for asset in rows where !held.contains(asset.id) && (!isThere || asset.isOld(at: now)) {
                plan.remove(asset, in: work.zone.database)
                rest.chunks += asset.chunks.map(\.name)
            }
            for announced in try transaction.announced(keys, in: work.zone.database) where announced.isOld(at: now) {
                plan.entriesRemoved.append(announced.key)
                rest.chunks += announced.missing.map { announced.purpose.chunks[$0].name }
            }
            plan.tasks = [leased.rest(rest.payload)]
            try transaction.apply(plan)
            return .commit(rest)
        }
    }

    private mutating func removeChunks(_ leased: LeasedTask) async throws {
        let names = Array(chunks.suffix(Self.chunksPerChunk))
        try await leased.cloud.remove(names, from: zone.database)
        chunks.removeLast(names.count)
    }

    /// Returns nil: nothing but the payload says what it was about.
    package static func remade(_ row: TaskRow, at now: Timestamp, zone: (ZoneAddress) throws -> ZoneRow?) throws -> TaskRow? { nil }
}

extension [StoredAsset] {
    /// The first assets that go in one transaction with the rows of their chunks: one, or as many as have
    /// `Limits.chunksCopied` chunks together.
    package var few: ArraySlice<StoredAsset> {
        var chunks = 0
        return prefix { asset in
            defer { chunks += asset.chunks.count }
            return chunks == 0 || chunks + asset.chunks.count <= Limits.chunksCopied
        }
    }

    /// Returns the assets of the last keys that go in one transaction, and these keys. The asset of a key may be gone.
    fileprivate func few(of keys: [String]) -> (assets: [StoredAsset], keys: [String]) {
        let known = Dictionary(map { ($0.id.key, $0) }, uniquingKeysWith: { first, _ in first })
        let few = keys.reversed().compactMap { known[$0] }.few
        // Keys in front of the last asset that fits have to wait.
        guard few.count < known.count, let last = few.last.flatMap({ keys.lastIndex(of: $0.id.key) }) else { return (self, keys) }
        return (few.map(\.self), keys[last...].map(\.self))
    }
}

extension ReadTransaction {
    /// Returns which of these assets of a zone are in their records.
    package func assetsHeld(of assets: [StoredAsset], in zone: ZoneAddress) throws -> Set<AssetID> {
        let fields = FieldNames(assets.map(\.destination.fieldName))
        var held: Set<AssetID> = []
        try eachPortion(of: Array(Set(assets.map(\.destination.recordName))), in: zone) { rows in
            for row in rows where !row.isTombstone {
                let record = StoredRecord(row, in: zone, only: fields)
                // A damaged record's assets are unknown: it keeps all that were for it, until it is written over.
                held.formUnion(
                    record.isDamaged
                        ? Set(assets.lazy.filter { $0.destination.recordName == row.name }.map(\.id)) : record.content.fields.assetIDs)
            }
        }
        return held
    }

    /// Returns the next assets of a zone.
    package func assets(of zone: ZoneAddress, after last: AssetID? = nil, limit: Int) throws -> [StoredAsset] {
        let prefix = AssetID.keyPrefix(of: zone.zone)
        return try entries(in: zone.database, .asset, after: last?.key ?? prefix, limit: limit)
            .prefix { $0.key.key.hasPrefix(prefix) }.map { try StoredAsset($0) }
    }

    /// Returns the bytes of a zone's live records: their bodies, and the files of their assets. Looks at all of them.
    package func countedBytes(of zone: ZoneAddress) throws -> Int64 {
        var bytes = try bytes(of: zone)
        var last: AssetID?
        while true {
            let page = try assets(of: zone, after: last, limit: Limits.reclaimChunk)
            let held = try assetsHeld(of: page, in: zone)
            for asset in page where held.contains(asset.id) { bytes &+= asset.size }
            guard let next = page.last?.id else { return bytes }
            last = next
        }
    }

    /// Whether an asset of the database uses a chunk.
    package func isUsed(_ chunk: ChunkName, in database: DatabaseID) throws -> Bool {
        let prefix = chunk.text + "/"
        return try entries(in: database, .chunkUse, after: prefix, limit: 1).first?.key.key.hasPrefix(prefix) ?? false
    }
}
