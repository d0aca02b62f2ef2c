import NacreCloudWire
import NacreEncryption
import NacreEncryptionForms
import Testing

@testable import CloudKit

/// Tests of the rules by which a device takes the keys of a share of records, and finds the share that a record is in.
struct RecordTreeTests {
    private let own: OwnKeys
    private let place: Place
    private let random = KeyRandom(source: nil)

    init() throws {
        var random = SystemRandomBytes()
        let name = try #require(AccountName(container: "iCloud.test", environment: "development", user: "_alice"))
        let device = try DeviceKeys(using: &random)
        let (_, log, key) = try device.begin(name, recovery: RecoveryKey(of: name, using: &random), using: &random)
        own = OwnKeys(device: device, log: log, accountKeys: [key])
        place = try #require(Place(owner: name, zone: "Notes"))
    }

    /// Takes the keys that a server shows for the scope that was asked for.
    private func take(_ request: KeysScopesModifyRequest, for which: WhichScope, by kept: inout KeptKeys) throws -> ZoneKeys {
        let shown = ShownScope(manifests: [request.manifest], wraps: request.wraps, which: which)
        return try kept.take(shown, at: place, of: own)
    }

    @Test func `a device takes the keys of a share under the share's name alone, and those of a zone for the zone alone`() throws {
        let first = try own.firstKey(at: place, share: ("share", "list"), stamp: 1_000, using: random)
        let zone = try own.firstKey(at: place, stamp: 1_000, using: random)
        #expect(first.share == "share" && zone.share == nil)
        var kept = KeptKeys()
        let keys = try take(first, for: .share("share"), by: &kept)
        #expect(keys.manifest.parts.root == "list" && keys.share == "share")
        let id = keys.newest.id.scope
        #expect(try take(first, for: .id(id), by: &kept).newest.proof == keys.newest.proof)
        #expect(kept.ownZones == ["Notes"] && kept.ownShares.map(\.scope) == [id])
        _ = try take(zone, for: .zone, by: &kept)
        let other = try #require(ScopeID([UInt8](repeating: 7, count: ScopeID.length)))
        for (request, which) in [(first, WhichScope.zone), (first, .share("other")), (first, .id(other)), (zone, .share("share")), (zone, .id(id))] {
            var copy = kept
            #expect(throws: CKError.self, "\(which)") { try take(request, for: which, by: &copy) }
        }
    }

    @Test func `the keys of a share are known in its owner's zone, and not in one of that name of another user`() throws {
        var (kept, opened) = (KeptKeys(), OpenedKeys())
        let first = try own.firstKey(at: place, share: ("share", "list"), stamp: 1_000, using: random)
        opened.keep(try take(first, for: .share("share"), by: &kept), of: KeyAccount(server: "http://cloud.test/api", name: place.owner))
        #expect(opened.hasShares(inZoneNamed: "Notes") && opened.hasShares(inZoneNamed: "Notes", of: "_alice"))
        #expect(!opened.hasShares(inZoneNamed: "Notes", of: "_bob") && !opened.hasShares(inZoneNamed: "Work"))
    }

    @Test func `the ID of a scope names the share and the root, whatever else a manifest says`() throws {
        let first = try ScopeManifest(own.firstKey(at: place, share: ("share", "list"), stamp: 1_000, using: random).manifest).parts
        #expect(first.isScope(ofShare: "share") && !first.isScope(ofShare: "other") && !first.isScope(ofShare: nil))
        var moved = first
        moved.root = "diary"
        #expect(!moved.isScope(ofShare: "share"))
        moved.root = ""
        #expect(!moved.isScope(ofShare: "share"))
        moved = first
        moved.place = try #require(Place(owner: place.owner, zone: "Work"))
        #expect(!moved.isScope(ofShare: "share"))
    }

    @Test func `the way to the root of a share goes by records with manifests, and a root that the share does not have ends nothing`() throws {
        let scope = try #require(ScopeID([UInt8](repeating: 1, count: ScopeID.length)))
        var tree = RecordTree()
        tree.nodes = [
            "list": .init(parent: nil, share: "share", scope: nil), "item": .init(parent: "list", share: nil, scope: scope),
            "leaf": .init(parent: "item", share: nil, scope: scope), "plain": .init(parent: "list", share: nil, scope: nil),
            "below": .init(parent: "plain", share: nil, scope: scope), "alone": .init(parent: nil, share: nil, scope: scope),
            "claimed": .init(parent: nil, share: "share", scope: scope), "ring": .init(parent: "ring", share: nil, scope: scope),
            "hidden": .init(parent: "list", share: nil, scope: scope, isRootOfScope: true),
            "inside": .init(parent: "hidden", share: nil, scope: scope),
        ]
        func share(above name: String) -> Result<String?, SecretFault> { tree.share(above: name, roots: ["share": "list"]) }
        for name in ["list", "item", "leaf"] { #expect(share(above: name) == .success("share")) }
        #expect(share(above: "below") == .failure(.cannotBeSealed), "nobody has signed the parent of a plain record")
        for name in ["alone", "claimed", "ring"] { #expect(share(above: name) == .success(nil), "\(name)") }
        for name in ["hidden", "inside"] { #expect(share(above: name) == .success(nil), "no manifest has the parent of a root") }
    }
}
