import Foundation
import NacreCloudWire

/// The encoded form of a share's own data: the current values, and those of the server.
struct ArchivedShare: Codable {
    struct Participant: Codable {
        var id: String
        var user: String?
        var emailAddress: String?
        var phoneNumber: String?
        var lookedUpUser: String?
        var givenName: String?
        var familyName: String?
        var role: Int
        var permission: Int
        var acceptance: Int
        var added: Date?
        var isOneTime: Bool?
        var oneTimeSecret: String?
        var isApprovedRequester: Bool?
    }

    /// The requests for access, in their current or in the server's version.
    struct Requests: Codable {
        struct Identity: Codable {
            var user: String?
            var emailAddress: String?
            var phoneNumber: String?
            var givenName: String?
            var familyName: String?
        }

        var isAllowed: Bool
        var requesters: [Identity]
        var blocked: [Identity]
    }

    var url: String?
    var publicPermission: Int
    var participants: [Participant]
    var owner: Participant
    var currentUser: Participant?
    var rootName: String?
    /// The server's public permission; nil if the server has none.
    var fetchedPermission: String?
    var fetchedParticipants: [Participant]?
    var requests: Requests
    var fetchedRequests: Requests?
}

extension ArchivedShare {
    init(_ sheet: ShareSheet) {
        self.init(
            url: sheet.url?.absoluteString, publicPermission: sheet.publicPermission.rawValue,
            participants: sheet.participants.map(Participant.init), owner: Participant(sheet.owner),
            currentUser: sheet.currentUserParticipant.map(Participant.init), rootName: sheet.rootName,
            fetchedPermission: sheet.fetched?.publicPermission?.rawValue,
            fetchedParticipants: sheet.fetched?.participants?.map { Participant(CKShareParticipant(wire: $0)) },
            requests: Requests(sheet.allowsAccessRequests, sheet.requesters, sheet.blockedIdentities),
            fetchedRequests: sheet.fetched.map { Requests($0.allowsAccessRequests, $0.requesters, $0.blockedIdentities) })
    }
}

extension ArchivedShare.Participant {
    init(_ participant: CKShareParticipant) {
        let identity = participant.userIdentity
        self.init(
            id: participant.participantID, user: identity.userRecordID?.recordName, emailAddress: identity.lookupInfo?.emailAddress,
            phoneNumber: identity.lookupInfo?.phoneNumber, lookedUpUser: identity.lookupInfo?.userRecordID?.recordName,
            givenName: identity.nameComponents?.givenName, familyName: identity.nameComponents?.familyName, role: participant.role.rawValue,
            permission: participant.permission.rawValue, acceptance: participant.acceptanceStatus.rawValue, added: participant.dateAddedToShare,
            isOneTime: participant.isOneTime, oneTimeSecret: participant.oneTimeSecret, isApprovedRequester: participant.isApprovedRequester)
    }

    var object: CKShareParticipant {
        let lookupInfo =
            emailAddress.map { CKUserIdentity.LookupInfo(emailAddress: $0) } ?? phoneNumber.map { CKUserIdentity.LookupInfo(phoneNumber: $0) }
            ?? lookedUpUser.map { CKUserIdentity.LookupInfo(userRecordID: CKRecord.ID(recordName: $0)) }
        let names = givenName ?? familyName
        let identity = CKUserIdentity(
            userRecordID: user.map { CKRecord.ID(recordName: $0) }, lookupInfo: lookupInfo,
            nameComponents: names.map { _ in PersonNameComponents(NameComponents(givenName: givenName, familyName: familyName)) },
            hasiCloudAccount: user != nil)
        return CKShareParticipant(
            participantID: id, userIdentity: identity, role: CKShare.ParticipantRole(rawValue: role) ?? .unknown,
            permission: CKShare.ParticipantPermission(rawValue: permission) ?? .unknown,
            acceptanceStatus: CKShare.ParticipantAcceptanceStatus(rawValue: acceptance) ?? .unknown,
            isApprovedRequester: isApprovedRequester ?? false, dateAddedToShare: added, isOneTime: isOneTime ?? false, oneTimeSecret: oneTimeSecret)
    }
}

extension ArchivedShare.Requests {
    init(_ isAllowed: Bool?, _ requesters: [ParticipantIdentity]?, _ blocked: [ParticipantIdentity]?) {
        self.init(
            isAllowed: isAllowed ?? false, requesters: (requesters ?? []).map(Identity.init), blocked: (blocked ?? []).map(Identity.init))
    }
}

extension ArchivedShare.Requests.Identity {
    init(_ identity: ParticipantIdentity) {
        self.init(user: identity.userRecordName, givenName: identity.nameComponents?.givenName, familyName: identity.nameComponents?.familyName)
        switch identity.lookupInfo {
        case .emailAddress(let address): emailAddress = address
        case .phoneNumber(let number): phoneNumber = number
        case .userRecordName, .contactHash, nil: break
        }
    }

    var wire: ParticipantIdentity {
        let names = givenName ?? familyName
        return ParticipantIdentity(
            userRecordName: user, nameComponents: names.map { _ in NameComponents(givenName: givenName, familyName: familyName) },
            lookupInfo: emailAddress.map { .emailAddress($0) } ?? phoneNumber.map { .phoneNumber($0) })
    }
}

extension ShareSheet {
    init(_ archived: ArchivedShare) {
        self.init(
            url: archived.url.flatMap { URL(string: $0) },
            publicPermission: CKShare.ParticipantPermission(rawValue: archived.publicPermission) ?? .unknown,
            participants: archived.participants.map(\.object), owner: archived.owner.object,
            currentUserParticipant: archived.currentUser?.object, allowsAccessRequests: archived.requests.isAllowed,
            requesters: archived.requests.requesters.map(\.wire), blockedIdentities: archived.requests.blocked.map(\.wire),
            fetched: archived.fetchedParticipants.map { fetched in
                ShareChange(
                    publicPermission: archived.fetchedPermission.flatMap { SharePermission(rawValue: $0) },
                    participants: fetched.map { $0.object.wire }, forRecord: archived.rootName,
                    allowsAccessRequests: archived.fetchedRequests?.isAllowed ?? false,
                    requesters: archived.fetchedRequests?.requesters.map(\.wire) ?? [],
                    blockedIdentities: archived.fetchedRequests?.blocked.map(\.wire) ?? [])
            }, rootName: archived.rootName)
    }
}
