import NacreCloudAccounts
import NacreCloudStorage
package import NacreCloudWire

// The rules of shares: who may change what of one. Pure. CloudKit: `CKShare`, Web Services Reference, "Sharing".

/// The role in which the caller saves a share.
package enum ShareEditor: Hashable, Sendable {
    case owner(String)
    /// CloudKit: may add, change and remove participants. On this server: except administrators.
    case administrator(owner: String)

    package var owner: String {
        switch self {
        case .owner(let name), .administrator(let name): name
        }
    }

    package var isOwner: Bool {
        if case .owner = self { true } else { false }
    }
}

extension ShareState {
    /// Returns the share after a save.
    /// - Parameters:
    ///   - before: the share before the save; nil: the save makes it.
    ///   - guid: the short GUID of a new share.
    ///   - now: the time at which new participants are added.
    ///   - secret: draws a secret for a one-time URL that has to change.
    package static func next(
        _ change: ShareChange, over before: ShareState?, guid: String, by editor: ShareEditor, at now: Timestamp, secret: () -> String?
    ) -> Result<ShareState, ServerError> {
        var state = before ?? ShareState(shortGUID: guid, publicPermission: .none, participants: [])
        if change.publicPermission == .unknown || change.participants?.contains(where: { $0.permission == .unknown || $0.role == .unknown }) == true {
            return .failure(.unknownShareValue)
        }
        let wasPublic = state.publicPermission != .none
        state.publicPermission = change.publicPermission ?? state.publicPermission
        let isPublic = state.publicPermission != .none
        // CloudKit: opening to everybody withdraws invitations. Closing removes participants who are not named again.
        if isPublic, !wasPublic { state.participants.removeAll { !$0.isAccepted } }
        let isClosed = wasPublic && !isPublic
        if isClosed { state.participants.removeAll { $0.role == .publicUser || change.participants == nil } }
        do throws(ServerError) {
            if let listed = change.participants {
                let gone = before.map { before in before.participants.filter { !state.participants.contains($0) } } ?? []
                state.participants = try state.participants(as: listed, without: gone, invites: !isPublic, by: editor, at: now)
            }
            try state.settleRequests(change)
            // This covers every way of removal: the list, a block, the opening or the closing of the share.
            if !editor.isOwner, let before, before.participants.contains(where: { $0.role == .administrator && !state.participants.contains($0) }) {
                throw .administratorsAreTheOwners
            }
        } catch {
            return .failure(error)
        }
        let count = state.participants.count
        let grew = count > before?.participants.count ?? 0
        if grew && count >= Limits.participantsPerShare { return .failure(.tooManyParticipants) }
        return .success(before.map { state.renewingSecrets(since: $0, secret) } ?? state)
    }

    /// Returns the participants as a save lists them. Participants that the list leaves out go.
    /// - Parameter gone: participants who go with this save in any case, listed or not.
    private func participants(
        as listed: [ShareParticipant], without gone: [Participant], invites: Bool, by editor: ShareEditor, at now: Timestamp
    ) throws(ServerError) -> [Participant] {
        var kept: [String: Participant] = [:]
        var invited: [Participant] = []
        for item in listed {
            if item.role == .owner {
                // Clients send back the owner's entry that they got.
                if let name = item.identity.userRecordName, name != editor.owner { throw .ownerStays }
                continue
            }
            if let place = Self.place(of: item, in: participants) {
                var participant = participants[place]
                if item.acceptance == .removed { continue }
                guard kept[participant.id] == nil else { throw .repeatedParticipant }
                if item.role != participant.role {
                    guard editor.isOwner, participant.role != .publicUser, item.role != .publicUser else { throw .roleStays }
                    participant.role = item.role
                }
                participant.permission = item.permission
                kept[participant.id] = participant
            } else if item.acceptance != .removed, Self.place(of: item, in: gone) == nil {
                guard invites else { throw .publicShareInvitesNobody }
                var participant = try Self.invited(item, by: editor)
                participant.added = now
                approve(&participant)
                let isKnown = invited.contains {
                    $0.id == participant.id
                        || participant.oneTimeSecret == nil && $0.invitation == participant.invitation && $0.user == participant.user
                }
                if isKnown { throw .repeatedParticipant }
                invited.append(participant)
            }
        }
        return participants.compactMap { kept[$0.id] } + invited
    }

