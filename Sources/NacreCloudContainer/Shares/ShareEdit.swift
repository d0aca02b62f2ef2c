package import NacreCloudWire

/// One change of a share by a person at its page.
package enum ShareEdit: Hashable, Sendable {
    case begin(title: String?, type: String?, SharePermission)
    case invite(UserLookupInfo, SharePermission)
    /// A link that lets in the first user to open it.
    case addLink(SharePermission)
    case permit(participant: String, SharePermission)
    case remove(participant: String)
    /// The permission of everybody who has the URL.
    case open(SharePermission)
    case takeRequests(Bool)
    case approve(user: String, SharePermission)
    case deny(user: String)
    case stop

    /// Returns the change that a client saves for this edit; nil: the share is deleted.
    /// - Parameter share: the share as its owner or an administrator sees it.
    /// - Throws: an error if the share no longer has the person whom the edit names.
    package func change(of share: ShareDetails) throws(ServerError) -> ShareChange? {
        var participants = share.participants
        switch self {
        case .stop: return nil
        case .begin: throw .noSuchParticipant
        // A save without participants would remove all of them when the share closes.
        case .open(let permission): return ShareChange(publicPermission: permission, participants: permission == .none ? participants : nil)
        case .takeRequests(let takes): return ShareChange(allowsAccessRequests: takes)
        case .invite(let info, let permission):
            participants.append(ShareParticipant(identity: ParticipantIdentity(lookupInfo: info), permission: permission))
        case .addLink(let permission):
            participants.append(ShareParticipant(identity: ParticipantIdentity(), permission: permission, isOneTime: true))
        case .permit(let id, let permission):
            participants[try Self.place(of: id, in: participants)].permission = permission
        case .remove(let id):
            participants.remove(at: try Self.place(of: id, in: participants))
        case .approve(let user, let permission):
            guard let info = share.requesters.first(where: { $0.userRecordName == user })?.lookupInfo else { throw .nobodyAsks }
            participants.append(ShareParticipant(identity: ParticipantIdentity(lookupInfo: info), permission: permission))
        case .deny(let user):
            let others = share.requesters.filter { $0.userRecordName != user }
            guard others.count < share.requesters.count else { throw .nobodyAsks }
            return ShareChange(requesters: others)
        }
        return ShareChange(participants: participants)
    }

    private static func place(of id: String, in participants: [ShareParticipant]) throws(ServerError) -> Int {
        guard let place = participants.firstIndex(where: { $0.participantID == id && $0.role != .owner }) else { throw .noSuchParticipant }
        return place
    }

    /// The permission that the edit gives; nil: none.
    fileprivate var permission: SharePermission? {
        switch self {
        case .begin(_, _, let permission), .invite(_, let permission), .addLink(let permission), .permit(_, let permission),
            .open(let permission), .approve(_, let permission):
            permission == .none ? nil : permission
        case .remove, .takeRequests, .deny, .stop: nil
        }
    }

    /// The kind of access that the edit opens; nil: none.
    fileprivate var access: ShareOffer.Access? {
        switch self {
        case .begin(_, _, .none), .invite, .addLink, .takeRequests(true), .approve: .private
        case .begin, .open(.readOnly), .open(.readWrite), .open(.unknown): .public
        case .permit, .remove, .open(.none), .takeRequests(false), .deny, .stop: nil
        }
    }
}

/// The choices that a page of a share offers, as the app says that opens it. CloudKit JS: `supportedAccess` and
/// `supportedPermissions` of `shareWithUI`.
package struct ShareOffer: Codable, Hashable, Sendable {
    /// - `private`: people who are invited.
    /// - `public`: everybody who has the URL.
    package enum Access: String, Codable, Hashable, Sendable, CaseIterable {
        case `private` = "PRIVATE"
        case `public` = "PUBLIC"
    }

    package private(set) var isPrivate = true
    package private(set) var isPublic = true
    package private(set) var reads = true
    package private(set) var writes = true

    /// All choices.
    package init() {}

    /// - Parameters:
    ///   - access: raw values of `Access`; nil: all.
    ///   - permissions: `READ_ONLY` and `READ_WRITE`; nil: both.
    /// - Throws: an error for an unknown value, or none at all.
    package init(access: [String]?, permissions: [String]?) throws(ServerError) {
        if let access {
            guard !access.isEmpty, access.allSatisfy({ Access(rawValue: $0) != nil }) else { throw .unknownAccess }
            isPrivate = access.contains(Access.private.rawValue)
            isPublic = access.contains(Access.public.rawValue)
        }
        if let permissions {
            let known = [SharePermission.readOnly, .readWrite].map(\.rawValue)
            guard !permissions.isEmpty, permissions.allSatisfy(known.contains) else { throw .unknownOfferedPermission }
            reads = permissions.contains(SharePermission.readOnly.rawValue)
            writes = permissions.contains(SharePermission.readWrite.rawValue)
        }
    }

    /// The permissions that a person may be given, the most first.
    package var permissions: [SharePermission] { (writes ? [.readWrite] : []) + (reads ? [.readOnly] : []) }

    /// - Throws: an error for an edit that the page does not offer.
    package func require(_ edit: ShareEdit) throws(ServerError) {
        let mayOpen = edit.access.map { $0 == .private ? isPrivate : isPublic } ?? true
        guard mayOpen, edit.permission.map(permissions.contains) ?? true else { throw .notOffered }
    }
}

extension ServerError {
    private static let again = "Look at the share as it is now, and try again."

    fileprivate static let noSuchParticipant = ServerError(.notFound, "the share has no such participant", remedy: again)

    fileprivate static let nobodyAsks = ServerError(.notFound, "nobody of this name waits for access", remedy: again)

    fileprivate static let notOffered = ServerError(
        .badRequest, "the app does not offer this", remedy: "Choose one of the values that the page shows.")

    fileprivate static let unknownAccess = ServerError(
        .badRequest, "unknown access", field: "supportedAccess", remedy: "Give PRIVATE, PUBLIC or both, or leave it out.")

    fileprivate static let unknownOfferedPermission = ServerError(
        .badRequest, "unknown permission", field: "supportedPermissions", remedy: "Give READ_ONLY, READ_WRITE or both, or leave it out.")
}
