import Foundation
import NacreCloudWire
import Testing

@testable import CloudKit

/// Tests of `CKShare` before any request.
struct ShareTests {
    private static let zoneID = CKRecordZone.ID(zoneName: "Trips")

    private func participant(_ user: String, role: CKShare.ParticipantRole = .privateUser) -> CKShare.Participant {
        let id = CKRecord.ID(recordName: user)
        let made = CKShareParticipant(
            inviting: CKUserIdentity(userRecordID: id, lookupInfo: nil, nameComponents: nil, hasiCloudAccount: true))
        made.role = role
        return made
    }

    @Test func `a new share has its owner, permits nobody, and has no URL`() {
        let share = CKShare(recordZoneID: Self.zoneID)
        #expect(share.recordType == CKRecord.SystemType.share && share.recordID == CKRecord.ID(recordName: "cloudkit.zoneshare", zoneID: Self.zoneID))
        #expect(share.publicPermission == .none && share.url == nil && share.participants.map(\.role) == [.owner])
        #expect(share.currentUserParticipant?.role == .owner && share.owner.permission == .readWrite)
        #expect(share.snapshot.fault == nil)
    }

    @Test func `a share of a root record is the root's share`() {
        let root = CKRecord(recordType: "Trip", recordID: CKRecord.ID(recordName: "root", zoneID: Self.zoneID))
        let share = CKShare(rootRecord: root)
        #expect(share.recordID.zoneID == Self.zoneID && root.share?.recordID == share.recordID)
        #expect(share.snapshot.change(policy: .ifServerRecordUnchanged).sharing?.value.forRecord == "root")
    }

    @Test func `system fields may be set, and other names with dots may not`() {
        let share = CKShare(recordZoneID: Self.zoneID)
        share[CKShare.SystemFieldKey.title] = "Lisbon"
        share[CKShare.SystemFieldKey.shareType] = "trip"
        #expect(share.snapshot.fault == nil && share.changedKeys() == ["cloudkit.title", "cloudkit.type"])
        share["cloudkit.other"] = "x"
        #expect(share.snapshot.fault?.reason == .invalidKey)
        let record = CKRecord(recordType: "Trip")
        record[CKShare.SystemFieldKey.title] = "Lisbon"
        #expect(record.snapshot.fault?.reason == .invalidKey, "a record that is no share has no such field")
        #expect(CKRecord(recordType: CKRecord.SystemType.share).snapshot.fault?.reason == .invalidRecordType)
    }

    @Test func `opening a share takes back its invitations, and closing it takes everybody out`() {
        let share = CKShare(recordZoneID: Self.zoneID)
        share.addParticipant(participant("_ben"))
        #expect(share.participants.count == 2)
        share.publicPermission = .readOnly
        #expect(share.participants.map(\.role) == [.owner])
        share.addParticipant(participant("_ben"))
        #expect(share.participants.count == 1 && share.snapshot.fault?.reason == .participantOfPublicShare)
        share.publicPermission = .none
        #expect(share.snapshot.fault == nil)
        share.addParticipant(participant("_ben"))
        #expect(share.participants.count == 2 && share.snapshot.fault == nil)
    }

    @Test func `adding somebody again changes what they may, and the owner is neither added nor removed`() {
        let share = CKShare(recordZoneID: Self.zoneID)
        share.addParticipant(participant("_ben"))
        let again = participant("_ben", role: .administrator)
        again.permission = .readWrite
        share.addParticipant(again)
        #expect(share.participants.map(\.role) == [.owner, .administrator] && share.participants.last?.permission == .readWrite)
        share.removeParticipant(share.participants[0])
        #expect(share.participants.count == 2 && share.snapshot.fault?.reason == .shareOwner)
        share.removeParticipant(again)
        #expect(share.participants.count == 1 && share.snapshot.fault == nil)
        share.removeParticipant(again)
        #expect(share.snapshot.fault?.reason == .participantNotThere)
    }

    @Test func `participants are equal by their ID, their user or their address`() {
        let ben = participant("_ben")
        #expect(ben == ben.duplicate() && ben == participant("_ben") && ben != participant("_cleo"))
        func mailed(_ address: String) -> CKShare.Participant {
            CKShareParticipant(
                inviting: CKUserIdentity(
                    userRecordID: nil, lookupInfo: CKUserIdentity.LookupInfo(emailAddress: address), nameComponents: nil, hasiCloudAccount: false))
        }
        #expect(mailed("a@example.com") == mailed("a@example.com") && mailed("a@example.com") != mailed("b@example.com"))
        #expect(Set([ben, participant("_ben"), participant("_cleo")]).count == 2)
    }