    /// Finds a participant. CloudKit: two are one whose participant ID, user record ID or lookup info is the same.
    private static func place(of item: ShareParticipant, in participants: [Participant]) -> Int? {
        if let id = item.participantID, let index = participants.firstIndex(where: { $0.id == id }) { return index }
        let name = item.identity.userRecordName ?? item.identity.lookupInfo?.invitedName
        if let name, let index = participants.firstIndex(where: { $0.user == name }) { return index }
        guard let info = item.identity.lookupInfo?.normalised else { return nil }
        return participants.firstIndex { $0.invitation == info }
    }

    private static func invited(_ item: ShareParticipant, by editor: ShareEditor) throws(ServerError) -> Participant {
        switch item.role {
        case .publicUser: throw .publicUsersComeByThemselves
        case .administrator where !editor.isOwner: throw .roleStays
        case .owner, .administrator, .privateUser, .unknown: break
        }
        guard let id = item.participantID, Names.isName(id), id != ShareState.ownerID else { throw .badParticipantID }
        let user = item.identity.userRecordName ?? item.identity.lookupInfo?.invitedName
        if user == editor.owner { throw .ownerStays }
        if let user, !Names.isName(user) { throw .participantNeedsIdentity }
        let invitation = item.identity.lookupInfo
        if let secret = item.oneTimeSecret {
            guard user == nil, invitation == nil else { throw .oneTimeIsNobodysYet }
            return Participant(
                id: id, user: nil, invitation: nil, role: item.role, permission: item.permission, isAccepted: false, oneTimeSecret: secret)
        }
        switch invitation {
        case .emailAddress? where invitation?.normalised == nil: throw .participantNeedsIdentity
        case .phoneNumber? where invitation?.normalised == nil: throw .phoneNeedsCountry
        case .contactHash?: throw .notSupported("participants", "an invitation by a hash")
        case nil where user == nil: throw .participantNeedsIdentity
        case .emailAddress?, .phoneNumber?, .userRecordName?, nil: break
        }
        return Participant(
            id: id, user: user, invitation: invitation?.normalised, role: item.role, permission: item.permission, isAccepted: false)
    }

    /// Returns the share without a user, who leaves it.
    package func without(_ user: String, secret: () -> String?) -> ShareState {
        var state = self
        state.participants.removeAll { $0.user == user }
        return state.renewingSecrets(since: self, secret)
    }

    /// Returns the share with new secrets for unclaimed one-time URLs that an administrator has read and no longer may
    /// read. With the old secret that user could come in by another's URL, or make an administrator.
    private func renewingSecrets(since before: ShareState, _ secret: () -> String?) -> ShareState {
        let readers = before.administrators
        if readers.isEmpty { return self }
        let hasLost = !readers.isSubset(of: administrators)
        var state = self
        for index in participants.indices where participants[index].user == nil && participants[index].oneTimeSecret != nil {
            let old = before.participants.first { $0.id == participants[index].id && $0.oneTimeSecret == participants[index].oneTimeSecret }
            guard old?.isSecretForAdministrators == true, hasLost || !participants[index].isSecretForAdministrators else { continue }
            state.participants[index].oneTimeSecret = secret()
        }
        return state
    }
}

extension UserLookupInfo {
    fileprivate var invitedName: String? {
        if case .userRecordName(let name) = self { name } else { nil }
    }

    /// The form in which an invitation is kept; nil for an invalid address or number.
    fileprivate var normalised: UserLookupInfo? {
        switch self {
        case .emailAddress(let address): (try? Registry.normalized(address)).map(UserLookupInfo.emailAddress)
        case .phoneNumber(let number): PhoneNumber.normalised(number).map(UserLookupInfo.phoneNumber)
        case .userRecordName, .contactHash: self
        }
    }
}

/// The addresses by which a user's account can be invited, and the names with which it asks for access.
package struct ShareContact: Hashable, Sendable {
    package var email: String
    package var isEmailVerified: Bool
    /// The verified phone number; nil: the account has none.
    package var phone: String?
    package var names: NameComponents?

    /// The verified addresses, the e-mail address first.
    package var verified: [UserLookupInfo] {
        [isEmailVerified ? .emailAddress(email) : nil, phone.map { .phoneNumber($0) }].compactMap(\.self)
    }

    /// Returns the identity with which a user asks for access; nil without a verified address to know them by.
    func requester(_ user: String) -> ParticipantIdentity? {
        verified.first.map { ParticipantIdentity(userRecordName: user, nameComponents: names, lookupInfo: $0) }
    }
}

