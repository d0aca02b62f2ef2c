import CloudKit
import Testing

struct AllowedSharingOptionsTests {
    @Test func `options have Apple's numbers, and any is both`() {
        #expect(CKSharingParticipantPermissionOption.readOnly.rawValue == 1 && CKSharingParticipantPermissionOption.readWrite.rawValue == 2)
        #expect(CKSharingParticipantPermissionOption.any.rawValue == 3)
        #expect(
            CKSharingParticipantAccessOption.anyoneWithLink.rawValue == 1 && CKSharingParticipantAccessOption.specifiedRecipientsOnly.rawValue == 2)
        #expect(CKSharingParticipantAccessOption.any.rawValue == 3)
    }

    @Test func `the standard allows anybody anything, but neither invitations by participants nor requests, and is nobody else's to change`() {
        let standard = CKAllowedSharingOptions.standard
        #expect(standard.allowedParticipantPermissionOptions == .any && standard.allowedParticipantAccessOptions == .any)
        #expect(!standard.allowsParticipantsToInviteOthers && !standard.allowsAccessRequests)
        standard.allowsAccessRequests = true
        #expect(!CKAllowedSharingOptions.standard.allowsAccessRequests)
        #expect(CKAllowedSharingOptions.standard != standard)
    }

    @Test func `copies and archives keep each choice, and change nothing in the first`() throws {
        let first = CKAllowedSharingOptions(allowedParticipantPermissionOptions: .readOnly, allowedParticipantAccessOptions: .specifiedRecipientsOnly)
        first.allowsParticipantsToInviteOthers = true
        let copy = try #require(first.copy() as? CKAllowedSharingOptions)
        let archive = try NSKeyedArchiver.archivedData(withRootObject: first, requiringSecureCoding: true)
        let read = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKAllowedSharingOptions.self, from: archive))
        #expect(copy == first && read == first)
        #expect(
            read.allowsParticipantsToInviteOthers && !read.allowsAccessRequests && read.allowedParticipantAccessOptions == .specifiedRecipientsOnly)
        copy.allowedParticipantPermissionOptions = .readWrite
        #expect(first.allowedParticipantPermissionOptions == .readOnly && copy != first)
    }
}
