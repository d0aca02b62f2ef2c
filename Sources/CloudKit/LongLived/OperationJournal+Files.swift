import Foundation
import NacreCloudWire

/// The encoded form of the server's answer to a sent file, with the receipt.
private struct KeptAsset: Codable {
    var fileChecksum: String
    var size: Int64
    var referenceChecksum: String?
    var wrappingKey: String?
    var receipt: String?

    init(_ asset: Asset) {
        (fileChecksum, size, receipt) = (asset.fileChecksum, asset.size, asset.receipt)
        (referenceChecksum, wrappingKey) = (asset.referenceChecksum, asset.wrappingKey)
    }

    var asset: Asset {
        Asset(fileChecksum: fileChecksum, size: size, referenceChecksum: referenceChecksum, wrappingKey: wrappingKey, receipt: receipt)
    }
}

extension OperationJournal {
    private static func key(of upload: AssetUpload, in batch: ModifyPlan.Batch) -> String {
        let zone = batch.zoneID
        return "sent \(zone.ownerName)/\(zone.zoneName)/\(batch.saves[upload.save].record.recordID.recordName)/\(upload.key)/\(upload.place)"
    }

    /// Returns the result of each file in an earlier process; nil if it has none.
    func outcomes(of uploads: [AssetUpload], in batch: ModifyPlan.Batch) async -> [(AssetUpload, Result<Asset, CKError>?)] {
        let keys = uploads.map { Self.key(of: $0, in: batch) }
        let outcomes = await FileWork.run { keys.map { self.outcome($0, as: KeptAsset.self)?.map(\.asset) } }
        return Array(zip(uploads, outcomes))
    }

    func note(_ outcome: Result<Asset, CKError>, of upload: AssetUpload, in batch: ModifyPlan.Batch) {
        note(Self.key(of: upload, in: batch), outcome.map(KeptAsset.init))
    }
}
