import CloudKit
import Foundation
import NacreLocks
import Testing

/// Tests of a zone that Ada shares, in the apps of Ada, Ben and Cleo.
struct SharingTests {
    private static let ben = "ben@example.com"
    private static let cleo = "cleo@example.com"
    private static let zoneID = CKRecordZone.ID(zoneName: "Trips")

    private struct Scene {
        let ada: Device
        let ben: Device
        let cleo: Device
        let cloud: NewCloud

        func zoneSeenByOthers() async throws -> CKRecordZone.ID {
            CKRecordZone.ID(zoneName: SharingTests.zoneID.zoneName, ownerName: try await ada.container.userRecordID().recordName)
        }

        /// Shares the zone with Ben by user record ID.
        func sharedWithBen(_ permission: CKShare.ParticipantPermission) async throws -> CKShare {
            let share = CKShare(recordZoneID: SharingTests.zoneID)
            share[CKShare.SystemFieldKey.title] = "Lisbon"
            let participant = try await ada.container.shareParticipant(forUserRecordID: try await ben.container.userRecordID())
            participant.permission = permission
            share.addParticipant(participant)
            return try #require(try await ada.database.save(share) as? CKShare)
        }

        func accept(_ share: CKShare, by device: Device) async throws -> CKShare {
            try await device.container.accept(try await device.container.shareMetadata(for: try #require(share.url)))
        }
    }

    private static func trip(_ name: String, _ text: String, in zoneID: CKRecordZone.ID = zoneID) -> CKRecord {
        let record = CKRecord(recordType: "Trip", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
        record["text"] = text
        return record
    }

    private static func with(_ body: (Scene) async throws -> Void) async throws {
        try await RunningServer.with { server in
            let cloud = try await NewCloud(server)
            for email in [Device.ada, ben, cleo] { try await cloud.addUser(email) }
            let scene = Scene(
                ada: try await Device(of: Device.ada, cloud), ben: try await Device(of: ben, cloud), cleo: try await Device(of: cleo, cloud),
                cloud: cloud)
            try await scene.ada.database.save(CKRecordZone(zoneID: zoneID))
            try await scene.ada.database.save(trip("one", "bread"))
            try await body(scene)
        }
    }

    @Test func `a zone that was fetched names its share, to its owner and to participants, and no more when that is gone`() async throws {
        try await Self.with { scene in
            let database = scene.ada.database
            try await database.save(CKRecordZone(zoneName: "Private"))
            #expect(try await database.recordZone(for: Self.zoneID).share == nil)
            let share = try await scene.sharedWithBen(.readOnly)
            let zone = try await database.recordZone(for: Self.zoneID)
            #expect(zone.share?.recordID == share.recordID && zone.capabilities.isSuperset(of: [.sharing, .zoneWideSharing]))
            let all = try await database.allRecordZones()
            #expect(all.filter { $0.share != nil }.map(\.zoneID) == [Self.zoneID] && all.count == 3)
            _ = try await scene.accept(share, by: scene.ben)
            let seen = try #require(try await scene.ben.container.sharedCloudDatabase.allRecordZones().first)
            #expect(seen.share?.recordID == CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: try await scene.zoneSeenByOthers()))
            try await database.deleteRecord(withID: share.recordID)
            #expect(try await database.recordZone(for: Self.zoneID).share == nil)
            // A share of a record belongs to its root, not to the zone.
            let root = try await database.record(for: Self.trip("one", "").recordID)
            _ = try await database.modifyRecords(saving: [root, CKShare(rootRecord: root)], deleting: [])
            #expect(try await database.recordZone(for: Self.zoneID).share == nil)
        }
    }

    @Test func `a zone is shared, accepted, read and written by who may, and closed to who may not`() async throws {
        try await Self.with { scene in
            let share = try await scene.sharedWithBen(.readWrite)
            #expect(share.recordID.recordName == CKRecordNameZoneWideShare && share.url != nil && share.publicPermission == .none)
            #expect(share[CKShare.SystemFieldKey.title] as? String == "Lisbon" && share.url?.fragment == "Lisbon")
            #expect(share.participants.map(\.role) == [.owner, .privateUser] && share.participants.map(\.acceptanceStatus) == [.accepted, .pending])
            #expect(share.owner.userIdentity.userRecordID?.recordName == CKCurrentUserDefaultName)

            let zoneID = try await scene.zoneSeenByOthers()
            let shared = scene.ben.container.sharedCloudDatabase
            #expect(try await shared.allRecordZones().isEmpty, "nothing is shared before it is accepted")
            let early = await #expect(throws: CKError.self) { try await shared.record(for: Self.trip("one", "", in: zoneID).recordID) }
            #expect(early?.code == .zoneNotFound)

            let metadata = try await scene.ben.container.shareMetadata(for: try #require(share.url))
            #expect(metadata.participantRole == .privateUser && metadata.participantStatus == .pending)
            #expect(metadata.participantPermission == .readWrite)
            #expect(metadata.rootRecord == nil && metadata.share[CKShare.SystemFieldKey.title] as? String == "Lisbon")
            let accepted = try await scene.ben.container.accept(metadata)
            #expect(accepted.currentUserParticipant?.acceptanceStatus == .accepted && accepted.currentUserParticipant?.permission == .readWrite)

            #expect(try await shared.allRecordZones().map(\.zoneID) == [zoneID])
            let seen = try await shared.record(for: CKRecord.ID(recordName: "one", zoneID: zoneID))
            #expect(seen["text"] as? String == "bread" && seen.recordID.zoneID == zoneID)
            seen["text"] = "wine"
            try await shared.save(seen)
            try await shared.save(Self.trip("two", "cheese", in: zoneID))
            let mine = try await scene.ada.database.record(for: CKRecord.ID(recordName: "one", zoneID: Self.zoneID))
            #expect(mine["text"] as? String == "wine")
            #expect(mine.lastModifiedUserRecordID == (try await scene.ben.container.userRecordID()))
            let page = try await shared.recordZoneChanges(inZoneWith: zoneID, since: nil)
            #expect(Set(page.modificationResultsByID.keys.map(\.recordName)) == ["one", "two", CKRecordNameZoneWideShare])
            #expect(try await shared.databaseChanges(since: nil).modifications.map(\.zoneID) == [zoneID])

            // Cleo has the URL, and is not invited.
            let stranger = await #expect(throws: CKError.self) { try await scene.cleo.container.shareMetadata(for: try #require(share.url)) }
            let unknown = await #expect(throws: CKError.self) {
                try await scene.cleo.container.shareMetadata(for: try #require(URL(string: "\(scene.cloud.server.url)/share/nosuchshare")))
            }
            #expect(stranger?.code == unknown?.code && stranger?.localizedDescription == unknown?.localizedDescription)
            let closed = await #expect(throws: CKError.self) {
                try await scene.cleo.container.sharedCloudDatabase.record(for: CKRecord.ID(recordName: "one", zoneID: zoneID))
            }
            #expect(closed?.code == .zoneNotFound)
        }
    }

    @Test func `who may only read is refused a save, and a removal takes the zone away at once`() async throws {
        try await Self.with { scene in
            let share = try await scene.sharedWithBen(.readOnly)
            _ = try await scene.accept(share, by: scene.ben)
            let zoneID = try await scene.zoneSeenByOthers()
            let shared = scene.ben.container.sharedCloudDatabase
            let seen = try await shared.record(for: CKRecord.ID(recordName: "one", zoneID: zoneID))
            seen["text"] = "wine"
            let refused = await #expect(throws: CKError.self) { try await shared.save(seen) }
            #expect(refused?.code == .permissionFailure)
            let token = try await shared.databaseChanges(since: nil).changeToken

            let fetched = try #require(try await scene.ada.database.record(for: share.recordID) as? CKShare)
            let participant = try #require(fetched.participants.first { $0.role == .privateUser })
            #expect(participant.acceptanceStatus == .accepted)
            fetched.removeParticipant(participant)
            try await scene.ada.database.save(fetched)
            #expect(fetched.participants.map(\.role) == [.owner])
            let gone = await #expect(throws: CKError.self) { try await shared.record(for: seen.recordID) }
            #expect(gone?.code == .zoneNotFound)
            #expect(try await shared.allRecordZones().isEmpty)
            var deletions: [CKRecordZone.ID] = []
            var since = token
            // The feed's row is made after the commit.
            for _ in 0..<1000 where deletions.isEmpty {
                let changes = try await shared.databaseChanges(since: since)
                deletions += changes.deletions.map(\.zoneID)
                since = changes.changeToken
            }
            #expect(deletions == [zoneID])
        }
    }

    @Test func `who has the URL of an open share gets in, and leaves by deleting it`() async throws {
        try await Self.with { scene in
            let share = CKShare(recordZoneID: Self.zoneID)
            share.publicPermission = .readOnly
            let saved = try #require(try await scene.ada.database.save(share) as? CKShare)
            #expect(share.url == saved.url && share.url != nil, "the instance that was saved has the URL too")
            let accepted = try await scene.accept(saved, by: scene.cleo)
            #expect(accepted.currentUserParticipant?.role == .publicUser)
            let zoneID = try await scene.zoneSeenByOthers()
            let shared = scene.cleo.container.sharedCloudDatabase
            #expect(try await shared.record(for: CKRecord.ID(recordName: "one", zoneID: zoneID))["text"] as? String == "bread")
            try await shared.deleteRecord(withID: accepted.recordID)
            #expect(try await shared.allRecordZones().isEmpty)
            let kept = try #require(try await scene.ada.database.record(for: share.recordID) as? CKShare)
            #expect(kept.participants.map(\.role) == [.owner] && kept.publicPermission == .readOnly)
            // The owner ends the share for all; shared again it has the same URL.
            try await scene.ada.database.deleteRecord(withID: share.recordID)
            let ended = await #expect(throws: CKError.self) { try await scene.accept(saved, by: scene.ben) }
            #expect(ended != nil)
            let again = CKShare(recordZoneID: Self.zoneID)
            again.publicPermission = .readWrite
            #expect((try await scene.ada.database.save(again) as? CKShare)?.url == saved.url)
        }
    }

    @Test func `a record is shared with what hangs on it, edited, and taken back; the rest of the zone and others see nothing`() async throws {
        try await Self.with { scene in
            let root = Self.trip("lisbon", "Lisbon")
            let day = Self.trip("monday", "tram")
            day.setParent(root)
            let share = CKShare(rootRecord: root, shareID: CKRecord.ID(recordName: "lisbon share", zoneID: Self.zoneID))
            let participant = try await scene.ada.container.shareParticipant(forUserRecordID: try await scene.ben.container.userRecordID())
            participant.permission = .readWrite
            share.addParticipant(participant)
            let saved = try await scene.ada.database.modifyRecords(saving: [share, day, root], deleting: [])
            for result in saved.saveResults.values { _ = try result.get() }
            #expect(root.share?.recordID == share.recordID && share.url != nil)
            let url = try #require(share.url)

            let operation = CKFetchShareMetadataOperation(shareURLs: [url])
            operation.shouldFetchRootRecord = true
            operation.rootRecordDesiredKeys = ["text"]
            let fetched: CKShare.Metadata = try await withCheckedThrowingContinuation { continuation in
                operation.perShareMetadataResultBlock = { continuation.resume(with: $1) }
                scene.ben.container.add(operation)
            }
            let zoneID = try await scene.zoneSeenByOthers()
            #expect(fetched.hierarchicalRootRecordID == CKRecord.ID(recordName: "lisbon", zoneID: zoneID))
            #expect(fetched.rootRecordID == fetched.hierarchicalRootRecordID && fetched.rootRecord?["text"] as? String == "Lisbon")
            let kept = try NSKeyedArchiver.archivedData(withRootObject: fetched, requiringSecureCoding: true)
            let read = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShareMetadata.self, from: kept))
            #expect(read.hierarchicalRootRecordID == fetched.hierarchicalRootRecordID && read.rootRecord?["text"] as? String == "Lisbon")
            _ = try await scene.ben.container.accept(fetched)

            let shared = scene.ben.container.sharedCloudDatabase
            let page = try await shared.recordZoneChanges(inZoneWith: zoneID, since: nil)
            #expect(Set(page.modificationResultsByID.keys.map(\.recordName)) == ["lisbon", "monday", "lisbon share"])
            let hidden = await #expect(throws: CKError.self) { try await shared.record(for: CKRecord.ID(recordName: "one", zoneID: zoneID)) }
            #expect(hidden?.code == .unknownItem)
            let seen = try await shared.record(for: CKRecord.ID(recordName: "monday", zoneID: zoneID))
            seen["text"] = "ferry"
            try await shared.save(seen)
            let mine = Self.trip("tuesday", "museum", in: zoneID)
            mine.setParent(seen)
            try await shared.save(mine)
            let free = await #expect(throws: CKError.self) { try await shared.save(Self.trip("free", "", in: zoneID)) }
            #expect(free?.code == .permissionFailure)
            #expect(try await scene.ada.database.record(for: day.recordID)["text"] as? String == "ferry")
            let stranger = await #expect(throws: CKError.self) { try await scene.cleo.container.shareMetadata(for: url) }
            #expect(stranger != nil)
            let closed = await #expect(throws: CKError.self) { try await scene.cleo.container.sharedCloudDatabase.record(for: seen.recordID) }
            #expect(closed?.code == .zoneNotFound)

            let current = try #require(try await scene.ada.database.record(for: share.recordID) as? CKShare)
            current.removeParticipant(try #require(current.participants.first { $0.role == .privateUser }))
            try await scene.ada.database.save(current)
            let gone = await #expect(throws: CKError.self) { try await shared.record(for: seen.recordID) }
            #expect(gone?.code == .zoneNotFound)
            // The share is deleted, and the root is private again; shared again it has the same URL.
            _ = try await scene.ada.database.deleteRecord(withID: share.recordID)
            let bare = try await scene.ada.database.record(for: root.recordID)
            #expect(bare.share == nil)
            let again = CKShare(rootRecord: bare)
            _ = try await scene.ada.database.modifyRecords(saving: [bare, again], deleting: [])
            #expect(again.url == url)
        }
    }

    @Test func `participants are made of any address, shares are accepted in one operation, and nothing is shared in public`() async throws {
        try await Self.with { scene in
            let unknown = try await scene.ada.container.shareParticipant(forEmailAddress: "nobody@example.com")
            #expect(unknown.role == .privateUser && unknown.permission == .readOnly && unknown.acceptanceStatus == .pending)
            #expect(!unknown.userIdentity.hasiCloudAccount && unknown.userIdentity.lookupInfo?.emailAddress == "nobody@example.com")
            let none = CKFetchShareParticipantsOperation(userIdentityLookupInfos: [])
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                none.perShareParticipantResultBlock = { _, _ in Issue.record("nobody was looked for") }
                none.fetchShareParticipantsResultBlock = { continuation.resume(with: $0) }
                scene.ada.container.add(none)
            }

            // Ben is invited to a zone, and Cleo to another one, whose URL Ben knows.
            let first = try await scene.sharedWithBen(.readOnly)
            let other = CKRecordZone.ID(zoneName: "Other")
            try await scene.ada.database.save(CKRecordZone(zoneID: other))
            let second = CKShare(recordZoneID: other)
            second.publicPermission = .readOnly
            try await scene.ada.database.save(second)
            var known: [CKShare.Metadata] = []
            for share in [first, second] { known.append(try await scene.ben.container.shareMetadata(for: try #require(share.url))) }
            let current = try #require(try await scene.ada.database.record(for: second.recordID) as? CKShare)
            current.publicPermission = .none
            try await scene.ada.database.save(current)
            let metadata = known
            let heard = Locked<[String: CKError.Code]>([:])
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let operation = CKAcceptSharesOperation(shareMetadatas: metadata)
                operation.perShareResultBlock = { metadata, result in
                    guard case .failure(let error as CKError) = result else { return }
                    heard.withLock { $0[metadata.share.recordID.zoneID.zoneName] = error.code }
                }
                operation.acceptSharesResultBlock = { continuation.resume(with: $0) }
                scene.ben.container.add(operation)
            }
            #expect(heard.withLock { $0 } == ["Other": .permissionFailure])
            let zoneID = try await scene.zoneSeenByOthers()
            #expect(try await scene.ben.container.sharedCloudDatabase.allRecordZones().map(\.zoneID) == [zoneID])

            let refused = await #expect(throws: CKError.self) {
                try await scene.ada.container.publicCloudDatabase.save(CKShare(recordZoneID: CKRecordZone.default().zoneID))
            }
            #expect(refused?.code == .badDatabase)
        }
    }

    @Test func `shares and metadata come out of an archive as they went in, changes included`() async throws {
        try await Self.with { scene in
            let share = try await scene.sharedWithBen(.readOnly)
            let participant = try #require(share.participants.last)
            participant.permission = .readWrite
            let data = try NSKeyedArchiver.archivedData(withRootObject: share, requiringSecureCoding: true)
            let back = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.self, from: data))
            #expect(back.url == share.url && back.participants.map(\.permission) == [.readWrite, .readWrite])
            // The earlier change is saved now.
            let saved = try #require(try await scene.ada.database.save(back) as? CKShare)
            #expect(saved.participants.map(\.permission) == [.readWrite, .readWrite])
            let metadata = try await scene.ben.container.shareMetadata(for: try #require(share.url))
            let kept = try NSKeyedArchiver.archivedData(withRootObject: metadata, requiringSecureCoding: true)
            let read = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShareMetadata.self, from: kept))
            #expect(read == metadata && read.share.url == share.url && read.participantPermission == .readWrite)
            #expect(try await scene.ben.container.accept(read).currentUserParticipant?.permission == .readWrite)
        }
    }
}
