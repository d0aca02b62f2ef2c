import Foundation
import NacreCloudTestSupport
import NacreEncryptionForms
import Testing

@testable import CloudKit

/// Tests of encrypted values in a share of records: Ada shares a list, its items and their notes with others, and
/// nothing else of her zone.
@Suite(.timeLimit(.minutes(5))) struct EncryptedRecordShareTests {
    private typealias Scene = EncryptedShareTests.Scene

    private static let shareID = CKRecord.ID(recordName: "the share", zoneID: Device.zoneID)

    private static func record(_ name: String, _ diagnosis: String, below parent: String? = nil) -> CKRecord {
        let record = Device.note(name, "bread")
        record.encryptedValues["diagnosis"] = diagnosis
        if let parent { record.setParent(Device.recordID(parent)) }
        return record
    }

    private static var tree: [CKRecord] {
        [record("list", "measles"), record("item", "mumps", below: "list"), record("leaf", "flu", below: "item")]
    }

    /// Shares the list, as the device has it, with users who accept.
    private func share(_ list: CKRecord, with apps: [CKContainer], by ada: CKContainer, _ scene: Scene) async throws {
        let share = CKShare(rootRecord: list, shareID: Self.shareID)
        for app in apps { share.addParticipant(try await scene.participant(app, .readWrite, by: ada)) }
        let results = try await ada.privateCloudDatabase.modifyRecords(saving: [list, share], deleting: []).saveResults
        for result in results.values { _ = try result.get() }
        let saved = try #require(try results[Self.shareID]?.get() as? CKShare)
        for app in apps { try await scene.accept(saved, by: app) }
    }

    /// Saves the tree as a share.
    private func shareTree(with apps: [CKContainer], by ada: CKContainer, _ scene: Scene) async throws {
        let tree = Self.tree
        try await share(tree[0], with: apps, by: ada, scene)
        for record in tree[1...] { try await ada.privateCloudDatabase.save(record) }
    }

    private func shared(_ name: String, by app: CKContainer, _ scene: Scene) async throws -> CKRecord {
        try await app.sharedCloudDatabase.record(for: CKRecord.ID(recordName: name, zoneID: scene.seen))
    }

    private func own(_ name: String, by app: CKContainer) async throws -> CKRecord {
        try await app.privateCloudDatabase.record(for: Device.recordID(name))
    }

    /// Returns the scope that the manifest of a record names.
    private func scope(of record: CKRecord) throws -> ScopeID {
        try RecordManifest(try #require(record.snapshot.encrypted.manifest)).parts.keyID.scope
    }

    private func diagnosis(_ record: CKRecord) -> String? { record.encryptedValues["diagnosis"] as? String }

    @Test func `a participant reads and writes three levels below a root, with keys that open nothing else of the zone`() async throws {
        try await EncryptedShareTests.with { scene in
            let (ada, ben) = (try scene.app(of: Device.ada), try await scene.appWithKeys(of: EncryptedShareTests.ben))
            let alone = try await ada.privateCloudDatabase.save(Self.record("alone", "secret"))
            try await shareTree(with: [ben], by: ada, scene)
            for (name, value) in ["list": "measles", "item": "mumps", "leaf": "flu"] {
                #expect(diagnosis(try await shared(name, by: ben, scene)) == value)
            }
            let leaf = try await shared("leaf", by: ben, scene)
            leaf.encryptedValues["diagnosis"] = "cold"
            try await ben.sharedCloudDatabase.save(leaf)
            let new = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "new", zoneID: scene.seen))
            new.encryptedValues["diagnosis"] = "gout"
            new.setParent(leaf.recordID)
            try await ben.sharedCloudDatabase.save(new)
            let fresh = try scene.app(of: Device.ada)
            #expect(diagnosis(try await own("leaf", by: fresh)) == "cold")
            #expect(diagnosis(try await own("new", by: fresh)) == "gout")
            var scopes: Set<ScopeID> = []
            for name in ["list", "leaf", "new"] { scopes.insert(try scope(of: try await own(name, by: fresh))) }
            #expect(scopes.count == 1)
            #expect(try !scopes.contains(scope(of: alone)))
        }
    }

    @Test func `a share that is made over sealed records seals the tree anew, and its end does so for the zone`() async throws {
        try await EncryptedShareTests.with { scene in
            let (ada, ben) = (try scene.app(of: Device.ada), try await scene.appWithKeys(of: EncryptedShareTests.ben))
            var saved: [CKRecord] = []
            for record in Self.tree { saved.append(try await ada.privateCloudDatabase.save(record)) }
            let zone = try scope(of: saved[0])
            try await share(try await own("list", by: ada), with: [ben], by: ada, scene)
            #expect(diagnosis(try await shared("list", by: ben, scene)) == "measles")
            #expect(diagnosis(try await shared("leaf", by: ben, scene)) == "flu")
            try await ada.privateCloudDatabase.deleteRecord(withID: Self.shareID)
            let fresh = try scene.app(of: Device.ada)
            for record in Self.tree {
                let now = try await own(record.recordID.recordName, by: fresh)
                #expect(try scope(of: now) == zone)
                #expect(diagnosis(now) == diagnosis(record))
            }
        }
    }

    @Test func `a record that moves out of the tree takes what hangs on it into the zone's scope, and into the tree again`() async throws {
        try await EncryptedShareTests.with { scene in
            let (ada, ben) = (try scene.app(of: Device.ada), try await scene.appWithKeys(of: EncryptedShareTests.ben))
            let zone = try scope(of: try await ada.privateCloudDatabase.save(Self.record("alone", "secret")))
            try await shareTree(with: [ben], by: ada, scene)
            let inside = try scope(of: try await own("leaf", by: ada))
            for (parent, expected) in [(nil, zone), ("list", inside)] as [(String?, ScopeID)] {
                let item = try await own("item", by: ada)
                item.setParent(parent.map(Device.recordID))
                try await ada.privateCloudDatabase.save(item)
                let fresh = try scene.app(of: Device.ada)
                for (name, value) in ["item": "mumps", "leaf": "flu"] {
                    let record = try await own(name, by: fresh)
                    #expect(try scope(of: record) == expected)
                    #expect(diagnosis(record) == value)
                }
            }
            #expect(diagnosis(try await shared("leaf", by: ben, scene)) == "flu")
        }
    }

    @Test func `a participant who is removed has no key of what is saved in the share from then on, and others read it`() async throws {
        try await EncryptedShareTests.with { scene in
            let (ben, cleo) = (try await scene.appWithKeys(of: EncryptedShareTests.ben), try await scene.appWithKeys(of: EncryptedShareTests.cleo))
            let ada = try scene.app(of: Device.ada)
            try await shareTree(with: [ben, cleo], by: ada, scene)
            #expect(diagnosis(try await shared("leaf", by: ben, scene)) == "flu")
            let bensID = try await ben.userRecordID()
            let share = try #require(try await ada.privateCloudDatabase.record(for: Self.shareID) as? CKShare)
            share.removeParticipant(try #require(share.participants.first { $0.userIdentity.userRecordID == bensID }))
            try await ada.privateCloudDatabase.save(share)
            let leaf = try await own("leaf", by: ada)
            leaf.encryptedValues["diagnosis"] = "cold"
            let saved = try await ada.privateCloudDatabase.save(leaf)
            let key = try RecordManifest(try #require(saved.snapshot.encrypted.manifest)).parts.keyID
            #expect(key.version == 2)
            await #expect(throws: CKError.self) { try await shared("leaf", by: ben, scene) }
            #expect(diagnosis(try await shared("leaf", by: cleo, scene)) == "cold")
        }
    }

    @Test func `the file of a record in the tree is sealed for the share, and a participant opens it`() async throws {
        try await EncryptedShareTests.with { scene in
            let (ada, ben) = (try scene.app(of: Device.ada), try await scene.appWithKeys(of: EncryptedShareTests.ben))
            try await shareTree(with: [ben], by: ada, scene)
            let file = URL(fileURLWithPath: "\(scene.folder.path)/scan")
            try Data("a scan".utf8).write(to: file)
            let item = try await own("item", by: ada)
            item["scan"] = CKAsset(fileURL: file)
            try await ada.privateCloudDatabase.save(item)
            let asset = try #require(try await shared("item", by: ben, scene)["scan"] as? CKAsset)
            #expect(try Data(contentsOf: try #require(asset.fileURL)) == Data("a scan".utf8))
        }
    }
}
