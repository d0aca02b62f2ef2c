/// What somebody may do with what is shared. CloudKit: Web Services Reference, "publicPermission" and "permission".
package enum SharePermission: String, Hashable, Sendable, CaseIterable {
    case none = "NONE"
    case readOnly = "READ_ONLY"
    case readWrite = "READ_WRITE"
    case unknown = "UNKNOWN"
}

/// What a participant is to a share. CloudKit: on the wire `type`.
package enum ParticipantRole: String, Hashable, Sendable, CaseIterable {
    case owner = "OWNER"
    case administrator = "ADMINISTRATOR"
    case privateUser = "USER"
    case publicUser = "PUBLIC_USER"
    case unknown = "UNKNOWN"
}

/// Whether a participant has accepted. Clients of CloudKit say `PENDING` for `INVITED` too: both are read.
package enum ParticipantAcceptance: String, Hashable, Sendable, CaseIterable {
    case invited = "INVITED"
    case accepted = "ACCEPTED"
    case removed = "REMOVED"
    case unknown = "UNKNOWN"
}

/// Who a participant is, as far as it is known or shown: an invitation by e-mail has no user record name before it is accepted.
package struct ParticipantIdentity: Hashable, Sendable {
    package var userRecordName: String?
    package var nameComponents: NameComponents?
    /// How the participant was invited.
    package var lookupInfo: UserLookupInfo?

    package init(userRecordName: String? = nil, nameComponents: NameComponents? = nil, lookupInfo: UserLookupInfo? = nil) {
        self.userRecordName = userRecordName
        self.nameComponents = nameComponents
        self.lookupInfo = lookupInfo
    }
}

/// One participant of a share, as requests and answers have it.
package struct ShareParticipant: Equatable, Sendable {
    /// nil: the server names the participant.
    package var participantID: String?
    package var identity: ParticipantIdentity
    package var role: ParticipantRole
    package var permission: SharePermission
    package var acceptance: ParticipantAcceptance
    /// Whoever is first to accept by a URL of the participant's own.
    package var isOneTime: Bool
    /// What makes that URL of the share's, for who may hand it out. The server draws it; of a request it counts for nothing.
    package var oneTimeSecret: String?
    /// Asked for access, and was approved. The server says so.
    package var isApprovedRequester: Bool
    /// When the participant came to the share; nil: the server does not know, or does not tell.
    package var added: Timestamp?

    package init(
        participantID: String? = nil, identity: ParticipantIdentity, role: ParticipantRole = .privateUser,
        permission: SharePermission = .readOnly, acceptance: ParticipantAcceptance = .invited, isOneTime: Bool = false,
        oneTimeSecret: String? = nil, isApprovedRequester: Bool = false, added: Timestamp? = nil
    ) {
        self.participantID = participantID
        self.identity = identity
        self.role = role
        self.permission = permission
        self.acceptance = acceptance
        self.isOneTime = isOneTime
        self.oneTimeSecret = oneTimeSecret
        self.isApprovedRequester = isApprovedRequester
        self.added = added
    }
}

/// What stands in the URL of a share: where it leads, and of a one-time URL the secret as well.
package struct ShareKey: Hashable, Sendable {
    /// In no short GUID and in no secret, and as it is in a URL.
    private static let separator: Character = "~"

    package var shortGUID: String
    package var secret: String?

    package init(shortGUID: String, secret: String?) {
        (self.shortGUID, self.secret) = (shortGUID, secret)
    }

    package init(_ text: String) {
        let parts = text.split(separator: Self.separator, maxSplits: 1, omittingEmptySubsequences: false)
        self.init(shortGUID: parts.first.map(String.init) ?? "", secret: parts.count == 2 ? String(parts[1]) : nil)
    }

    package var text: String { secret.map { "\(shortGUID)\(Self.separator)\($0)" } ?? shortGUID }
}

/// What a record that is a share shows beside its fields.
package struct ShareDetails: Equatable, Sendable {
    /// What stands in the share's URL.
    package var shortGUID: String
    package var publicPermission: SharePermission
    /// Those whom the caller may see, the owner first.
    package var participants: [ShareParticipant]
    package var owner: ShareParticipant
    /// nil: the caller is none.
    package var currentUserParticipant: ShareParticipant?
    /// Who is not invited may ask to be.
    package var allowsAccessRequests: Bool
    /// Who has asked and has no answer yet, and who may not ask any more: for the owner and administrators.
    package var requesters: [ParticipantIdentity]
    package var blockedIdentities: [ParticipantIdentity]

    package init(
        shortGUID: String, publicPermission: SharePermission, participants: [ShareParticipant], owner: ShareParticipant,
        currentUserParticipant: ShareParticipant?, allowsAccessRequests: Bool = false, requesters: [ParticipantIdentity] = [],
        blockedIdentities: [ParticipantIdentity] = []
    ) {
        self.shortGUID = shortGUID
        self.publicPermission = publicPermission
        self.participants = participants
        self.owner = owner
        self.currentUserParticipant = currentUserParticipant
        self.allowsAccessRequests = allowsAccessRequests
        self.requesters = requesters
        self.blockedIdentities = blockedIdentities
    }
}

/// What a save wants of a share beside its fields.
package struct ShareChange: Equatable, Sendable {
    /// nil: it stays, and is `NONE` for a new share.
    package var publicPermission: SharePermission?
    /// All of them, from now on; nil: they stay.
    package var participants: [ShareParticipant]?
    /// The record at the root of what is shared; nil: the whole zone is.
    package var forRecord: String?
    /// nil: it stays, and is false for a new share.
    package var allowsAccessRequests: Bool?
    /// Those whose requests stay; nil: all do. Who is left out is denied, and may ask again.
    package var requesters: [ParticipantIdentity]?
    /// Who may not ask any more, from now on: requesters, and who is blocked already; nil: they stay.
    package var blockedIdentities: [ParticipantIdentity]?

    package init(
        publicPermission: SharePermission? = nil, participants: [ShareParticipant]? = nil, forRecord: String? = nil,
        allowsAccessRequests: Bool? = nil, requesters: [ParticipantIdentity]? = nil, blockedIdentities: [ParticipantIdentity]? = nil
    ) {
        self.publicPermission = publicPermission
        self.participants = participants
        self.forRecord = forRecord
        self.allowsAccessRequests = allowsAccessRequests
        self.requesters = requesters
        self.blockedIdentities = blockedIdentities
    }

    package var isEmpty: Bool { self == ShareChange() }
}

/// Names that CloudKit gives to shares.
package enum ShareNames {
    /// `CKRecord.SystemType.share`.
    package static let recordType = "cloudkit.share"
    /// `CKRecordNameZoneWideShare`: of the share of a whole zone. A zone has one at most.
    package static let ofZone = "cloudkit.zoneshare"
    /// `CKShare.SystemFieldKey`: the fields of a share that have CloudKit's own names.
    package static let fields: Set = ["cloudkit.title", "cloudkit.type", "cloudkit.thumbnailImageData"]
}
