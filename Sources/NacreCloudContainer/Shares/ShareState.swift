package import NacreCloudStorage
package import NacreCloudWire

/// The participants of a share and what it permits them. Kept in the body of the share's record alone. See
/// `docs/decisions/shares.md`.
package struct ShareState: Hashable, Sendable {
    /// A participant other than the owner, who takes part by owning the zone.
    package struct Participant: Hashable, Sendable {
        package var id: String
        /// The user's record name; nil: the invitation is not claimed yet.
        package var user: String?
        /// The address or name of the invitation; nil: they came by the URL, or were named as a user.
        package var invitation: UserLookupInfo?
        package var role: ParticipantRole
        package var permission: SharePermission
        package var isAccepted: Bool
        /// The secret of their one-time URL, which the first user to come claims; nil: they have none.
        package var oneTimeSecret: String?
        /// Whether the user asked for access and was approved.
        package var isApprovedRequester = false
        /// The time at which they were added; nil before that.
        package var added: Timestamp?
    }

    /// The short GUID in the share's URL.
    package var shortGUID: String
    /// The permission of everybody who has the URL.
    package var publicPermission: SharePermission
    /// The participants in the order in which they came.
    package var participants: [Participant]
    /// Whether users who are not invited may ask for access.
    package var allowsAccessRequests = false
    /// Users who have asked for access and have no answer yet, in the order in which they came. Each has the verified
    /// address or number with which they asked.
    package var requesters: [ParticipantIdentity] = []
    /// Users who may not ask any more.
    package var blocked: [ParticipantIdentity] = []
    /// The record at the root of what is shared; nil: the whole zone is. `RecordBody` writes it separately.
    package var root: String?

    /// Returns what a user who has accepted may do; nil: nothing. One who came by the URL has the public permission.
    package func access(of user: String) -> ShareAccess? {
        guard let participant = participants.first(where: { $0.user == user && $0.isAccepted }) else { return nil }
        return ShareAccess(
            participant.role == .publicUser ? publicPermission : participant.permission, isAdministrator: participant.role == .administrator)
    }

    /// The administrators who have accepted, and may at least read.
    package var administrators: Set<String> {
        Set(participants.lazy.filter { $0.role == .administrator && $0.isAccepted && ShareAccess($0.permission) != nil }.compactMap(\.user))
    }

    /// The users who have accepted, and may at least read.
    package var members: [String] {
        participants.compactMap { participant in participant.user.flatMap { access(of: $0) == nil ? nil : $0 } }
    }
}

/// The access of a participant to a shared zone.
package struct ShareAccess: Hashable, Sendable {
    package let mayWrite: Bool
    /// Whether the user administers the share. CloudKit: may add and remove participants and change what they may.
    package let isAdministrator: Bool

    /// The access of the zone's owner.
    package static let whole = ShareAccess(mayWrite: true, isAdministrator: true)

    private init(mayWrite: Bool, isAdministrator: Bool) {
        (self.mayWrite, self.isAdministrator) = (mayWrite, isAdministrator)
    }

    /// nil where `permission` permits nothing.
    package init?(_ permission: SharePermission, isAdministrator: Bool = false) {
        switch permission {
        case .none, .unknown: return nil
        case .readOnly: mayWrite = false
        case .readWrite: mayWrite = true
        }
        self.isAdministrator = isAdministrator
    }
}

/// The binary form inside a record's body. Codes are kept in databases: never reuse one.
extension ShareState {
    package func write(to writer: inout ByteWriter) {
        writer.string(shortGUID)
        writer.byte(publicPermission.code)
        writer.number(UInt64(participants.count))
        for participant in participants {
            writer.string(participant.id)
            writer.optional(participant.user)
            writer.write(participant.invitation)
            writer.byte(participant.role.code)
            writer.byte(participant.permission.code)
            writer.byte(participant.isAccepted ? 1 : 0)
            writer.byte((participant.oneTimeSecret == nil ? 0 : 1) | (participant.added == nil ? 0 : 2) | (participant.isApprovedRequester ? 4 : 0))
            if let secret = participant.oneTimeSecret { writer.string(secret) }
            if let added = participant.added { writer.double(added.secondsSince2001) }
        }
        writer.byte(allowsAccessRequests ? 1 : 0)
        for list in [requesters, blocked] {
            writer.number(UInt64(list.count))
            for identity in list {
                writer.optional(identity.userRecordName)
                writer.write(identity.lookupInfo)
                writer.optional(identity.nameComponents?.givenName)
                writer.optional(identity.nameComponents?.familyName)
            }
        }
    }

