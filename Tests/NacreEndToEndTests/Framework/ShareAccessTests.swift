import CloudKit
import Foundation
import NacreCloudTestSupport
import Testing

/// Tests of access to a share for users who were not invited by name, in the apps of Ada, Ben and Cleo.
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

        /// Requests access.
        /// - Returns: The error; nil: it was requested.
        func refusal(of device: Device, at url: URL) async -> CKError? {
            do {
                try await device.container.requestShareAccess(for: [url])[url]?.get()
                return nil
            } catch {
                return error as? CKError
            }
        }
    }

    /// Runs the scene.
    /// - Parameter benSignsUp: Whether Ben has made his account himself, and only claims its address.
    private static func with(benSignsUp: Bool = false, _ body: (Scene) async throws -> Void) async throws {
        try await RunningServer.with(benSignsUp ? ["--open-sign-up"] : []) { server in
            let cloud = try await NewCloud(server)
            for email in [Device.ada, cleo] { try await cloud.addUser(email) }
            if benSignsUp { try await cloud.signUp(ben) } else { try await cloud.addUser(ben) }
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

    @Test func `nobody asks for access with an address that is not verified`() async throws {
        try await Self.with(benSignsUp: true) { scene in
            let url = try #require(try await scene.saved { $0.allowsAccessRequests = true }.url)
            let operation = CKShareRequestAccessOperation(shareURLs: [url])
            let results = await withCheckedContinuation { (done: CheckedContinuation<[URL: Result<Void, any Error>], Never>) in
                let collected = Collected()
                operation.perShareAccessRequestResultBlock = { collected.results[$0] = $1 }
                operation.shareAccessRequestResultBlock = { result in
                    if case .failure(let error) = result { Issue.record(error) }
                    done.resume(returning: collected.results)
                }
                scene.ben.container.add(operation)
            }
            #expect(results.count == 1)
            #expect(throws: CKError.self) { try results[url]?.get() }
            #expect((results[url]?.failure as? CKError)?.code == .participantMayNeedVerification)
            #expect(try await scene.saved { _ in }.requesters.isEmpty)
        }
    }

    @Test func `who asks for access is seen by the owner and approved`() async throws {
        try await Self.with { scene in
            let closed = try await scene.saved { _ in }
            let url = try #require(closed.url)
            let hidden = await scene.refusal(of: scene.ben, at: url)
            let unknown = await scene.refusal(of: scene.ben, at: scene.server.appendingPathComponent("share/nosuch"))
            #expect(hidden != nil && hidden?.code == unknown?.code && hidden?.localizedDescription == unknown?.localizedDescription)

            let open = try await scene.saved { $0.allowsAccessRequests = true }
            #expect(open.allowsAccessRequests && open.requesters.isEmpty && open.blockedIdentities.isEmpty)
            #expect(await scene.refusal(of: scene.ben, at: url) == nil)
            let asked = try await scene.saved { _ in }
            let requester = try #require(asked.requesters.first)
            #expect(asked.requesters.count == 1 && requester.participantLookupInfo.emailAddress == Self.ben)
            let archive = try NSKeyedArchiver.archivedData(withRootObject: asked, requiringSecureCoding: true)
            let back = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.self, from: archive)
            #expect(back?.requesters == asked.requesters && back?.allowsAccessRequests == true)

            let info = requester.participantLookupInfo
            let participant = try #require(try await scene.ada.container.shareParticipants(for: [info])[info]?.get())
            let answered = try await scene.saved { $0.addParticipant(participant) }
            #expect(answered.requesters.isEmpty && answered.participants.last?.isApprovedRequester == true)
            #expect(await scene.refusal(of: scene.ben, at: url)?.code == .participantAlreadyInvited)
            let accepted = try await scene.ben.container.accept(try await scene.ben.container.shareMetadata(for: url))
            #expect(accepted.currentUserParticipant?.isApprovedRequester == true && accepted.requesters.isEmpty)

            // A participant cannot decide on requests.
            let shared = CKRecordZone.ID(zoneName: Self.zoneID.zoneName, ownerName: try await scene.ada.container.userRecordID().recordName)
            let id = CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: shared)
            let seen = try #require(try await scene.ben.container.sharedCloudDatabase.record(for: id) as? CKShare)
            #expect(seen.requesters.isEmpty && seen.blockedIdentities.isEmpty)
            seen.allowsAccessRequests = false
            #expect(await failure { _ = try await scene.ben.container.sharedCloudDatabase.save(seen) }?.code == .invalidArguments)
        }
    }

    @Test func `who asks for access is denied, asks again, is blocked, and unblocked`() async throws {
        try await Self.with { scene in
            let open = try await scene.saved { $0.allowsAccessRequests = true }
            let url = try #require(open.url)
            #expect(await scene.refusal(of: scene.cleo, at: url) == nil)
            let denied = try await scene.saved { $0.denyRequesters($0.requesters) }
            #expect(denied.requesters.isEmpty && denied.blockedIdentities.isEmpty)
            #expect(await scene.refusal(of: scene.cleo, at: url) == nil, "who was denied may ask again")
            let blocked = try await scene.saved { $0.blockRequesters($0.requesters) }
            #expect(blocked.requesters.isEmpty && blocked.blockedIdentities.map { $0.userIdentity.lookupInfo?.emailAddress } == [Self.cleo])
            let unknown = await scene.refusal(of: scene.cleo, at: scene.server.appendingPathComponent("share/nosuch"))
            #expect(await scene.refusal(of: scene.cleo, at: url)?.localizedDescription == unknown?.localizedDescription)
            let free = try await scene.saved { $0.unblockIdentities($0.blockedIdentities) }
            #expect(free.blockedIdentities.isEmpty)
            #expect(await scene.refusal(of: scene.cleo, at: url) == nil)
        }
    }
}

/// The results that an operation passes on its callback queue.
private final class Collected: @unchecked Sendable {
    // Sendable: touched on the callback queue alone.
    var results: [URL: Result<Void, any Error>] = [:]
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
