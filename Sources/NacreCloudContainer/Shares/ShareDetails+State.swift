import NacreCloudWire

extension ShareState {
    /// On this server: the owner's participant ID, in every share.
    static let ownerID = "owner"

    /// What a share shows to a user. CloudKit: the participants visible to the current user. Owner and administrators see all, how they were invited, and
    /// the secrets of one-time URLs, and who has asked for access or may not; others see the owner, who has accepted, and themselves. See `docs/decisions/sharing.md`.
    func details(for user: String?, owner: String) -> ShareDetails {
        let ofOwner = ShareParticipant(
            participantID: Self.ownerID, identity: ParticipantIdentity(userRecordName: owner), role: .owner, permission: .readWrite,
            acceptance: .accepted)
        let access = user.flatMap { self.access(of: $0) }
        let seesAll = user == owner || access?.isAdministrator == true
        var shown = [ofOwner]
        var current = user == owner ? ofOwner : nil
        for participant in participants {
            let isSelf = user != nil && participant.user == user
            guard seesAll || isSelf || access != nil && participant.isAccepted else { continue }
            let one = ShareParticipant(
                participantID: participant.id,
                identity: ParticipantIdentity(userRecordName: participant.user, lookupInfo: seesAll || isSelf ? participant.invitation : nil),
                role: participant.role, permission: participant.role == .publicUser ? publicPermission : participant.permission,
                acceptance: participant.isAccepted ? .accepted : .invited, isOneTime: seesAll && participant.oneTimeSecret != nil,
                oneTimeSecret: user == owner || seesAll && participant.isSecretForAdministrators ? participant.oneTimeSecret : nil,
                isApprovedRequester: (seesAll || isSelf) && participant.isApprovedRequester, added: seesAll || isSelf ? participant.added : nil)
            shown.append(one)
            if isSelf, current == nil { current = one }
        }
        return ShareDetails(
            shortGUID: shortGUID, publicPermission: publicPermission, participants: shown, owner: ofOwner, currentUserParticipant: current,
            allowsAccessRequests: allowsAccessRequests, requesters: seesAll ? requesters : [], blockedIdentities: seesAll ? blocked : [])
    }
}

extension ShareState.Participant {
    /// Whether administrators read the secret of their one-time URL, as the owner does. Only the owner makes administrators.
    var isSecretForAdministrators: Bool { role != .administrator }
}