/// The relation of a user who has a share's URL to the share.
package enum ShareRelation: Hashable, Sendable {
    case owner
    /// - Parameter beside: invitations for this user that are not accepted.
    case member(ShareState.Participant, beside: [ShareState.Participant] = [])
    /// The user is invited and has not accepted.
    /// - Parameter beside: other invitations for the same user.
    case invited(ShareState.Participant, beside: [ShareState.Participant] = [])
    /// The share is open to everybody who has the URL, and does not block the user.
    case visitor
    /// An invitation is for the address of the user's account, which is not verified.
    case unverified
    case stranger

    /// Finds the relation of a user to a share.
    /// - Parameters:
    ///   - contact: the addresses of the user's account; nil: unknown.
    ///   - secret: the secret of a one-time URL that the user has. It has no effect on a claimed participant.
    package init(of user: String, contact: ShareContact?, secret: String? = nil, in state: ShareState, owner: String) {
        let invitations = state.participants.filter { !$0.isAccepted }
        func invitation(by info: UserLookupInfo?) -> ShareState.Participant? {
            info.flatMap { info in invitations.first { $0.user == nil && $0.invitation == info } }
        }
        let named = invitations.filter { $0.user == user }
        let verified = contact?.verified ?? []
        let own = [named.first { $0.isForUser(with: verified) }].compactMap(\.self) + verified.compactMap(invitation)
        let claimed = contact.map { UserLookupInfo.emailAddress($0.email) }
        let isClaimed = invitation(by: claimed) != nil || named.contains { $0.invitation == claimed }
        // A blocked user may still come in by an invitation to their name or address.
        let isBlocked = state.blocked.contains { $0.userRecordName == user }
        if user == owner {
            self = .owner
        } else if let member = state.participants.first(where: { $0.user == user && $0.isAccepted }) {
            self = .member(member, beside: own)
        } else if !isBlocked, let secret, let opened = invitations.first(where: { $0.isOpened(by: secret) }) {
            self = .invited(opened, beside: own)
        } else if let first = own.first {
            self = .invited(first, beside: Array(own.dropFirst()))
        } else if !isBlocked, state.publicPermission != .none {
            self = .visitor
        } else {
            self = isClaimed ? .unverified : .stranger
        }
    }
}

extension ShareState {
    /// Returns the invitations for an account's verified addresses, where there is more than one. Accepting claims that
    /// of the e-mail address. CloudKit: for a caller who cannot be matched to one invitee.
    package func potentialMatches(of contact: ShareContact?, as standing: ShareRelation) -> [ShareMetadata.PotentialMatch] {
        guard case .invited(let chosen, _) = standing, chosen.user == nil, chosen.oneTimeSecret == nil, let contact else { return [] }
        let own = contact.verified
        let matches = participants.filter { one in one.user == nil && one.invitation.map(own.contains) == true }
        return matches.count < 2
            ? [] : matches.compactMap { one in one.invitation.map { ShareMetadata.PotentialMatch(participantID: one.id, contact: $0) } }
    }
}

extension ShareState.Participant {
    /// Whether the named user may accept. A name that was looked up by an address needs that address to be verified,
    /// since the owner knows the address alone. A user who asked for access is known by name.
    /// - Parameter verified: the verified addresses of the user.
    fileprivate func isForUser(with verified: [UserLookupInfo]) -> Bool {
        switch invitation {
        case .emailAddress(_)?, .phoneNumber(_)?: isApprovedRequester || invitation.map(verified.contains) == true
        case .userRecordName?, .contactHash?, nil: true
        }
    }

