import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of manifests through the cloud: `docs/encryption.md`, "Record manifest".
@Suite struct RecordManifestTests {
    private static let zone = TreeScene.zone

    private func sealed(_ byte: UInt8) -> FieldValue {
        .sealed(SealedValue(type: .string, keyID: ManifestBytes.keyID(in: Self.zone), bytes: [byte]))
    }

    /// Returns a save of an encrypted field with its manifest.
    private func save(
        _ byte: UInt8, in name: String, stamp: UInt64, parent: String = "", over base: [UInt8]? = nil
    ) -> (operation: RecordOperation, manifest: [UInt8]) {
        let bytes = ManifestBytes(in: Self.zone, stamp: stamp, parent: parent, ["secret": [byte]]).written { SHA256.digest($0) }
        var operation = RecordOperation.update(name, ["secret": sealed(byte)])
        operation.change.manifest = RecordChange.Manifest(bytes: bytes, base: base.map { SHA256.digest($0) })
        return (operation, bytes)
    }

    @Test(arguments: Engine.ofRules)
    func `a client without keys changes what is plain, and the manifest stays until the record goes`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone(Self.zone)
        try await ann.makeScope(in: Self.zone)
        let first = save(1, in: "r", stamp: 1)
        #expect(try await ann.modify([first.operation], zone: Self.zone, id: "op").first?.record?.manifest == first.manifest)
        #expect(try await ann.modify([first.operation], zone: Self.zone, id: "op").first?.record?.manifest == first.manifest, "a repetition")
        #expect(try await ann.modify([first.operation], zone: Self.zone).first?.record?.manifest == first.manifest, "the same save again")
        #expect(try await ann.modify([.update("r", ["n": .int64(1)])], zone: Self.zone).first?.record?.manifest == first.manifest)
        try await ann.modify([.create("c", parent: "r")], zone: Self.zone)
        #expect(try await ann.changes(Self.zone, keys: []).records.compactMap(\.record?.manifest) == [first.manifest], "the parent is touched")

        let results = try await ann.modify([.update("r", ["secret": sealed(2)]), .update("c", ["n": .int64(2)])], zone: Self.zone, atomic: true)
        #expect(results.map(\.error?.code) == [.badRequest, .atomicError])
        #expect(results.first?.error?.field == "secret")
        #expect(try await ann.lookup(["c"], zone: Self.zone).first?.record?.fields["n"] == nil)

        let stale = try await ann.modify([save(3, in: "r", stamp: 3, over: [0]).operation], zone: Self.zone).first?.error
        #expect(stale?.code == .conflict && stale?.serverRecord?.value.manifest == first.manifest)
        let second = save(3, in: "r", stamp: 3, over: first.manifest)
        #expect(try await ann.modify([second.operation], zone: Self.zone).first?.record?.manifest == second.manifest)

        try await ann.modify([.delete("c"), .delete("r")], zone: Self.zone)
        #expect(try await ann.modify([save(4, in: "r", stamp: 4, over: second.manifest).operation], zone: Self.zone).first?.error == .recordNotFound)
        #expect(try await ann.modify([.update("r", ["secret": sealed(5)])], zone: Self.zone).first?.error == .manifestNeeded("secret"))
        #expect(try await test.check() == [])
    }

    @Test(arguments: Engine.ofRules)
    func `a participant sees the manifests of shared records, and saves over the one that it has read`(engine: Engine) async throws {
        let tree = try await TreeScene(engine)
        try await tree.join("trip", as: "S", ["_ben": .readWrite])
        try await tree.scene.world.runAllTasks()
        try await tree.ada.makeScope(in: Self.zone)
        let first = save(1, in: "stop", stamp: 1, parent: "day")
        #expect(try await tree.ada.modify([first.operation], zone: Self.zone).first?.error == nil)
        let ben = tree.guest("_ben")
        #expect(try await ben.lookup(["stop"], zone: Self.zone).first?.record?.manifest == first.manifest)
        #expect(try await tree.move("stop", below: "night", by: ben)?.field == "parent", "the manifest says where it hangs")
        let second = save(2, in: "stop", stamp: 2, parent: "day", over: first.manifest)
        #expect(try await ben.modify([second.operation], zone: Self.zone).first?.record?.manifest == second.manifest)
        let late = try await tree.ada.modify([save(3, in: "stop", stamp: 3, parent: "day", over: first.manifest).operation], zone: Self.zone)
        #expect(late.first?.error?.serverRecord?.value.manifest == second.manifest)
        // The change of a share's reach writes records anew.
        try await tree.ada.modify([.delete("S")], zone: Self.zone)
        try await tree.scene.world.runAllTasks()
        #expect(try await tree.ada.lookup(["stop"], zone: Self.zone).first?.record?.manifest == second.manifest)
        #expect(try await tree.scene.world.check() == [])
    }
}
