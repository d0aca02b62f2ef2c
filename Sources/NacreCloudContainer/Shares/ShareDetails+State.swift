package import NacreCloudWire

extension ShareState {
    /// On this server: the owner's participant ID, in every share.
    static let ownerID = "owner"

    /// Returns the share as a user sees it. CloudKit: the participants visible to the current user. The owner and
    /// administrators see all participants, their invitations, the secrets of one-time URLs, requesters and blocked
    /// users. Others see the owner, participants who have accepted, and themselves. See `docs/decisions/shares.md`.
    package func details(for user: String?, owner: String) -> ShareDetails {
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
    /// Whether administrators read this one-time secret, as the owner does. Only the owner makes administrators.
    var isSecretForAdministrators: Bool { role != .administrator }
}
