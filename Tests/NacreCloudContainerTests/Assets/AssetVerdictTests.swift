import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of which assets a save may put into a field.
struct AssetVerdictTests {
    private static let database = DatabaseID(rawValue: 7)
    private static let id = AssetID(zone: 1, 2, 3)
    private static let destination = StoredAsset.Destination(zoneName: "Z", recordName: "r", recordType: "T", fieldName: "f", sender: "_ada")
    private static let stored = StoredAsset(
        id: id, destination: destination, created: Timestamp(secondsSince2001: 0), used: nil, size: 5, checksum: [UInt8](repeating: 9, count: 20),
        chunks: [])
    private static let sent = Asset(fileChecksum: stored.fileChecksum, size: 5, receipt: "receipt")
    private static let use = AssetUse(recordName: "r", recordType: "T", fieldName: "f", sender: "_ada")

    private static func assets(
        zone: Int64 = 1, in database: DatabaseID = database, stored: StoredAsset? = stored,
        receipt: AssetReceipt? = AssetReceipt(database: database, asset: id)
    ) -> SentAssets {
        var assets = SentAssets(zone: ZoneAddress(database: database, zone: zone))
        assets.receipts["receipt"] = receipt
        if let stored { assets.stored[id] = stored }
        return assets
    }

    @Test func `a receipt is good for its own field, and there as often as it is sent`() {
        let verdict = AssetVerdict(.asset(Self.sent), over: nil, for: Self.use, in: Self.assets())
        #expect(verdict == .keep(.asset(Self.stored.kept)))
        #expect(AssetVerdict(.asset(Self.sent), over: .asset(Self.stored.kept), for: Self.use, in: Self.assets()) == verdict)
        var used = Self.stored
        used.used = Timestamp(secondsSince2001: 5)
        #expect(AssetVerdict(.asset(Self.sent), over: nil, for: Self.use, in: Self.assets(stored: used)) == verdict)
    }

    @Test func `a receipt is refused for anything else`() {
        func refusal(_ change: (inout AssetUse) -> Void) -> AssetVerdict {
            var use = Self.use
            change(&use)
            return AssetVerdict(.asset(Self.sent), over: nil, for: use, in: Self.assets())
        }
        #expect(refusal { $0.recordName = "other" } == .refuse(.receiptForAnother("f")))
        #expect(refusal { $0.recordName = nil } == .refuse(.receiptForAnother("f")))
        #expect(refusal { $0.recordType = "other" } == .refuse(.receiptForAnother("f")))
        #expect(refusal { $0.fieldName = "g" } == .refuse(.receiptForAnother("g")))
        #expect(refusal { $0.sender = "_bob" } == .refuse(.receiptForAnother("f")))
        #expect(refusal { $0.sender = nil } == .refuse(.receiptForAnother("f")))
        func elsewhere(_ assets: SentAssets) -> AssetVerdict { AssetVerdict(.asset(Self.sent), over: nil, for: Self.use, in: assets) }
        #expect(elsewhere(Self.assets(zone: 2)) == .refuse(.receiptForAnother("f")))
        let foreign = AssetReceipt(database: DatabaseID(rawValue: 8), asset: Self.id)
        #expect(elsewhere(Self.assets(receipt: foreign)) == .refuse(.receiptForAnother("f")))
        #expect(elsewhere(Self.assets(receipt: nil)) == .refuse(.unknownReceipt("f")))
        #expect(elsewhere(Self.assets(stored: nil)) == .refuse(.receiptExpired("f")))
    }

    @Test func `a file whose upload named no record is for any record, of its type and field alone`() {
        var open = Self.stored
        open.destination.recordName = ""
        func verdict(_ change: (inout AssetUse) -> Void) -> AssetVerdict {
            var use = Self.use
            change(&use)
            return AssetVerdict(.asset(Self.sent), over: nil, for: use, in: Self.assets(stored: open))
        }
        #expect(verdict { $0.recordName = "other" } == .keep(.asset(open.kept)) && verdict { $0.recordName = nil } == .keep(.asset(open.kept)))
        #expect(verdict { $0.recordType = "other" } == .refuse(.receiptForAnother("f")))
        #expect(verdict { $0.fieldName = "g" } == .refuse(.receiptForAnother("g")))
        #expect(verdict { $0.sender = "_bob" } == .refuse(.receiptForAnother("f")))
    }

