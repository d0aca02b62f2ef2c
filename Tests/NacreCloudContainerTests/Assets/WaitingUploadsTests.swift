import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer

/// Files that were sent and that no record has: how much one sender may have of them.
@Suite struct WaitingUploadsTests {
    private let ann = WaitingUploads.Sender(database: DatabaseID(rawValue: 1), name: "_ann")
    private let start = Timestamp(secondsSince2001: 1000)

    private func asset(_ number: UInt64, _ size: Int64) -> StoredAsset {
        let place = StoredAsset.Place(zoneName: "Z", recordName: "r", recordType: "T", fieldName: "f", sender: "_ann")
        return StoredAsset(id: AssetID(zone: 1, 0, number), place: place, created: start, used: nil, size: size, checksum: [], chunks: [])
    }

    @Test func `one sender has so many bytes on the way and waiting, and others have as many`() throws {
        let uploads = WaitingUploads()
        let half = Limits.waitingAssetBytes / 2
        try uploads.take(half, for: ann, at: start)
        try uploads.take(half, for: ann, at: start)
        #expect(throws: ServerError.tooManyUploads) { try uploads.take(1, for: ann, at: start) }
        try uploads.take(half, for: WaitingUploads.Sender(database: DatabaseID(rawValue: 1), name: "_bob"), at: start)
        try uploads.take(half, for: WaitingUploads.Sender(database: DatabaseID(rawValue: 2), name: "_ann"), at: start)
        // One that did not come gives its room back; one that came has as much as it is long.
        uploads.end(half, for: ann, with: nil)
        uploads.end(half, for: ann, with: asset(1, 10))
        try uploads.take(Limits.waitingAssetBytes - 10, for: ann, at: start)
        #expect(throws: ServerError.tooManyUploads) { try uploads.take(1, for: ann, at: start) }
    }

    @Test func `a file that a record has waits no more, nor does one that is old enough to be collected`() throws {
        let uploads = WaitingUploads()
        for number in 1...2 as ClosedRange<UInt64> {
            try uploads.take(Limits.waitingAssetBytes / 2, for: ann, at: start)
            uploads.end(Limits.waitingAssetBytes / 2, for: ann, with: asset(number, Limits.waitingAssetBytes / 2))
        }
        #expect(throws: ServerError.tooManyUploads) { try uploads.take(1, for: ann, at: start) }
        uploads.saved([asset(1, 0).id], by: ann)
        uploads.saved([asset(1, 0).id, asset(9, 0).id], by: ann)
        try uploads.take(Limits.waitingAssetBytes / 2, for: ann, at: start)
        #expect(throws: ServerError.tooManyUploads) { try uploads.take(1, for: ann, at: start + (Limits.assetGraceSeconds - 1)) }
        try uploads.take(1, for: ann, at: start + Limits.assetGraceSeconds)
    }

    @Test func `a save makes room for the next files`() async throws {
        let cloud = try await AssetCloud()
        let uploads = cloud.cloud.cloud.waitingUploads
        let sent = try await cloud.upload([UInt8](repeating: 7, count: 1000), "r")
        let sender = WaitingUploads.Sender(
            database: try await cloud.cloud.cloud.database(cloud.ada.target, for: .write, by: cloud.ada.caller).id,
            name: try #require(cloud.ada.caller.userRecordName))
        let now = cloud.cloud.clock.now
        #expect(throws: ServerError.tooManyUploads) { try uploads.take(Limits.waitingAssetBytes - 999, for: sender, at: now) }
        _ = try await cloud.save(.asset(sent), in: "r")
        try uploads.take(Limits.waitingAssetBytes, for: sender, at: now)
    }
}
