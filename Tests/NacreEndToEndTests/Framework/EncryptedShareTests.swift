import Foundation
import NacreCloudTestSupport
import NacreEncryption
import NacreEncryptionForms
import Testing

@testable import CloudKit

/// Tests of encrypted values in a zone that Ada shares with Ben and Cleo, over a server in its own process. Each device
/// keeps its keys in a folder of its own.
@Suite(.timeLimit(.minutes(5))) struct EncryptedShareTests {
    static let ben = "ben@example.com"
    static let cleo = "cleo@example.com"
    static let one = Device.recordID("one")
    static let shareID = CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: Device.zoneID)

    struct Scene {
        let cloud: NewCloud
        let folder: TemporaryFolder
        let tokens: [String: String]
        /// Ada's zone in the shared databases of others.
        let seen: CKRecordZone.ID

        /// Starts an app on a device.
        func app(of user: String, on device: String = "phone") throws -> CKContainer {
            let server = CloudKitServer(
                url: try WebServicesClient.url(cloud.server.url), environment: .development, apiToken: cloud.apiToken, accountToken: tokens[user])
            let store = KeyStore(folder: "\(folder.path)/\(user)/\(device)")
            return CKContainer(line: ServerLine(identifier: cloud.container, source: .explicit(server), keyStore: store, log: { _ in }))
        }

        /// Starts an app on a device that has keys of its user.
        func appWithKeys(of user: String) async throws -> CKContainer {
            let app = try app(of: user)
            let record = CKRecord(recordType: "Note")
            record.encryptedValues["diagnosis"] = "none"
            try await app.privateCloudDatabase.save(record)
            return app
        }

        /// Has one of Ada's devices save the share of her zone.
        @discardableResult
        func share(by ada: CKContainer, _ change: (CKShare) async throws -> Void) async throws -> CKShare {
            let id = EncryptedShareTests.shareID
            let share =
                try await ada.privateCloudDatabase.records(for: [id])[id].flatMap { try? $0.get() as? CKShare } ?? CKShare(recordZoneID: id.zoneID)
            try await change(share)
            return try #require(try await ada.privateCloudDatabase.save(share) as? CKShare)
        }

        func participant(_ other: CKContainer, _ permission: CKShare.ParticipantPermission, by ada: CKContainer) async throws -> CKShare.Participant {
            let participant = try await ada.shareParticipant(forUserRecordID: try await other.userRecordID())
            participant.permission = permission
            return participant
        }

        func accept(_ share: CKShare, by app: CKContainer) async throws {
            _ = try await app.accept(try await app.shareMetadata(for: try #require(share.url)))
        }

        /// Shares Ada's zone with users, who accept.
        func join(_ apps: [CKContainer], by ada: CKContainer) async throws {
            let share = try await share(by: ada) { share in
                for app in apps { share.addParticipant(try await participant(app, .readWrite, by: ada)) }
            }
            for app in apps { try await accept(share, by: app) }
        }

        /// Returns what a participant reads of the first record.
        func diagnosis(by app: CKContainer) async throws -> String? {
            let record = try await app.sharedCloudDatabase.record(for: CKRecord.ID(recordName: "one", zoneID: seen))
            #expect(record["text"] as? String == "bread")
            return record.encryptedValues["diagnosis"] as? String
        }

        /// Returns the keys that a device has for Ada's zone.
        func keys(of app: CKContainer, in zone: CKRecordZone.ID = Device.zoneID) async throws -> ZoneKeys {
            let scope: CKDatabase.Scope = zone == seen ? .shared : .private
            let patience = Patience(requestTimeout: 60, resourceTimeout: nil, retriesNetworkErrors: false)
            return try #require(try await Conversation(line: app.line, scope: scope, patience: patience).zoneKeys(of: zone))
        }
    }

    static func note(_ diagnosis: String, over record: CKRecord? = nil) -> CKRecord {
        let record = record ?? Device.note("one", "bread")
        record.encryptedValues["diagnosis"] = diagnosis
        return record
    }

    static func with(_ body: (Scene) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        try await RunningServer.with { server in
            let cloud = try await NewCloud(server)
            var tokens: [String: String] = [:]
            for user in [Device.ada, ben, cleo] {
                try await cloud.addUser(user)
                tokens[user] = try await cloud.device(of: user)
            }
            let ada = try Device(cloud, token: tokens[Device.ada])
            try await ada.database.save(CKRecordZone(zoneID: Device.zoneID))
            let name = try await ada.container.userRecordID().recordName
            try await body(
                Scene(cloud: cloud, folder: folder, tokens: tokens, seen: CKRecordZone.ID(zoneName: Device.zoneID.zoneName, ownerName: name)))
        }
    }

    func refusal(_ body: () async throws -> Void) async throws -> CKError {
        try #require(await #expect(throws: CKError.self) { try await body() })
    }

    @Test func `a participant reads the values of a shared zone and writes others, which the owner and the feed have`() async throws {
        try await Self.with { scene in
            let (ada, ben) = (try scene.app(of: Device.ada), try await scene.appWithKeys(of: Self.ben))
            try await ada.privateCloudDatabase.save(Self.note("measles"))
            try await scene.join([ben], by: ada)
            let shared = ben.sharedCloudDatabase
            let record = try await shared.record(for: CKRecord.ID(recordName: "one", zoneID: scene.seen))
            #expect(record.encryptedValues["diagnosis"] as? String == "measles")
            try await shared.save(Self.note("mumps", over: record))
            let new = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "two", zoneID: scene.seen))
            try await shared.save(Self.note("flu", over: new))
            for app in [ada, try scene.app(of: Device.ada)] {
                let database = app.privateCloudDatabase
                #expect(try await database.record(for: Self.one).encryptedValues["diagnosis"] as? String == "mumps")
                let changes = try await database.recordZoneChanges(inZoneWith: Device.zoneID, since: nil)
                let two = try #require(changes.modificationResultsByID[Device.recordID("two")]).get().record
                #expect(two.encryptedValues["diagnosis"] as? String == "flu")
            }
            let (owners, participants) = (try await scene.keys(of: ada), try await scene.keys(of: ben, in: scene.seen))
            #expect(owners.newest.id.version == 1 && participants.newest.proof == owners.newest.proof)
        }
    }

    @Test func `a zone that was shared before it had values gets its keys with the first one, for its participants too`() async throws {
        try await Self.with { scene in
            let (ada, ben) = (try scene.app(of: Device.ada), try await scene.appWithKeys(of: Self.ben))
            try await scene.join([ben], by: ada)
            let shared = ben.sharedCloudDatabase
            let early = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "two", zoneID: scene.seen))
            #expect(try await refusal { try await shared.save(Self.note("flu", over: early)) }.code == .invalidArguments)
            try await ada.privateCloudDatabase.save(Self.note("measles"))
            #expect(try await scene.diagnosis(by: ben) == "measles")
            try await shared.save(Self.note("flu", over: early))
        }
    }

    @Test func `a participant without keys gets them when the owner's device meets the share again, and saves nothing before`() async throws {
        try await Self.with { scene in
            let (ada, ben) = (try scene.app(of: Device.ada), try scene.app(of: Self.ben))
            try await ada.privateCloudDatabase.save(Self.note("measles"))
            try await scene.join([ben], by: ada)
            #expect(try await scene.diagnosis(by: ben) == nil)
            let record = try await ben.sharedCloudDatabase.record(for: CKRecord.ID(recordName: "one", zoneID: scene.seen))
            let error = try await refusal { try await ben.sharedCloudDatabase.save(Self.note("mumps", over: record)) }
            #expect(error.code == .accountTemporarilyUnavailable)
            #expect((error.userInfo["CKErrorRemedy"] as? String)?.contains("device of the owner") == true)
            _ = try await ada.privateCloudDatabase.record(for: Self.shareID)
            #expect(try await scene.diagnosis(by: ben) == "measles")
            #expect(try await scene.keys(of: ada).newest.id.version == 1)
        }
    }

    @Test func `a removal and a lower permission make another key at once, which opens what is saved from then on`() async throws {
        try await Self.with { scene in
            let (ben, cleo) = (try await scene.appWithKeys(of: Self.ben), try await scene.appWithKeys(of: Self.cleo))
            let ada = try scene.app(of: Device.ada)
            let saved = try await ada.privateCloudDatabase.save(Self.note("measles"))
            try await scene.join([ben, cleo], by: ada)
            #expect(try await scene.diagnosis(by: cleo) == "measles")
            let old = try await scene.keys(of: ben, in: scene.seen)
            let (bensID, cleosID) = (try await ben.userRecordID(), try await cleo.userRecordID())
            try await scene.share(by: ada) { share in
                share.removeParticipant(try #require(share.participants.first { $0.userIdentity.userRecordID == bensID }))
            }
            let second = try await scene.keys(of: try scene.app(of: Device.ada))
            #expect(second.newest.id.version == 2 && old.key(second.newest.id) == nil && second.key(old.newest.id)?.proof == old.newest.proof)
            try await ada.privateCloudDatabase.save(Self.note("mumps", over: saved))
            #expect(try await refusal { _ = try await scene.diagnosis(by: ben) }.code == .zoneNotFound)
            #expect(try await scene.diagnosis(by: cleo) == "mumps")

            try await scene.share(by: ada) { share in
                try #require(share.participants.first { $0.userIdentity.userRecordID == cleosID }).permission = .readOnly
            }
            let third = try await scene.keys(of: try scene.app(of: Device.ada))
            #expect(third.newest.id.version == 3 && third.manifest.parts.participants.map(\.permission).contains(.readOnly))
            let record = try await scene.app(of: Self.cleo).sharedCloudDatabase.record(for: CKRecord.ID(recordName: "one", zoneID: scene.seen))
            #expect(record.encryptedValues["diagnosis"] as? String == "mumps")
            let refused = try await refusal { try await cleo.sharedCloudDatabase.save(Self.note("flu", over: record)) }
            #expect(refused.code == .permissionFailure)

            try await ada.privateCloudDatabase.deleteRecord(withID: Self.shareID)
            let last = try await scene.keys(of: try scene.app(of: Device.ada))
            #expect(last.newest.id.version == 4 && !last.manifest.parts.isShared)
            #expect(try await scene.app(of: Device.ada).privateCloudDatabase.record(for: Self.one).encryptedValues["diagnosis"] as? String == "mumps")
        }
    }

    @Test func `after a removal a pass seals old values anew, ends the older key, and leaves an edited object in conflict`() async throws {
        try await Self.with { scene in
            let (ada, ben) = (try scene.app(of: Device.ada), try await scene.appWithKeys(of: Self.ben))
            let saved = try await ada.privateCloudDatabase.save(Self.note("measles"))
            try await ada.privateCloudDatabase.save(Device.note("plain", "cake"))
            try await scene.join([ben], by: ada)
            let two = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "two", zoneID: scene.seen))
            try await ben.sharedCloudDatabase.save(Self.note("flu", over: two))
            #expect(try await ada.userKeys().sealAnew() == [], "there is no older key")
            let bensID = try await ben.userRecordID()
            try await scene.share(by: ada) { share in
                share.removeParticipant(try #require(share.participants.first { $0.userIdentity.userRecordID == bensID }))
            }
            let outcome = try await ada.userKeys().sealAnew(zone: Device.zoneID.zoneName)
            #expect(outcome.map(\.zone) == ["Notes"] && outcome.map(\.records) == [2] && outcome.map(\.left) == [0])
            #expect(try await ada.userKeys().sealAnew() == [])
            let next = try scene.app(of: Device.ada)
            for (name, diagnosis) in ["one": "measles", "two": "flu"] {
                let record = try await next.privateCloudDatabase.record(for: Device.recordID(name))
                #expect(record.encryptedValues["diagnosis"] as? String == diagnosis)
            }
            let keys = try await scene.keys(of: next)
            #expect(keys.newest.id.version == 2 && keys.older.isEmpty && keys.manifest.parts.oldest == 2)
            let error = try await refusal { try await ada.privateCloudDatabase.save(Self.note("mumps", over: saved)) }
            #expect(error.code == .serverRecordChanged)
            let server = try #require(error.serverRecord)
            try await ada.privateCloudDatabase.save(Self.note("mumps", over: server))
            #expect(try await next.privateCloudDatabase.record(for: Self.one).encryptedValues["diagnosis"] as? String == "mumps")
        }
    }

    @Test func `A3: a participant whom no device with keys has added gets none, until one adds them`() async throws {
        try await Self.with { scene in
            let (ben, cleo) = (try await scene.appWithKeys(of: Self.ben), try await scene.appWithKeys(of: Self.cleo))
            let ada = try scene.app(of: Device.ada)
            try await ada.privateCloudDatabase.save(Self.note("measles"))
            try await scene.join([ben], by: ada)
            // The server takes whatever a session of Ada's says.
            let other = try scene.app(of: Device.ada, on: "other")
            let share = try await scene.share(by: other) { $0.addParticipant(try await scene.participant(cleo, .readWrite, by: other)) }
            try await scene.accept(share, by: cleo)
            _ = try await ada.privateCloudDatabase.record(for: Self.shareID)
            #expect(try await scene.diagnosis(by: cleo) == nil)
            #expect(try await scene.diagnosis(by: ben) == "measles")
            #expect(try await scene.keys(of: try scene.app(of: Device.ada)).manifest.parts.participants.count == 2)
            try await scene.share(by: ada) { $0.addParticipant(try await scene.participant(cleo, .readWrite, by: ada)) }
            #expect(try await scene.diagnosis(by: cleo) == "measles")
        }
    }
}
