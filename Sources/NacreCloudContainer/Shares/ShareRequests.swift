import NacreCloudStorage
package import NacreCloudWire

// The rules of requests for access: who may ask, and what a save of the share does with requests. Pure. CloudKit:
// `CKShare.requesters`, `CKShareRequestAccessOperation`.

extension ParticipantIdentity {
    /// CloudKit: two identities are one whose user record ID or lookup info is the same.
    fileprivate func isSame(as other: ParticipantIdentity) -> Bool {
        userRecordName.map { $0 == other.userRecordName } ?? false || lookupInfo.map { $0 == other.lookupInfo } ?? false
    }
}

extension ShareState {
    /// Returns the share after a user who is not invited has asked for access; nil: unchanged.
    /// - Parameter requester: the identity with which the user asks; nil: no address of theirs is verified.
    package func requested(by user: String, as requester: ParticipantIdentity?, _ standing: ShareRelation) -> Result<ShareState?, ServerError> {
        switch standing {
        case .owner, .member, .invited, .visitor: return .failure(.participantAlreadyInvited)
        case .unverified: return .failure(.participantMayNeedVerification)
        case .stranger: break
        }
        // CloudKit: a share that takes no requests does not reveal itself. Nor does a share that blocks the user.
        guard takesRequests(of: user) else { return .failure(.notInvited) }
        guard let requester else { return .failure(.requestNeedsContact) }
        var state = self
        if let index = requesters.firstIndex(where: { $0.userRecordName == user }) {
            if requesters[index] == requester { return .success(nil) }
            state.requesters[index] = requester
        } else {
            if requesters.count >= Limits.accessRequestsPerShare { return .failure(.tooManyAccessRequests) }
            state.requesters.append(requester)
        }
        return .success(state)
    }

    /// Whether the share takes a request from a user who is not invited.
    package func takesRequests(of user: String) -> Bool {
        allowsAccessRequests && publicPermission == .none && !blocked.contains { $0.userRecordName == user }
    }

    /// Approves an invited participant who has asked, as the user who asked, even if the address is another's by then.
    func approve(_ participant: inout Participant) {
        guard participant.oneTimeSecret == nil,
            let requester = requesters.first(where: {
                $0.isSame(as: ParticipantIdentity(userRecordName: participant.user, lookupInfo: participant.invitation))
            })
        else { return }
        participant.user = requester.userRecordName
        participant.invitation = requester.lookupInfo
        participant.isApprovedRequester = true
    }

    /// Applies a save to the requests. A requester whom the list leaves out is denied. A blocked user is removed, as a
    /// participant too. Participants stop being requesters, and a share that is open to everybody has none.
    mutating func settleRequests(_ change: ShareChange) throws(ServerError) {
        let asked = requesters
        allowsAccessRequests = change.allowsAccessRequests ?? allowsAccessRequests
        if let listed = change.requesters {
            // Clients send back the list that they got, with users whom the same save approves or blocks.
            if !listed.allSatisfy({ item in asked.contains { $0.isSame(as: item) } }) { throw .noSuchRequester }
            requesters.removeAll { one in !listed.contains { $0.isSame(as: one) } }
        }
        if let listed = change.blockedIdentities { try block(listed, of: asked) }
        let (isOpen, members) = (publicPermission != .none, participants.compactMap(\.user))
        requesters.removeAll { one in isOpen || one.userRecordName.map(members.contains) ?? false }
    }

    private mutating func block(_ listed: [ParticipantIdentity], of asked: [ParticipantIdentity]) throws(ServerError) {
        var next: [ParticipantIdentity] = []
        for item in listed {
            guard let known = (blocked + asked).first(where: { $0.isSame(as: item) }) else { throw .noSuchRequester }
            if !next.contains(known) { next.append(known) }
        }
        if next.count > Limits.accessRequestsPerShare { throw .tooManyBlocked }
        let new = next.filter { !blocked.contains($0) }
        let going = participants.filter { participant in
            new.contains { $0.isSame(as: ParticipantIdentity(userRecordName: participant.user, lookupInfo: participant.invitation)) }
        }
        participants.removeAll { going.contains($0) }
        requesters.removeAll { next.contains($0) }
        blocked = next
    }

    /// Returns the share without what a user left by asking for access, and without an approved participant who has not
    /// accepted.
    func forgettingRequest(of user: String) -> ShareState {
        var state = self
        state.participants.removeAll { $0.isUntaken(by: user) }
        state.requesters.removeAll { $0.userRecordName == user }
        state.blocked.removeAll { $0.userRecordName == user }
        return state
    }

    /// Whether `forgettingRequest` would remove something.
    func remembersRequest(of user: String) -> Bool {
        (requesters + blocked).contains { $0.userRecordName == user } || participants.contains { $0.isUntaken(by: user) }
    }
}

extension ShareState.Participant {
    /// Whether this participant is a user who has asked for access and has not accepted.
    fileprivate func isUntaken(by user: String) -> Bool { isApprovedRequester && !isAccepted && self.user == user }
}

extension ServerError {
    package static let participantAlreadyInvited = ServerError(
        .badRequest, "the user takes part in the share, or may without asking", native: .participantAlreadyInvited, field: "shortGUIDs",
        remedy: "Accept the share.")

    static let requestNeedsContact = ServerError(
        .accessDenied, "who asks for access does so with an address that the account has verified", native: .participantMayNeedVerification,
        field: "shortGUIDs", remedy: verification(sendsMail: false))

    static let tooManyAccessRequests = ServerError(
        .badRequest, "as many as may have asked for access and wait", native: .limitExceeded, internalCode: 2023, field: "shortGUIDs",
        remedy: "Ask again when the owner has answered some of the \(Limits.accessRequestsPerShare) requests.")

    static let tooManyRequestsOfAccount = ServerError(
        .badRequest, "the account waits for as many answers as it may", native: .limitExceeded, internalCode: 2023, field: "shortGUIDs",
        remedy: "Ask again when some of the \(Limits.accessRequestsPerAccount) requests have been answered.")

    static let tooManyBlocked = ServerError(
        .badRequest, "a share blocks \(Limits.accessRequestsPerShare) identities at most", native: .limitExceeded, internalCode: 2023,
        field: "blockedIdentities", remedy: "Unblock some, or set allowsAccessRequests to false.")

    static let noSuchRequester = ServerError(
        .badRequest, "somebody is listed who has not asked for access", field: "requesters",
        remedy: "List requesters and blockedIdentities as they were answered; who is to be blocked has asked, and who is denied is left out.")
}
