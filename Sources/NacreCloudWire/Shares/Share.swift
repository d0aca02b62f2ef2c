/// The permission for a share. CloudKit: Web Services Reference, "publicPermission" and "permission".
package enum SharePermission: String, Hashable, Sendable, CaseIterable {
    case none = "NONE"
    case readOnly = "READ_ONLY"
    case readWrite = "READ_WRITE"
    case unknown = "UNKNOWN"
}

/// The role of a participant. CloudKit: on the wire `type`.
package enum ParticipantRole: String, Hashable, Sendable, CaseIterable {
    case owner = "OWNER"
    case administrator = "ADMINISTRATOR"
    case privateUser = "USER"
    case publicUser = "PUBLIC_USER"
    case unknown = "UNKNOWN"
}

/// The acceptance of a participant. Clients of CloudKit say `PENDING` for `INVITED` too: both are read.
package enum ParticipantAcceptance: String, Hashable, Sendable, CaseIterable {
    case invited = "INVITED"
    case accepted = "ACCEPTED"
    case removed = "REMOVED"
    case unknown = "UNKNOWN"
}

/// The identity of a participant, as far as it is known or shown: an invitation by e-mail has no user record name
/// before it is accepted.
package struct ParticipantIdentity: Hashable, Sendable {
    package var userRecordName: String?
    package var nameComponents: NameComponents?
    /// The address by which the participant was invited.
    package var lookupInfo: UserLookupInfo?

    package init(userRecordName: String? = nil, nameComponents: NameComponents? = nil, lookupInfo: UserLookupInfo? = nil) {
        self.userRecordName = userRecordName
        self.nameComponents = nameComponents
        self.lookupInfo = lookupInfo
    }
}

/// One participant of a share, as requests and answers have it.
package struct ShareParticipant: Equatable, Sendable {
    /// nil: the server makes an ID.
    package var participantID: String?
    package var identity: ParticipantIdentity
    package var role: ParticipantRole
    package var permission: SharePermission
    package var acceptance: ParticipantAcceptance
    /// Whether the participant is the first user to accept by a URL of the participant's own.
    package var isOneTime: Bool
    /// The secret in that URL, shown to users with a right to it. The server draws it and ignores it in requests.
    package var oneTimeSecret: String?
    /// Whether the participant asked for access and was approved. Set by the server.
    package var isApprovedRequester: Bool
    /// The time when the participant was added; nil: unknown, or not shown.
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

/// The part of a share's URL that names the share; a one-time URL has a secret as well.
package struct ShareKey: Hashable, Sendable {
    /// A character of URLs that no short GUID and no secret has.
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

/// The members of a share's record beside its fields.
package struct ShareDetails: Equatable, Sendable {
    /// The share's name in its URL.
    package var shortGUID: String
    package var publicPermission: SharePermission
    /// Participants that the caller may see, the owner first.
    package var participants: [ShareParticipant]
    package var owner: ShareParticipant
    /// nil: the caller is no participant.
    package var currentUserParticipant: ShareParticipant?
    /// Whether users who are not invited may ask for access.
    package var allowsAccessRequests: Bool
    /// Users whose requests for access wait for an answer, and users who may not ask any more; only for the owner and
    /// administrators.
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

/// The change of a share beside its fields.
package struct ShareChange: Equatable, Sendable {
    /// nil: unchanged, and `NONE` for a new share.
    package var publicPermission: SharePermission?
    /// The complete new list; nil: unchanged.
    package var participants: [ShareParticipant]?
    /// The root record of the share; nil: the whole zone is shared.
    package var forRecord: String?
    /// nil: unchanged, and false for a new share.
    package var allowsAccessRequests: Bool?
    /// Users whose requests stay open; nil: all. A user who is left out is denied, and may ask again.
    package var requesters: [ParticipantIdentity]?
    /// The complete new list of blocked users, from requesters and already blocked ones; nil: unchanged.
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
    /// `CKRecordNameZoneWideShare`: the name of the share of a whole zone. A zone has one at most.
    package static let ofZone = "cloudkit.zoneshare"
    /// `CKShare.SystemFieldKey`: the fields of a share that have CloudKit's own names.
    package static let fields: Set = ["cloudkit.title", "cloudkit.type", "cloudkit.thumbnailImageData"]
}