    package init(_ reader: inout ByteReader) throws(MalformedBytes) {
        shortGUID = try reader.string()
        publicPermission = try SharePermission(code: try reader.byte())
        participants = []
        for _ in 0..<(try reader.count()) {
            let (id, user, invitation) = (try reader.string(), try reader.optional(), try reader.lookupInfo())
            let role = try ParticipantRole(code: try reader.byte())
            let permission = try SharePermission(code: try reader.byte())
            var participant = Participant(
                id: id, user: user, invitation: invitation, role: role, permission: permission, isAccepted: try reader.byte() == 1)
            let more = try reader.byte()
            guard more & ~7 == 0 else { throw MalformedBytes() }
            if more & 1 != 0 { participant.oneTimeSecret = try reader.string() }
            if more & 2 != 0 { participant.added = Timestamp(secondsSince2001: try reader.double()) }
            participant.isApprovedRequester = more & 4 != 0
            participants.append(participant)
        }
        allowsAccessRequests = try reader.byte() == 1
        requesters = try Self.identities(&reader)
        blocked = try Self.identities(&reader)
    }

    private static func identities(_ reader: inout ByteReader) throws(MalformedBytes) -> [ParticipantIdentity] {
        var identities: [ParticipantIdentity] = []
        for _ in 0..<(try reader.count()) {
            let (user, contact) = (try reader.optional(), try reader.lookupInfo())
            let names = NameComponents(givenName: try reader.optional(), familyName: try reader.optional())
            identities.append(
                ParticipantIdentity(userRecordName: user, nameComponents: names == NameComponents() ? nil : names, lookupInfo: contact))
        }
        return identities
    }
}

extension ByteWriter {
    fileprivate mutating func optional(_ text: String?) {
        byte(text == nil ? 0 : 1)
        if let text { string(text) }
    }

    fileprivate mutating func write(_ info: UserLookupInfo?) {
        let (way, text): (UInt8, String?) =
            switch info {
            case nil, .contactHash: (0, nil)
            case .emailAddress(let text): (1, text)
            case .phoneNumber(let text): (2, text)
            case .userRecordName(let text): (3, text)
            }
        byte(way)
        if let text { string(text) }
    }
}

extension ByteReader {
    fileprivate mutating func optional() throws(MalformedBytes) -> String? { try byte() == 0 ? nil : try string() }

    fileprivate mutating func lookupInfo() throws(MalformedBytes) -> UserLookupInfo? {
        switch try byte() {
        case 0: return nil
        case 1: return .emailAddress(try string())
        case 2: return .phoneNumber(try string())
        case 3: return .userRecordName(try string())
        default: throw MalformedBytes()
        }
    }
}

extension SharePermission {
    fileprivate var code: UInt8 {
        switch self {
        case .none, .unknown: 0
        case .readOnly: 1
        case .readWrite: 2
        }
    }

    fileprivate init(code: UInt8) throws(MalformedBytes) {
        switch code {
        case 0: self = .none
        case 1: self = .readOnly
        case 2: self = .readWrite
        default: throw MalformedBytes()
        }
    }
}

extension ParticipantRole {
    fileprivate var code: UInt8 {
        switch self {
        case .owner, .unknown: 0
        case .administrator: 1
        case .privateUser: 2
        case .publicUser: 3
        }
    }

    fileprivate init(code: UInt8) throws(MalformedBytes) {
        switch code {
        case 1: self = .administrator
        case 2: self = .privateUser
        case 3: self = .publicUser
        default: throw MalformedBytes()
        }
    }
}
