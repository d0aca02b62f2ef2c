import NacreCloudWire

/// Names one stored asset of a database: the zone that it belongs to, and 128 random bits. So the assets of a zone stand together.
package struct AssetID: Hashable, Sendable {
    package let zone: Int64
    private let high: UInt64
    private let low: UInt64

    init(zone: Int64, _ high: UInt64, _ low: UInt64) {
        self.zone = zone
        self.high = high
        self.low = low
    }

    /// Under which entries keep it, and which a record's field holds.
    package var key: String {
        Self.keyPrefix(of: zone) + HexText.encode(high.bigEndianBytes + low.bigEndianBytes)
    }

    /// nil for text that `key` did not make.
    init?(key: String) {
        guard let slash = key.firstIndex(of: "/"), let zone = HexText.decode(key[..<slash]), zone.count == 8,
            let id = HexText.decode(key[key.index(after: slash)...]), id.count == 16
        else { return nil }
        self.zone = Int64(bitPattern: Self.number(zone[...]))
        high = Self.number(id[..<8])
        low = Self.number(id[8...])
    }

    /// What the keys of a zone's assets begin with, and no other.
    static func keyPrefix(of zone: Int64) -> String {
        HexText.encode(zone.bigEndianBytes) + "/"
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}

/// An asset whose bytes are kept: what they are, and the one field that they are for.
struct StoredAsset: Hashable, Sendable {
    /// The field of a record, and who may save the asset there.
    struct Place: Hashable, Sendable {
        var zoneName: String
        var recordName: String
        var recordType: String
        var fieldName: String
        /// The user record name of who sent it.
        var sender: String

        /// It is for any field of its zone still, until a save puts it into one: `assets/rereference` gave it.
        var isOpen: Bool { recordName.isEmpty }
    }

    var id: AssetID
    var place: Place
    var created: Timestamp
    /// When a save last put it into its field; nil: none has.
    var used: Timestamp?
    var size: Int64
    var checksum: [UInt8]
    /// Empty where the bytes stand in an entry of their own.
    var chunks: [AssetChunk]

    /// As clients see it: 21 bytes. CloudKit: the first is 1.
    var fileChecksum: String { Base64.encode([1] + checksum) }

    /// As a record keeps it.
    var kept: Asset { Asset(fileChecksum: fileChecksum, size: size, receipt: id.key) }

    /// The same, put into a field by a save.
    func used(in field: String, of record: String, type: String, at now: Timestamp) -> StoredAsset {
        var asset = self
        (asset.place.recordName, asset.place.recordType, asset.place.fieldName, asset.used) = (record, type, field, now)
        return asset
    }

    /// It may go where no record has it: nobody has had to do with it for `Limits.assetGraceSeconds`.
    func isOld(at now: Timestamp) -> Bool {
        (used ?? created).secondsSince2001 + Limits.assetGraceSeconds <= now.secondsSince2001
    }
}

// MARK: - Rows

extension StoredAsset {
    private static let version: UInt8 = 1

    func row(in database: DatabaseID) -> EntryRow {
        var writer = ByteWriter()
        writer.byte(Self.version)
        for text in [place.zoneName, place.recordName, place.recordType, place.fieldName, place.sender] { writer.string(text) }
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

    /// - Throws: `StoreError.corrupt` where the row is not what was written.
    init(_ row: EntryRow) throws {
        let damaged = StoreError(.corrupt, "The row of an asset is not what was written", ["asset": row.key.key])
        guard let id = AssetID(key: row.key.key) else { throw damaged }
        do {
            var reader = ByteReader(row.value)
            guard try reader.byte() == Self.version else { throw damaged }
            self.id = id
            place = Place(
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

    static func key(_ id: AssetID, in database: DatabaseID) -> EntryKey { EntryKey(database, .asset, id.key) }

    /// The rows that say which chunks it has: a chunk with none may go.
    func uses(in database: DatabaseID) -> [EntryRow] {
        Set(chunks.map(\.name)).map { EntryRow(key: Self.useKey($0, id, in: database), value: []) }
    }

    static func useKey(_ chunk: ChunkName, _ id: AssetID, in database: DatabaseID) -> EntryKey {
        EntryKey(database, .chunkUse, "\(chunk.text)/\(id.key)")
    }
}

extension WritePlan {
    /// The rows of new assets of one zone, and the task that takes them away if no record has them by then.
    init(putting assets: [(asset: StoredAsset, inline: [UInt8]?)], in zone: ZoneRow, at now: Timestamp) {
        let database = zone.address.database
        self.init(putting: CollectAssets.task(for: assets.map(\.asset.id), of: zone, due: now + Limits.assetGraceSeconds))
        for (asset, inline) in assets {
            entries.append(asset.row(in: database))
            entries += asset.uses(in: database)
            if let inline { entries.append(EntryRow(key: EntryKey(database, .assetBytes, asset.id.key), value: inline)) }
        }
    }

    mutating func remove(_ asset: StoredAsset, in database: DatabaseID) {
        entriesRemoved.append(StoredAsset.key(asset.id, in: database))
        entriesRemoved += asset.uses(in: database).map(\.key)
        if asset.chunks.isEmpty { entriesRemoved.append(EntryKey(database, .assetBytes, asset.id.key)) }
    }
}

extension WritePlan {
    /// What a commit does to assets: those that it puts into records, and those that records had before. The latter go when they are old.
    mutating func addAssets(used: [StoredAsset], released: Set<AssetID>, of zone: ZoneRow, at now: Timestamp) {
        entries += used.map { $0.row(in: zone.address.database) }
        guard !released.isEmpty else { return }
        tasks.append(CollectAssets.task(for: Array(released), of: zone, due: now + Limits.assetGraceSeconds))
    }
}

extension ModifyBatch {
    /// Assets that its saves put into records, of those that were not refused since.
    var keptAssets: [StoredAsset] {
        usedAssets.values.filter { asset in
            guard let place = places[asset.place.recordName], case .save = verdicts[place] else { return false }
            return true
        }
    }
}
