package import NacreCloudStorage
package import NacreCloudWire

/// The assets that a request brings: their opened receipts, and the stored assets that these name.
package struct SentAssets: Hashable, Sendable {
    /// The zone that the request is about.
    package var zone: ZoneAddress?
    /// receipts[text]; one that could not be opened is missing.
    package var receipts: [String: AssetReceipt] = [:]
    /// The assets that exist.
    package var stored: [AssetID: StoredAsset] = [:]
    /// The time of the request.
    package var now = Timestamp(secondsSince2001: 0)
    /// Assets that saves of the request have put into records, as they are kept from now on.
    package private(set) var used: [AssetID: StoredAsset] = [:]
    /// The used assets that no save had put into a record before.
    private(set) var firstUsed: Set<AssetID> = []

    /// Notes that a save puts assets into its record. From here on they are for that field alone.
    package mutating func use(_ fields: RecordFields, of record: String, type: String) {
        guard !stored.isEmpty else { return }
        for index in fields.entries.indices where fields.entries[index].value.holdsAssets {
            for id in fields.entries[index].value.assets.compactMap({ $0.receipt.flatMap(AssetID.init(key:)) }) {
                guard let asset = stored[id]?.used(in: fields.entries[index].name, of: record, type: type, at: now) else { continue }
                if stored[id]?.used == nil { firstUsed.insert(id) }
                stored[id] = asset
                used[id] = asset
            }
        }
    }
}

/// The field in which an asset is to be saved, and its sender.
struct AssetUse: Hashable, Sendable {
    /// nil: the server makes the name now, and no upload can have named it.
    package var recordName: String?
    package var recordType: String
    package var fieldName: String
    package var sender: String?
}

/// The verdict of the rules on the assets that a save sets in one field.
enum AssetVerdict: Equatable, Sendable {
    /// The value as the record keeps it.
    case keep(FieldValue)
    case refuse(ServerError)

    /// Decides on a value. CloudKit: a receipt is proof of an upload for one field of one record. An asset that was
    /// answered may be sent back to its field.
    ///
    /// - Parameters:
    ///   - sent: an asset, or a list of assets.
    ///   - existing: the value that the field holds now.
    package init(_ sent: FieldValue, over existing: FieldValue?, for use: AssetUse, in assets: SentAssets) {
        var there = existing?.assets ?? []
        var kept: [Asset] = []
        for asset in sent.assets {
            switch Self.verdict(on: asset, among: &there, for: use, in: assets) {
            case .success(let one):
                if kept.contains(where: { $0.receipt == one.receipt }) {
                    self = .refuse(.assetTwice(use.fieldName))
                    return
                }
                kept.append(one)
            case .failure(let fault):
                self = .refuse(fault)
                return
            }
        }
        if case .asset = sent, let one = kept.first { self = .keep(.asset(one)) } else { self = .keep(.assetList(kept)) }
    }

    /// - Parameter there: the field's assets that no earlier element of the value has claimed.
    private static func verdict(
        on asset: Asset, among there: inout [Asset], for use: AssetUse, in assets: SentAssets
    ) -> Result<Asset, ServerError> {
        guard let text = asset.receipt else {
            guard let index = there.firstIndex(where: { $0.fileChecksum == asset.fileChecksum && $0.size == asset.size }) else {
                return .failure(.assetWithoutReceipt(use.fieldName))
            }
            return .success(there.remove(at: index))
        }
        guard let receipt = assets.receipts[text] else { return .failure(.unknownReceipt(use.fieldName)) }
        guard let zone = assets.zone, receipt.database == zone.database, receipt.asset.zone == zone.zone else {
            return .failure(.receiptForAnother(use.fieldName))
        }
        guard let stored = assets.stored[receipt.asset] else { return .failure(.receiptExpired(use.fieldName)) }
        guard stored.destination.includes(use), stored.destination.sender == use.sender else {
            return .failure(.receiptForAnother(use.fieldName))
        }
        guard asset.fileChecksum == stored.fileChecksum, asset.size == stored.size else {
            return .failure(.receiptOfOtherBytes(use.fieldName))
        }
        there.removeAll { $0.receipt == stored.id.key }
        return .success(stored.kept)
    }
}

extension FieldValue {
    /// The assets that the value consists of.
    package var assets: [Asset] {
        switch self {
        case .asset(let asset): [asset]
        case .assetList(let assets): assets
        default: []
        }
    }

    var holdsAssets: Bool {
        switch self {
        case .asset, .assetList: true
        default: false
        }
    }
}

extension RecordFields {
    /// The IDs of the stored assets that the fields hold.
    var assetIDs: Set<AssetID> {
        var ids: Set<AssetID> = []
        for index in entries.indices where entries[index].value.holdsAssets {
            for asset in entries[index].value.assets {
                if let id = asset.receipt.flatMap(AssetID.init(key:)) { ids.insert(id) }
            }
        }
        return ids
    }

    /// The receipts that a client sent in the fields.
    package var receipts: [String] {
        entries.indices.lazy.filter { entries[$0].value.holdsAssets }.flatMap { entries[$0].value.assets.compactMap(\.receipt) }
    }

    /// Bytes of the files that the fields hold.
    package var assetBytes: Int64 {
        entries.indices.reduce(0) { sum, index in
            guard entries[index].value.holdsAssets else { return sum }
            return entries[index].value.assets.reduce(sum) { $0 &+ $1.size }
        }
    }

    /// Replaces the assets that a client sent by those that the record keeps.
    /// - Returns: the error of the first asset that is refused.
    mutating func keepAssets(over there: RecordFields?, _ use: (_ field: String) -> AssetUse, in assets: SentAssets) -> ServerError? {
        for index in entries.indices where entries[index].value.holdsAssets {
            let name = entries[index].name
            switch AssetVerdict(entries[index].value, over: there?[name], for: use(name), in: assets) {
            case .keep(let value): self[name] = value
            case .refuse(let fault): return fault
            }
        }
        return nil
    }
}

extension ServerError {
    static func assetWithoutReceipt(_ field: String) -> ServerError {
        ServerError(
            .badRequest, "asset has no receipt", internalCode: 2006, field: field,
            remedy: "Upload the file: assets/upload. For an asset of another record or field, ask assets/rereference first.")
    }

    static func unknownReceipt(_ field: String) -> ServerError {
        ServerError(
            .badRequest, "invalid receipt", internalCode: 2006, field: field,
            remedy: "Send the receipt as the upload answered it.")
    }

    static func receiptForAnother(_ field: String) -> ServerError {
        ServerError(
            .badRequest, "receipt is for another field", internalCode: 2006, field: field,
            remedy: "A file is for the zone, type, field and user that assets/upload was asked for, and for the record that this named, or "
                + "else the first that was saved with the file. For another one ask assets/rereference, and save the dictionary that it answers.")
    }

    static func receiptExpired(_ field: String) -> ServerError {
        ServerError(
            .badRequest, "receipt has expired", native: .assetNotAvailable, internalCode: 2006, field: field,
            remedy: "Upload the file again: a file that no record holds is kept for \(Int(Limits.assetGraceSeconds / 3600)) hours.")
    }

    static func receiptOfOtherBytes(_ field: String) -> ServerError {
        ServerError(
            .badRequest, "receipt is of another file", internalCode: 2006, field: field,
            remedy: "Send receipt, fileChecksum and size as the upload answered them together.")
    }

    static func assetTwice(_ field: String) -> ServerError {
        ServerError(
            .badRequest, "asset is named twice", internalCode: 2006, field: field,
            remedy: "Upload the file for each element of a list, or name it once.")
    }
}