    /// Whether the participant is unclaimed and has this one-time secret. Takes as long for every secret of its length.
    fileprivate func isOpened(by secret: String) -> Bool {
        guard user == nil, let own = oneTimeSecret, own.utf8.count == secret.utf8.count else { return false }
        return zip(own.utf8, secret.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

extension ShareState.Participant {
    /// Merges the participants of one user: the best role and permission, and an invitation. CloudKit: two participants
    /// are one whose user or address is the same. Only the owner says what an administrator may do, so an administrator
    /// outranks any other participant.
    package func joined(with others: [ShareState.Participant]) -> ShareState.Participant {
        func rank(_ one: ShareState.Participant) -> (Int, Int) {
            (one.role == .administrator ? 1 : 0, one.permission == .readWrite ? 2 : one.permission == .readOnly ? 1 : 0)
        }
        var joined = self
        for other in others {
            if rank(other) > rank(joined) { (joined.role, joined.permission) = (other.role, other.permission) }
            joined.invitation = joined.invitation ?? other.invitation
            joined.isApprovedRequester = joined.isApprovedRequester || other.isApprovedRequester
        }
        return joined
    }
}

extension ShareState {
    /// Returns the share after a user has accepted it; nil: unchanged.
    /// - Parameter id: the participant ID for a user who comes by the share's URL.
    package func accepted(by user: String, as standing: ShareRelation, id: String, at now: Timestamp) -> Result<ShareState?, ServerError> {
        var state = self
        switch standing {
        case .owner, .member(_, []): return .success(nil)
        case .unverified: return .failure(.participantMayNeedVerification)
        case .stranger: return .failure(.notInvited)
        case .member(let participant, let beside), .invited(let participant, let beside):
            guard let index = state.participants.firstIndex(of: participant) else { return .failure(.notInvited) }
            state.participants[index] = participant.joined(with: beside)
            state.participants[index].user = user
            state.participants[index].isAccepted = true
            state.participants.removeAll(where: beside.contains)
            state.requesters.removeAll { $0.userRecordName == user }
        case .visitor:
            if participants.count + 1 >= Limits.participantsPerShare { return .failure(.tooManyParticipants) }
            state.participants.append(
                Participant(id: id, user: user, invitation: nil, role: .publicUser, permission: .none, isAccepted: true, added: now))
        }
        return .success(state)
    }
}

extension ServerError {
    package static let tooManyParticipants = ServerError(
        .badRequest, "the share has more than \(Limits.participantsPerShare) participants", native: .tooManyParticipants, field: "participants",
        remedy: "Take participants out first; the owner counts as one.")

    static let unknownShareValue = ServerError(
        .badRequest, "a share's permissions and types cannot be UNKNOWN", field: "participants",
        remedy: "Permissions are NONE, READ_ONLY and READ_WRITE; participants that are invited have type USER or ADMINISTRATOR.")

    static let publicShareInvitesNobody = ServerError(
        .badRequest, "a share that is open to everybody takes no participants", field: "participants",
        remedy: "Set publicPermission to NONE before you add participants.")

    static let publicUsersComeByThemselves = ServerError(
        .badRequest, "a PUBLIC_USER cannot be added", field: "participants", remedy: "Who has the share's URL joins by accepting it.")

    static let participantNeedsIdentity = ServerError(
        .badRequest, "a participant has neither a user record name nor an e-mail address", field: "participants",
        remedy:
            "Give each new participant userIdentity.lookupInfo with an emailAddress or a userRecordName, or have one that is claimed by a one-time URL."
    )

    static let oneTimeIsNobodysYet = ServerError(
        .badRequest, "a participant who is claimed by a one-time URL has no identity before that", field: "participants",
        remedy: "Leave userIdentity out, or oneTime.")

    static let badParticipantID = ServerError(
        .badRequest, "invalid participant ID", field: "participants", remedy: "Leave participantId out of new participants, or give each a UUID.")

    static let repeatedParticipant = ServerError(
        .badRequest, "a participant stands in the list more than once", field: "participants", remedy: "Name each participant once.")

    static let ownerStays = ServerError(
        .badRequest, "a share's owner is who owns its zone", field: "participants", remedy: "Leave the owner's entry as it was answered, or out.")

    static let roleStays = ServerError(
        .accessDenied, "this participant's type cannot be changed so", internalCode: 2007, field: "participants",
        remedy: "The owner makes administrators of private participants; who came by the URL stays a PUBLIC_USER.")

    static let administratorsAreTheOwners = ServerError(
        .accessDenied, "administrators are changed by the owner alone", internalCode: 2007, field: "participants",
        remedy:
            "Leave the entries of administrators as they were answered, and name them where the share is closed. Where one has not accepted, its owner opens it."
    )

    /// CloudKit: accepting a private share without being invited. On this server also where there is no share: a user
    /// who is not invited does not learn of one.
    package static let notInvited = ServerError(
        .accessDenied, "there is no such share for this user", internalCode: 2007, field: "shortGUIDs",
        remedy: "Ask the owner for an invitation and for the share's URL as it is now.")

    package static let phoneNeedsCountry = ServerError(
        .badRequest, "a phone number has a plus sign and the code of its country", field: "participants", remedy: "Write it as in +49 30 1234567.")

    package static let participantMayNeedVerification = ServerError(
        .accessDenied, "an invitation is for an address that the account has not verified", native: .participantMayNeedVerification,
        field: "shortGUIDs", remedy: verification(sendsMail: false))

    /// Whether an account has to verify its address first.
    package var asksForVerification: Bool { nativeCode == NativeErrorCode.participantMayNeedVerification.rawValue }

    /// The error with the way to a verified address that is open on a server. The errors of the rules name that of a
    /// server without mail.
    func namingVerification(sendsMail: Bool) -> ServerError {
        guard asksForVerification else { return self }
        var error = self
        error.remedy = Self.verification(sendsMail: sendsMail)
        return error
    }

    static func verification(sendsMail: Bool) -> String {
        sendsMail
            ? "Ask for the mail that verifies the account's address (POST /account/1/verify-email), follow its link, and do this again."
            : "This server sends no mail: have its administrator vouch for the account's address (nacre user verify), and do this again."
    }

    static let shareIsItsOwners = ServerError(
        .accessDenied, "a share is changed by its owner and its administrators", internalCode: 2007, field: "recordName",
        remedy: "A participant may delete the share, which leaves it.")

    static let cannotShareInPublic = ServerError(
        .badRequest, "nothing is shared in the public database", native: .badDatabase, field: "recordType",
        remedy: "Share a zone of the private database.")

    static let zoneCannotBeShared = ServerError(
        .badRequest, "the default zone cannot be shared", field: "zoneID", remedy: "Share a custom zone of the private database.")

    static let shareNeedsZoneName = ServerError(
        .badRequest, "the share of a zone has the record name \(ShareNames.ofZone)", field: "recordName",
        remedy: "Name it so, or say with forRecord which record is shared, and name the share otherwise.")

    static let rootStays = ServerError(
        .badRequest, "the record that is shared does not change", field: "forRecord", remedy: "Delete the share, and make another one.")

    /// The reason is CloudKit's text.
    static let rootNotFound = ServerError(
        .badRequest, "Cannot share - no such record exists to share", native: .referenceViolation, field: "forRecord",
        remedy: "Save the record that is shared before its share, or in the same request.")

    /// CloudKit: a record is in one share, counting the one that it inherits from its parent.
    package static let alreadyShared = ServerError(
        .badRequest, "the record is shared already, or hangs on one that is, or one that is hangs on it", native: .alreadyShared, field: "parent",
        remedy: "Invite participants to the share that there is, or delete it first.")

    /// CloudKit: rejects the share of a hierarchy in a zone that is shared.
    static let zoneIsShared = ServerError(
        .badRequest, "a zone is shared as a whole, or records of it are", native: .serverRejectedRequest, field: "forRecord",
        remedy: "Invite participants to the share of the zone, delete it first, or use another zone.")

    /// CloudKit: rejects the share of a zone with shared hierarchies, as an invalid argument.
    static let zoneHasShares = ServerError(
        .badRequest, "a zone is shared as a whole, or records of it are", field: "recordType",
        remedy: "Delete the shares of records of the zone first, or use another zone.")

    static let tooManyRecordShares = ServerError(
        .badRequest, "the zone has \(Limits.recordSharesPerZone) shares of records", native: .limitExceeded, field: "recordType",
        remedy: "Delete shares that are not needed, or use another zone.")

    static let rootIsItsOwners = ServerError(
        .accessDenied, "a shared root record is deleted and moved by its owner alone", internalCode: 2007, field: "recordName",
        remedy: "A participant may delete the share, which leaves it.")

    static let parentIsNotShared = ServerError(
        .accessDenied, "participants keep records below what is shared with them to be written", internalCode: 2007, field: "parent",
        remedy: "Give the record a parent that is shared with you and that you may write.")

    /// On this server: a large subtree that its owner takes out of a share leaves in portions. A guest cannot move or
    /// delete its records meanwhile.
    static let recordIsLeaving = ServerError(
        .tryAgainLater, "the record is on its way out of its share", internalCode: 2022, field: "parent",
        remedy: "Send the request again: the record will be with you or not be found.", retryAfter: 1)

    static let parentTooDeep = ServerError(
        .badRequest, "the record would have more records above it than may be where records are shared", native: .limitExceeded, internalCode: 2023,
        field: "parent", remedy: "Give the record a parent with at most \(Limits.parentLevels) records above it.")

    static let shareRefersToNothing = ServerError(
        .badRequest, "a share has no parent, and only references with action NONE", field: "fields", remedy: "Put the reference into another record.")

    /// On this server: a parent or reference that holds a share's record would keep the owner from ending the share.
    static func nothingHangsOnShare(_ field: String) -> ServerError {
        ServerError(
            .badRequest, "a share is no parent, and only references with action NONE point to it", field: field,
            remedy: "Name the record that is shared, or give the reference the action NONE.")
    }

    static let onlySharesHaveParticipants = ServerError(
        .badRequest, "only a record of type \(ShareNames.recordType) has a publicPermission, participants or forRecord", field: "recordType",
        remedy: "Leave them out.")

    static let nameIsForShare = ServerError(
        .badRequest, "the record name is that of a zone's share", field: "recordName", remedy: "Give the record another name.")
}
