package import NacreCloudStorage
package import NacreCloudWire

/// The name of a stored asset in a database: its zone and 128 random bits. The assets of a zone have neighbouring keys.
package struct AssetID: Hashable, Sendable {
    package let zone: Int64
    private let high: UInt64
    private let low: UInt64

    package init(zone: Int64, _ high: UInt64, _ low: UInt64) {
        self.zone = zone
        self.high = high
        self.low = low
    }

    /// The key of the asset's entries, which a record's field holds too.
    package var key: String {
        Self.keyPrefix(of: zone) + HexText.encode(high.bigEndianBytes + low.bigEndianBytes)
    }

    /// Returns nil for text that `key` did not make.
    package init?(key: String) {
        guard let slash = key.firstIndex(of: "/"), let zone = HexText.decode(key[..<slash]), zone.count == 8,
            let id = HexText.decode(key[key.index(after: slash)...]), id.count == 16
        else { return nil }
        self.zone = Int64(bitPattern: Self.number(zone[...]))
        high = Self.number(id[..<8])
        low = Self.number(id[8...])
    }

    /// Returns the beginning of the keys of a zone's assets, which no other key has.
    static func keyPrefix(of zone: Int64) -> String {
        HexText.encode(zone.bigEndianBytes) + "/"
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}

/// An asset whose bytes are kept: its content, and the one field that it is for.
package struct StoredAsset: Hashable, Sendable {
    /// The field of a record, and the user who may save the asset there.
    package struct Destination: Hashable, Sendable {
        package var zoneName: String
        package var recordName: String
        package var recordType: String
        package var fieldName: String
        /// The user record name of the asset's sender.
        package var sender: String

        /// Whether the field is the one that the asset is for. An empty name stands for any, until a save puts the
        /// asset into a field: `assets/rereference` leaves all names open, and `assets/upload` that of a record which
        /// its client has not named.
        func includes(_ field: AssetUse) -> Bool {
            (recordName.isEmpty || recordName == field.recordName) && (recordType.isEmpty || recordType == field.recordType)
                && (fieldName.isEmpty || fieldName == field.fieldName)
        }
    }

    package var id: AssetID
    package var destination: Destination
    package var created: Timestamp
    /// The time at which a save last put the asset into its field; nil: none has.
    package var used: Timestamp?
    package var size: Int64
    package var checksum: [UInt8]
    /// Empty where the bytes are in an entry of their own.
    package var chunks: [AssetChunk]

    /// The checksum as clients see it: 21 bytes. CloudKit: the first is 1.
    package var fileChecksum: String { Base64.encode([1] + checksum) }

    /// The asset as a record keeps it.
    package var kept: Asset { Asset(fileChecksum: fileChecksum, size: size, receipt: id.key) }

    /// Returns the asset after a save has put it into a field.
    package func used(in field: String, of record: String, type: String, at now: Timestamp) -> StoredAsset {
        var asset = self
        (asset.destination.recordName, asset.destination.recordType, asset.destination.fieldName, asset.used) = (record, type, field, now)
        return asset
    }

    /// Whether the asset may be removed if no record has it: it was neither sent nor saved for
    /// `Limits.assetGraceSeconds`.
    func isOld(at now: Timestamp) -> Bool {
        (used ?? created).secondsSince2001 + Limits.assetGraceSeconds <= now.secondsSince2001
    }
}

// MARK: - Rows

extension StoredAsset {
    private static let version: UInt8 = 1

    package func row(in database: DatabaseID) -> EntryRow {
        var writer = ByteWriter()
        writer.byte(Self.version)
        for text in [destination.zoneName, destination.recordName, destination.recordType, destination.fieldName, destination.sender] {
            writer.string(text)
        }
        writer.double(created.secondsSince2001)
        writer.byte(used == nil ? 0 : 1)
        if let used { writer.double(used.secondsSince2001) }
        writer.signed(size)
        writer.block(checksum)
        writer.number(UInt64(chunks.count))
        for chunk in chunks {
            writer.block(chunk.name.bytes)
            writer.number(UInt64(chunk.size))
        }
        return EntryRow(key: Self.key(id, in: database), value: writer.bytes)
    }

    /// - Throws: `StoreError.corrupt` where the row is not as it was written.
    package init(_ row: EntryRow) throws {
        let damaged = StoreError(.corrupt, "The row of an asset is not what was written", ["asset": row.key.key])
        guard let id = AssetID(key: row.key.key) else { throw damaged }
        do {
            var reader = ByteReader(row.value)
            guard try reader.byte() == Self.version else { throw damaged }
            self.id = id
            destination = Destination(
                zoneName: try reader.string(), recordName: try reader.string(), recordType: try reader.string(),
                fieldName: try reader.string(), sender: try reader.string())
            created = Timestamp(secondsSince2001: try reader.double())
            used = try reader.byte() == 1 ? Timestamp(secondsSince2001: try reader.double()) : nil
            size = try reader.signed()
            checksum = try reader.block()
            chunks = []
            for _ in 0..<(try reader.count()) {
                chunks.append(AssetChunk(name: ChunkName(try reader.block()), size: Int(clamping: try reader.number())))
            }
        } catch {
            throw damaged
        }
        guard chunks.isEmpty || chunks.reduce(0, { $0 &+ Int64($1.size) }) == size else { throw damaged }
    }

    package static func key(_ id: AssetID, in database: DatabaseID) -> EntryKey { EntryKey(database, .asset, id.key) }

    /// Returns the rows that note the asset's chunks. A chunk without a row may be removed.
    package func uses(in database: DatabaseID) -> [EntryRow] {
        Set(chunks.map(\.name)).map { EntryRow(key: Self.useKey($0, id, in: database), value: []) }
    }

    static func useKey(_ chunk: ChunkName, _ id: AssetID, in database: DatabaseID) -> EntryKey {
        EntryKey(database, .chunkUse, "\(chunk.text)/\(id.key)")
    }
}

extension WritePlan {
    /// Puts the rows of new assets of one zone, and the task that removes them if no record has them by then.
    package init(putting assets: [(asset: StoredAsset, inline: [UInt8]?)], in zone: ZoneRow, at now: Timestamp) {
        let database = zone.address.database
        self.init(putting: CollectAssets.task(for: assets.map(\.asset.id), of: zone, due: now + Limits.assetGraceSeconds))
        for (asset, inline) in assets {
            entries.append(asset.row(in: database))
            entries += asset.uses(in: database)
            if let inline { entries.append(EntryRow(key: EntryKey(database, .assetBytes, asset.id.key), value: inline)) }
        }
    }

    package mutating func remove(_ asset: StoredAsset, in database: DatabaseID) {
        entriesRemoved.append(StoredAsset.key(asset.id, in: database))
        entriesRemoved += asset.uses(in: database).map(\.key)
        if asset.chunks.isEmpty { entriesRemoved.append(EntryKey(database, .assetBytes, asset.id.key)) }
    }
}

extension WritePlan {
    /// Puts the assets that a commit has saved in records. Those that records had before are collected when they are
    /// old.
    package mutating func addAssets(used: [StoredAsset], released: Set<AssetID>, of zone: ZoneRow, at now: Timestamp) {
        entries += used.map { $0.row(in: zone.address.database) }
        guard !released.isEmpty else { return }
        tasks.append(CollectAssets.task(for: Array(released), of: zone, due: now + Limits.assetGraceSeconds))
    }
}

extension ModifyBatch {
    /// Assets that the saves put into records, without those of saves that were refused since.
    var keptAssets: [StoredAsset] {
        usedAssets.values.filter { asset in
            guard let index = places[asset.destination.recordName], case .save = verdicts[index] else { return false }
            return true
        }
    }
}
