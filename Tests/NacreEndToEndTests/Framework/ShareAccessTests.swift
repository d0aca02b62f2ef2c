import CloudKit
import Foundation
import Testing

/// Ways into a share for who was not invited by name, as the apps of Ada, Ben and Cleo see them.
struct ShareAccessTests {
    private static let ben = "ben@example.com"
    private static let cleo = "cleo@example.com"
    private static let zoneID = CKRecordZone.ID(zoneName: "Trips")

    private struct Scene {
        let ada: Device
        let ben: Device
        let cleo: Device
        let server: URL

        func saved(_ change: (CKShare) async throws -> Void) async throws -> CKShare {
            let id = CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: ShareAccessTests.zoneID)
            let share = try await ada.database.records(for: [id])[id].flatMap { try? $0.get() as? CKShare } ?? CKShare(recordZoneID: id.zoneID)
            try await change(share)
            return try #require(try await ada.database.save(share) as? CKShare)
        }
    }

    private static func with(_ body: (Scene) async throws -> Void) async throws {
        try await RunningServer.with { server in
            let cloud = try await NewCloud(server)
            for email in [Device.ada, ben, cleo] { try await cloud.addUser(email) }
            let scene = Scene(
                ada: try await Device(of: Device.ada, cloud), ben: try await Device(of: ben, cloud), cleo: try await Device(of: cleo, cloud),
                server: try #require(URL(string: "\(server.url)")))
            try await scene.ada.database.save(CKRecordZone(zoneID: zoneID))
            try await body(scene)
        }
    }

    private func failure(_ body: () async throws -> Void) async -> CKError? { await #expect(throws: CKError.self) { try await body() } }

    @Test func `a one-time URL is for who comes first, and the owner sees who came`() async throws {
        try await Self.with { scene in
            let guest = CKShare.Participant.oneTimeURLParticipant()
            guest.permission = .readWrite
            let share = try await scene.saved { $0.addParticipant(guest) }
            let url = try #require(share.oneTimeURL(for: guest.participantID))
            let whole = try #require(share.url)
            #expect(url != whole && url.absoluteString.hasPrefix(whole.absoluteString))
            #expect(share.participants.last?.acceptanceStatus == .pending && share.participants.last?.dateAddedToShare != nil)

            let metadata = try await scene.ben.container.shareMetadata(for: url)
            #expect(
                metadata.participantStatus == .pending && metadata.participantPermission == .readWrite && metadata.participantRole == .privateUser)
            #expect(metadata.share.oneTimeURL(for: guest.participantID) == nil)
            let kept = try NSKeyedArchiver.archivedData(withRootObject: metadata, requiringSecureCoding: true)
            let read = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShareMetadata.self, from: kept))
            #expect(try await scene.ben.container.accept(read).currentUserParticipant?.acceptanceStatus == .accepted)
            let shared = CKRecordZone.ID(zoneName: Self.zoneID.zoneName, ownerName: try await scene.ada.container.userRecordID().recordName)
            #expect(try await scene.ben.container.sharedCloudDatabase.allRecordZones().map(\.zoneID) == [shared])

            let late = await failure { _ = try await scene.cleo.container.shareMetadata(for: url) }
            let unknown = await failure { _ = try await scene.cleo.container.shareMetadata(for: scene.server.appendingPathComponent("share/nosuch")) }
            #expect(late?.code == unknown?.code && late?.localizedDescription == unknown?.localizedDescription)

            let now = try await scene.saved { $0[CKShare.SystemFieldKey.title] = "Lisbon" }
            #expect(now.oneTimeURL(for: guest.participantID) == url, "stable as long as the participant is in the share")
            #expect(now.participants.last?.acceptanceStatus == .accepted)
            #expect(now.participants.last?.userIdentity.userRecordID == (try await scene.ben.container.userRecordID()))
            let archive = try NSKeyedArchiver.archivedData(withRootObject: now, requiringSecureCoding: true)
            let back = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.self, from: archive))
            #expect(back.oneTimeURL(for: guest.participantID) == url)
            #expect(back.participants.last?.dateAddedToShare == now.participants.last?.dateAddedToShare)
            #expect(try await scene.ben.container.shareMetadata(for: url).participantStatus == .accepted, "to who used it as the share's own URL")
        }
    }
}