    @Test func `a copy is a share, and its participants are its own`() throws {
        let share = CKShare(recordZoneID: Self.zoneID)
        share.addParticipant(participant("_ben"))
        let copy = try #require(share.copy() as? CKShare)
        copy.participants.last?.permission = .readWrite
        #expect(copy.participants.count == 2 && share.participants.last?.permission == .readOnly)
    }

    @Test func `the owner and the current user are participants, and a change to one shows in all, in copies and archives`() throws {
        let share = CKShare(rootRecord: CKRecord(recordType: "Trip", recordID: CKRecord.ID(zoneID: Self.zoneID)))
        share.publicPermission = .readOnly
        share.currentUserParticipant?.permission = .readOnly
        let system = NSKeyedArchiver(requiringSecureCoding: true)
        share.encodeSystemFields(with: system)
        let whole = try NSKeyedArchiver.archivedData(withRootObject: share, requiringSecureCoding: true)
        let others = [
            try #require(share.copy() as? CKShare), try #require(CKShare(coder: try NSKeyedUnarchiver(forReadingFrom: system.encodedData))),
            try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.self, from: whole)),
        ]
        for one in [share] + others {
            #expect(one.publicPermission == .readOnly && one.participants.map(\.permission) == [.readOnly])
            #expect(one.owner === one.participants.first && one.currentUserParticipant === one.owner)
        }
        share.owner.permission = .readWrite
        #expect(share.participants.first?.permission == .readWrite && others.allSatisfy { $0.owner.permission == .readOnly })
    }

    @Test func `a participant's own permission is one of the list, in a share of the server's`() throws {
        func wire(_ id: String, _ role: NacreCloudWire.ParticipantRole) -> ShareParticipant {
            ShareParticipant(
                participantID: id, identity: ParticipantIdentity(userRecordName: "_\(id)"), role: role, permission: .readWrite, acceptance: .accepted)
        }
        let (owner, own) = (wire("owner", .owner), wire("ben", .privateUser))
        var record = RecordChangeTests.fetched([:])
        record.sharing = Box(
            ShareDetails(shortGUID: "g", publicPermission: .none, participants: [owner, own], owner: owner, currentUserParticipant: own))
        let share = try #require(CKRecord.make(wire: record, recordID: CKRecord.ID(recordName: "s", zoneID: Self.zoneID)) as? CKShare)
        share.currentUserParticipant?.permission = .readOnly
        #expect(share.participants.map(\.permission) == [.readWrite, .readOnly] && share.owner === share.participants[0])
        let sent = share.snapshot.change(policy: .ifServerRecordUnchanged).sharing?.value.participants
        #expect(sent?.map(\.permission) == [.readWrite, .readOnly])
    }

    @Test func `who is claimed by a one-time URL has neither name nor URL before the share is saved, and two of them are two`() throws {
        let share = CKShare(recordZoneID: Self.zoneID)
        let (first, second) = (CKShare.Participant.oneTimeURLParticipant(), CKShare.Participant.oneTimeURLParticipant())
        #expect(first.userIdentity.userRecordID == nil && first.userIdentity.lookupInfo == nil && first.userIdentity.nameComponents == nil)
        #expect(first.role == .privateUser && first.permission == .readOnly && first.acceptanceStatus == .pending && first.dateAddedToShare == nil)
        #expect(first != second)
        for one in [first, second, first] { share.addParticipant(one) }
        #expect(share.participants.count == 3 && share.snapshot.fault == nil)
        #expect(share.oneTimeURL(for: first.participantID) == nil)
        let sent = share.snapshot.change(policy: .ifServerRecordUnchanged).sharing?.value.participants ?? []
        #expect(sent.map(\.isOneTime) == [false, true, true] && sent.allSatisfy { $0.oneTimeSecret == nil })
        #expect(try #require(share.copy() as? CKShare).snapshot.change(policy: .ifServerRecordUnchanged).sharing?.value.participants == sent)
    }

    @Test func `a URL names a share by what follows its last folder`() throws {
        let server = try #require(URL(string: "https://cloud.example.com/base"))
        let url = try #require(ShareURL.url(of: "abc", server: server))
        #expect(url.absoluteString == "https://cloud.example.com/base/share/abc")
        #expect(ShareURL.shortGUID(in: try #require(URL(string: "https://cloud.example.com/share/abc#Lisbon"))) == "abc")
        #expect(ShareURL.titled(url, "Our trip #1").absoluteString == "https://cloud.example.com/base/share/abc#Our%20trip%20%231")
        #expect(ShareURL.shortGUID(in: ShareURL.titled(url, "a/b c")) == "abc")
        #expect(ShareURL.titled(url, nil) == url && ShareURL.titled(url, "") == url)
        for path in ["/abc", "/share/", "/other/abc", ""] {
            #expect(ShareURL.shortGUID(in: try #require(URL(string: "https://cloud.example.com\(path)"))) == nil, "\(path)")
        }
    }
}
