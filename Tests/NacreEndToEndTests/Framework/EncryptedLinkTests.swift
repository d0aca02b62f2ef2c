import Foundation
import NacreEncryption
import NacreEncryptionForms
import Testing

@testable import CloudKit

/// Tests of encrypted values for who comes by a link of the share of Ada's zone.
extension EncryptedShareTests {
    /// Returns a share's URL as far as it goes to a server.
    private static func bare(_ url: URL) throws -> URL {
        var parts = try #require(URLComponents(url: url, resolvingAgainstBaseURL: false))
        parts.fragment = nil
        return try #require(parts.url)
    }

    private func accept(_ url: URL, by app: CKContainer) async throws { _ = try await app.accept(try await app.shareMetadata(for: url)) }

    @Test func `who comes by the link of a share reads values and writes others, also in a later process and as a named participant`() async throws {
        try await Self.with { scene in
            let (ada, ben) = (try scene.app(of: Device.ada), try scene.app(of: Self.ben))
            try await ada.privateCloudDatabase.save(Self.note("measles"))
            let share = try await scene.share(by: ada) { $0.publicPermission = .readWrite }
            let url = try #require(share.url)
            let secret = try #require(ShareURL.link(in: url))
            #expect(!"\(share)".contains(secret))
            try await accept(url, by: ben)
            #expect(try await scene.diagnosis(by: ben) == "measles")
            let record = try await ben.sharedCloudDatabase.record(for: CKRecord.ID(recordName: "one", zoneID: scene.seen))
            try await ben.sharedCloudDatabase.save(Self.note("mumps", over: record))
            let later = try scene.app(of: Self.ben)
            #expect(try await scene.diagnosis(by: later) == "mumps")
            // Ada's device reads what somebody has written whom no manifest names, and then names them.
            #expect(try await scene.app(of: Device.ada).privateCloudDatabase.record(for: Self.one).encryptedValues["diagnosis"] as? String == "mumps")
            let seen = try #require(try await ada.privateCloudDatabase.record(for: Self.shareID) as? CKShare)
            #expect(seen.url == url)
            let keys = try await scene.keys(of: try scene.app(of: Device.ada))
            #expect(keys.newest.id.version == 1 && keys.manifest.parts.participants.map(\.role).contains(.publicUser))
            #expect(try await scene.diagnosis(by: try scene.app(of: Self.ben)) == "mumps")
        }
    }

    @Test func `a URL without its secret shows no values, and a save says what to do`() async throws {
        try await Self.with { scene in
            let (ada, ben) = (try scene.app(of: Device.ada), try scene.app(of: Self.ben))
            try await ada.privateCloudDatabase.save(Self.note("measles"))
            let url = try #require(try await scene.share(by: ada) { $0.publicPermission = .readWrite }.url)
            try await accept(Self.bare(url), by: ben)
            #expect(try await scene.diagnosis(by: ben) == nil)
            let record = try await ben.sharedCloudDatabase.record(for: CKRecord.ID(recordName: "one", zoneID: scene.seen))
            let error = try await refusal { try await ben.sharedCloudDatabase.save(Self.note("mumps", over: record)) }
            #expect(error.code == .accountTemporarilyUnavailable)
            #expect((error.userInfo["CKErrorRemedy"] as? String)?.contains("whole URL") == true)
            try await accept(url, by: ben)
            #expect(try await scene.diagnosis(by: ben) == "measles")
        }
    }

    @Test func `a one-time link gives its keys once, and the permission of the owner's app`() async throws {
        try await Self.with { scene in
            let ada = try scene.app(of: Device.ada)
            let ben = try scene.app(of: Self.ben)
            try await ada.privateCloudDatabase.save(Self.note("measles"))
            let participant = CKShare.Participant.oneTimeURLParticipant()
            participant.permission = .readWrite
            let share = try await scene.share(by: ada) { $0.addParticipant(participant) }
            let url = try #require(share.oneTimeURL(for: participant.participantID))
            #expect(ShareURL.link(in: url) != nil && share.url.flatMap(ShareURL.link) == nil)
            try await accept(url, by: ben)
            #expect(try await scene.diagnosis(by: ben) == "measles")
            _ = try await ada.privateCloudDatabase.record(for: Self.shareID)
            let keys = try await scene.keys(of: try scene.app(of: Device.ada))
            #expect(keys.links.isEmpty && keys.manifest.parts.participants.count == 2)
            let later = try scene.app(of: Self.ben)
            let record = try await later.sharedCloudDatabase.record(for: CKRecord.ID(recordName: "one", zoneID: scene.seen))
            try await later.sharedCloudDatabase.save(Self.note("mumps", over: record))
        }
    }
}
