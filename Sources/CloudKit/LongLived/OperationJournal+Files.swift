import Foundation
import NacreCloudWire

/// The encoded form of the server's answer to a sent file, with the receipt.
private struct KeptAsset: Codable {
    var fileChecksum: String
    var size: Int64
    var referenceChecksum: String?
    var wrappingKey: String?
    var receipt: String?
    /// The root of the sealed chunks; nil for a plain file.
    var root: Data?
    /// The name of the key that sealed the chunks; nil for a plain file.
    var keyID: String?

    init(_ file: UploadedFile) {
        let asset = file.asset
        (root, keyID) = (file.root.map { Data($0) }, file.keyID)
        (fileChecksum, size, receipt) = (asset.fileChecksum, asset.size, asset.receipt)
        (referenceChecksum, wrappingKey) = (asset.referenceChecksum, asset.wrappingKey)
    }

    var file: UploadedFile {
        UploadedFile(
            asset: Asset(fileChecksum: fileChecksum, size: size, referenceChecksum: referenceChecksum, wrappingKey: wrappingKey, receipt: receipt),
            root: root.map { [UInt8]($0) }, keyID: keyID)
    }
}

extension OperationJournal {
    private static func key(of upload: AssetUpload, in batch: ModifyPlan.Batch) -> String {
        let zone = batch.zoneID
        return "sent \(zone.ownerName)/\(zone.zoneName)/\(batch.saves[upload.save].record.recordID.recordName)/\(upload.key)/\(upload.place)"
    }

    /// Returns the result of each file in an earlier process; nil if it has none.
    func outcomes(of uploads: [AssetUpload], in batch: ModifyPlan.Batch) async -> [(AssetUpload, Result<UploadedFile, CKError>?)] {
        let keys = uploads.map { Self.key(of: $0, in: batch) }
        let outcomes = await FileWork.run { keys.map { self.outcome($0, as: KeptAsset.self)?.map(\.file) } }
        return Array(zip(uploads, outcomes))
    }

    func note(_ outcome: Result<UploadedFile, CKError>, of upload: AssetUpload, in batch: ModifyPlan.Batch) {
        note(Self.key(of: upload, in: batch), outcome.map(KeptAsset.init))
    }
}