    @Test func `a receipt is refused beside the checksum or the size of another file`() {
        for change in [{ $0.size = 6 }, { $0.fileChecksum = "x" }] as [(inout Asset) -> Void] {
            var asset = Self.sent
            change(&asset)
            #expect(AssetVerdict(.asset(asset), over: nil, for: Self.use, in: Self.assets()) == .refuse(.receiptOfOtherBytes("f")))
        }
    }

    @Test func `without a receipt an asset stays where it is, and goes nowhere else`() {
        let shown = Asset(fileChecksum: Self.stored.fileChecksum, size: 5, downloadURL: "https://x")
        let kept = FieldValue.asset(Self.stored.kept)
        #expect(AssetVerdict(.asset(shown), over: kept, for: Self.use, in: SentAssets()) == .keep(kept))
        #expect(AssetVerdict(.assetList([shown]), over: kept, for: Self.use, in: SentAssets()) == .keep(.assetList([Self.stored.kept])))
        #expect(AssetVerdict(.asset(shown), over: nil, for: Self.use, in: SentAssets()) == .refuse(.assetWithoutReceipt("f")))
        #expect(AssetVerdict(.assetList([shown, shown]), over: kept, for: Self.use, in: SentAssets()) == .refuse(.assetWithoutReceipt("f")))
        var other = shown
        other.size = 6
        #expect(AssetVerdict(.asset(other), over: kept, for: Self.use, in: SentAssets()) == .refuse(.assetWithoutReceipt("f")))
    }

    @Test func `one asset is no two elements of a list`() {
        let twice = AssetVerdict(.assetList([Self.sent, Self.sent]), over: nil, for: Self.use, in: Self.assets())
        #expect(twice == .refuse(.assetTwice("f")))
        let shown = Asset(fileChecksum: Self.stored.fileChecksum, size: 5)
        let both = AssetVerdict(.assetList([Self.sent, shown]), over: .asset(Self.stored.kept), for: Self.use, in: Self.assets())
        #expect(both == .refuse(.assetWithoutReceipt("f")))
    }

    @Test func `what rereference gave is for any field of its zone, until a save has taken it`() {
        var open = Self.stored
        open.destination = StoredAsset.Destination(zoneName: "Z", recordName: "", recordType: "", fieldName: "", sender: "_ada")
        var assets = Self.assets(stored: open)
        var elsewhere = Self.use
        (elsewhere.recordName, elsewhere.fieldName) = ("other", "g")
        #expect(AssetVerdict(.asset(Self.sent), over: nil, for: elsewhere, in: assets) == .keep(.asset(Self.stored.kept)))
        elsewhere.sender = "_bob"
        #expect(AssetVerdict(.asset(Self.sent), over: nil, for: elsewhere, in: assets) == .refuse(.receiptForAnother("g")))
        assets.use(["f": .asset(open.kept)], of: "r", type: "T")
        elsewhere.sender = "_ada"
        #expect(AssetVerdict(.asset(Self.sent), over: nil, for: elsewhere, in: assets) == .refuse(.receiptForAnother("g")))
        #expect(AssetVerdict(.asset(Self.sent), over: nil, for: Self.use, in: assets) == .keep(.asset(Self.stored.kept)))
        #expect(assets.used[Self.id]?.destination == Self.destination)
    }

    @Test func `the row of an asset is read as it was written`() throws {
        var asset = Self.stored
        asset.size = 70_000
        asset.chunks = [AssetChunk(name: ChunkName([UInt8](repeating: 1, count: 32)), size: 70_000)]
        for used in [nil, Timestamp(secondsSince2001: 8)] {
            asset.used = used
            #expect(try StoredAsset(asset.row(in: Self.database)) == asset)
        }
        asset.size += 1
        #expect(throws: StoreError.self) { _ = try StoredAsset(asset.row(in: Self.database)) }
        #expect(AssetID(key: Self.id.key) == Self.id)
        #expect(AssetID(key: "0/0") == nil && AssetID(key: Self.id.key + "0") == nil && AssetID(key: "") == nil)
    }
}
