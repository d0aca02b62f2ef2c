import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// A cloud with a store for files in memory, and Ada's private database with a zone `Z`.
struct AssetCloud {
    let cloud: TestCloud
    let files: MemoryAssets
    let ada: TestCloudUser

    /// Makes a cloud.
    /// - Parameter storage: A store for files in place of `files`.
    init(quotas: Quotas = .none, store: any Store = MemoryStore(), storage: (any AssetStorage)? = nil) async throws {
        files = MemoryAssets()
        cloud = TestCloud(store, quotas: quotas, assets: storage ?? files)
        var ada = cloud.user("_ada")
        ada.caller.credential = .device(id: "d", account: "a")
        self.ada = ada
        try await ada.makeZone("Z")
    }

    /// Makes the cloud of another process over the same data, after this one was killed.
    init(after other: AssetCloud) {
        files = other.files
        files.end()
        cloud = TestCloud(other.cloud.store, seed: 2, quotas: other.cloud.cloud.bounds.quotas, assets: files)
        cloud.clock.move(bySeconds: other.cloud.clock.now.secondsSince2001 - cloud.clock.now.secondsSince2001)
        var ada = cloud.user("_ada")
        ada.caller.credential = other.ada.caller.credential
        self.ada = ada
    }

    /// Uploads a file for a field of a record, and returns the dictionary that a save carries.
    func upload(_ bytes: [UInt8], _ record: String, field: String = "f", zone: String = "Z", type: String = "Note") async throws -> Asset {
        let asked = try await cloud.cloud.requestUploads(
            AssetsUploadRequest(
                tokens: [.init(recordName: record, recordType: type, fieldName: field)], zoneID: ZoneID(zoneName: zone)),
            in: ada.target, by: ada.caller)
        let token = asked.tokens[0].url.dropFirst(AssetLinks.uploadPath.count)
        let permit = try cloud.cloud.uploadPermit(String(token))
        var left: [UInt8]? = bytes
        return try await cloud.cloud.upload(
            permit, by: ada.caller, length: bytes.count,
            next: {
                defer { left = nil }
                return left
            }
        ).singleFile
    }

    func save(_ value: FieldValue, in record: String, field: String = "f", zone: String = "Z") async throws -> RecordResult {
        try await ada.modify([.update(record, [field: value])], zone: zone)[0]
    }

    func lookUp(_ record: String, zone: String = "Z") async throws -> Asset? {
        try await ada.lookup([record], zone: zone)[0].record?.fields["f"]?.assets.first
    }

    /// Returns the bytes at an asset's download URL.
    func download(_ asset: Asset?, by caller: Caller? = nil) async throws -> [UInt8] {
        let token = (asset?.downloadURL ?? "").dropFirst(AssetLinks.downloadPath.count).dropLast("/${f}".count)
        let permit = try cloud.cloud.downloadPermit(String(token))
        let content = try await cloud.cloud.content(of: permit, in: ada.target, by: caller ?? ada.caller)
        var bytes: [UInt8] = []
        let reader = content.reader(of: 0..<content.size)
        while case .bytes(let piece)? = try await reader.next() { bytes += piece }
        return bytes
    }

    /// Moves the clock, and runs due tasks.
    func wait(_ seconds: Double) async throws {
        cloud.clock.move(bySeconds: seconds)
        try await cloud.runAllTasks()
    }
}

func someBytes(_ count: Int, seed: UInt64) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    var bytes: [UInt8] = []
    while bytes.count < count { withUnsafeBytes(of: random.next()) { bytes += $0 } }
    return Array(bytes.prefix(count))
}
