import NacreCloudServerWire
import NacreCloudTestSupport
import NacreCloudWire

@testable import NacreCloudAccounts
@testable import NacreCloudContainer

// Files of shared zones, as users send and fetch them.
extension ShareScene {
    /// Returns the user on a device, which an upload needs.
    static func onDevice(_ user: TestCloudUser) -> TestCloudUser {
        var user = user
        let name = user.caller.userRecordName ?? ""
        user.caller.credential = .device(id: "device" + name, account: "account" + name)
        return user
    }

    /// Sends a file for the field `f` of a record.
    func file(_ bytes: [UInt8], of record: String = "note", by user: TestCloudUser) async throws -> Asset {
        let request = AssetsUploadRequest(
            tokens: [.init(recordName: record, recordType: "Note", fieldName: "f")],
            zoneID: ZoneID(zoneName: Self.zone, ownerRecordName: user.zoneOwner))
        let asked = try await world.cloud.requestUploads(request, in: user.target, by: user.caller)
        let permit = try world.cloud.uploadPermit(String(asked.tokens[0].url.dropFirst(AssetLinks.uploadPath.count)))
        var left: [UInt8]? = bytes
        return try await world.cloud.upload(
            permit, by: user.caller, length: bytes.count,
            next: {
                defer { left = nil }
                return left
            }
        ).singleFile
    }

    /// Fetches a file by its download URL.
    func bytes(of asset: Asset?, by user: TestCloudUser) async throws -> [UInt8] {
        let token = (asset?.downloadURL ?? "").dropFirst(AssetLinks.downloadPath.count).dropLast("/${f}".count)
        let permit = try world.cloud.downloadPermit(String(token))
        let target = try await world.cloud.target(of: permit)
        let content = try await world.cloud.content(of: permit, in: target, by: user.caller)
        guard case .bytes(let bytes)? = try await content.reader(of: 0..<content.size).next() else { return [] }
        return bytes
    }

    /// Returns the names in the deprecated feed of the zone, in one page.
    func recordChanges(by user: TestCloudUser) async throws -> Set<String> {
        let request = RecordsChangesRequest(
            ChangesZoneRequest.Item(zoneID: ZoneID(zoneName: Self.zone, ownerRecordName: user.zoneOwner)))
        let page = try await world.cloud.recordChanges(request, in: user.target, by: user.caller)
        return Set(page.records.compactMap(\.recordName))
    }

    /// Returns what a user may do with the file of a record.
    /// - Parameter asked: `download`, by the user's URL; `stolen`, by the owner's; otherwise `reref`.
    func outcome(ofFile asked: String, of record: String, by asker: TestCloudUser) async throws -> String {
        let (ada, asker) = (Self.onDevice(ada), Self.onDevice(asker))
        let fields: RecordFields = ["f": .asset(try await file([1, 2, 3], of: record, by: ada))]
        if let error = try await ada.modify([.update(record, fields)], zone: Self.zone).first?.error { throw error }
        if asked == "reref" {
            let request = AssetsRereferenceRequest(
                assets: [.init(recordName: record, fieldName: "f")], zoneID: ZoneID(zoneName: Self.zone, ownerRecordName: asker.zoneOwner))
            return try await world.cloud.rereferenceAssets(request, in: asker.target, by: asker.caller).assets.count == 1
                ? "yes" : "empty"
        }
        let seen = asked == "stolen" ? nil : try? await asker.lookup([record], zone: Self.zone).first?.record
        let shown = try await ada.lookup([record], zone: Self.zone).first?.record
        let asset = (seen ?? shown)?.fields["f"]?.assets.first
        return try await bytes(of: asset, by: asker) == [1, 2, 3] ? "yes" : "empty"
    }
}
