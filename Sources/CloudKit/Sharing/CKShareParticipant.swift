public import Foundation
import NacreCloudWire
import NacreLocks

extension CKShare {
    /// Top-level under another name, because `NSKeyedArchiver` on Linux aborts on nested classes.
    public typealias Participant = CKShareParticipant

    /// Apple: iOS 10.
    public enum ParticipantAcceptanceStatus: Int, Sendable {
        /// Not known.
        case unknown = 0
        /// Invited, and has not answered.
        case pending = 1
        /// Takes part.
        case accepted = 2
        /// Takes part no more.
        case removed = 3
    }

    /// Apple: iOS 10.
    public enum ParticipantPermission: Int, Sendable {
        /// Not known.
        case unknown = 0
        /// May nothing, as everybody who has the URL of a share that is private.
        case none = 1
        /// May read.
        case readOnly = 2
        /// May read and change.
        case readWrite = 3
    }

    /// Apple: iOS 12.
    public enum ParticipantRole: Int, Sendable {
        /// Not known.
        case unknown = 0
        /// Whose share it is.
        case owner = 1
        /// May add and remove participants and change what they may. Apple: iOS 26.
        case administrator = 2
        /// Was invited.
        case privateUser = 3
        /// Came by the share's URL, and may what everybody may who has it.
        case publicUser = 4
    }
}

/// Apple: transitional name of iOS 10.
public typealias CKShare_Participant_AcceptanceStatus = CKShare.ParticipantAcceptanceStatus
/// Apple: transitional name of iOS 10.
public typealias CKShare_Participant_Permission = CKShare.ParticipantPermission
/// Apple: transitional name of iOS 12.
public typealias CKShare_Participant_Role = CKShare.ParticipantRole

/// Somebody who takes part in a share, or is invited to.
///
/// Its permission and role can be set; they count once the share is saved that it is in. Equal to another one with the same participant ID, user record ID
/// or lookup info. Written `CKShare.Participant`. Apple: iOS 10.
open class CKShareParticipant: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: the constants are `let`s of sendable types, and what changes is in `Locked`.

    /// What identifies a participant of a share.
    public typealias ID = String
    /// Apple: deprecated.
    public typealias AcceptanceStatus = CKShare.ParticipantAcceptanceStatus
    /// Apple: deprecated.
    public typealias Permission = CKShare.ParticipantPermission
    /// Apple: deprecated.
    public typealias Role = CKShare.ParticipantRole

    private struct Settings {
        var role: CKShare.ParticipantRole
        var permission: CKShare.ParticipantPermission
    }

    /// Stays the same as long as the participant is in the share.
    public let participantID: CKShare.Participant.ID
    /// As far as it is known to the current user: addresses are shown to the owner and to administrators.
    public let userIdentity: CKUserIdentity
    /// Whether they have accepted. The server sets it.
    public let acceptanceStatus: CKShare.ParticipantAcceptanceStatus
    /// Whether they asked for access and were approved; false for who may not know it. The server sets it. Apple: iOS 26.
    public let isApprovedRequester: Bool
    /// When they came to the share; nil before the share is saved, for who may not know it, and where the server has not kept it. Apple: iOS 26.
    public let dateAddedToShare: Date?
    /// Whoever is first to accept by a URL of the participant's own.
    let isOneTime: Bool
    /// What makes that URL of the share's; nil where there is none, or it is not the current user's to hand out.
    let oneTimeSecret: String?
    private let settings: Locked<Settings>

    /// By default `privateUser`. On this server: only the owner makes administrators.
    open var role: CKShare.ParticipantRole {
        get { settings.withLock(\.role) }
        set { settings.withLock { $0.role = newValue } }
    }

    /// By default `readOnly`.
    open var permission: CKShare.ParticipantPermission {
        get { settings.withLock(\.permission) }
        set { settings.withLock { $0.permission = newValue } }
    }

    init(
        participantID: String, userIdentity: CKUserIdentity, role: CKShare.ParticipantRole, permission: CKShare.ParticipantPermission,
        acceptanceStatus: CKShare.ParticipantAcceptanceStatus, isApprovedRequester: Bool = false, dateAddedToShare: Date? = nil,
        isOneTime: Bool = false, oneTimeSecret: String? = nil
    ) {
        self.participantID = participantID
        self.userIdentity = userIdentity
        self.acceptanceStatus = acceptanceStatus
        self.isApprovedRequester = isApprovedRequester
        self.dateAddedToShare = dateAddedToShare
        self.isOneTime = isOneTime
        self.oneTimeSecret = oneTimeSecret
        settings = Locked(Settings(role: role, permission: permission))
        super.init()
    }

    /// Somebody whom nobody knows yet: once the share is saved that they are added to, whoever is first to accept by `CKShare.oneTimeURL(for:)` takes
    /// their place. Until then they have no name and no lookup info. Apple: iOS 18.
    public class func oneTimeURLParticipant() -> CKShare.Participant {
        let nobody = CKUserIdentity(userRecordID: nil, lookupInfo: nil, nameComponents: nil, hasiCloudAccount: false)
        return CKShareParticipant(
            participantID: UUID().uuidString, userIdentity: nobody, role: .privateUser, permission: .readOnly, acceptanceStatus: .pending,
            isOneTime: true)
    }

    open func copy(with zone: NSZone? = nil) -> Any { duplicate() }

    func duplicate() -> CKShareParticipant {
        CKShareParticipant(
            participantID: participantID, userIdentity: userIdentity, role: role, permission: permission, acceptanceStatus: acceptanceStatus,
            isApprovedRequester: isApprovedRequester, dateAddedToShare: dateAddedToShare, isOneTime: isOneTime, oneTimeSecret: oneTimeSecret)
    }

    open override func isEqual(_ object: Any?) -> Bool { (object as? CKShareParticipant).map(isSame) ?? false }
    // Any one of three things makes two of them equal: nothing less than one value serves all.
    open override var hash: Int { 0 }

    func isSame(as other: CKShareParticipant) -> Bool {
        if participantID == other.participantID { return true }
        if let user = userIdentity.userRecordID, user == other.userIdentity.userRecordID { return true }
        return userIdentity.lookupInfo.map { $0 == other.userIdentity.lookupInfo } ?? false
    }

    open override var description: String {
        "<CKShareParticipant: participantID=\(participantID), role=\(role), permission=\(permission), acceptanceStatus=\(acceptanceStatus), "
            + "userIdentity=\(userIdentity)>"
    }

    // MARK: NSSecureCoding

    private enum Key {
        static let participantID = "ParticipantID"
        static let userIdentity = "UserIdentity"
        static let role = "Role"
        static let permission = "Permission"
        static let acceptanceStatus = "AcceptanceStatus"
        static let isApprovedRequester = "IsApprovedRequester"
        static let dateAdded = "DateAddedToShare"
        static let isOneTime = "IsOneTime"
        static let oneTimeSecret = "OneTimeSecret"
    }

    /// True: its archives are read by class.
    public static var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        guard let id = coder.strings(forKeys: Key.participantID)?[0], let identity = coder.object(of: CKUserIdentity.self, forKey: Key.userIdentity)
        else { return nil }
        participantID = id
        userIdentity = identity
        acceptanceStatus = CKShare.ParticipantAcceptanceStatus(rawValue: Int(coder.decodeInt64(forKey: Key.acceptanceStatus))) ?? .unknown
        isApprovedRequester = coder.decodeBool(forKey: Key.isApprovedRequester)
        dateAddedToShare =
            coder.containsValue(forKey: Key.dateAdded) ? Date(timeIntervalSinceReferenceDate: coder.decodeDouble(forKey: Key.dateAdded)) : nil
        isOneTime = coder.decodeBool(forKey: Key.isOneTime)
        oneTimeSecret = coder.strings(forKeys: Key.oneTimeSecret)?[0]
        settings = Locked(
            Settings(
                role: CKShare.ParticipantRole(rawValue: Int(coder.decodeInt64(forKey: Key.role))) ?? .unknown,
                permission: CKShare.ParticipantPermission(rawValue: Int(coder.decodeInt64(forKey: Key.permission))) ?? .unknown))
        super.init()
    }

    open func encode(with coder: NSCoder) {
        coder.encode(NSString(string: participantID), forKey: Key.participantID)
        coder.encode(userIdentity, forKey: Key.userIdentity)
        coder.encode(Int64(role.rawValue), forKey: Key.role)
        coder.encode(Int64(permission.rawValue), forKey: Key.permission)
        coder.encode(Int64(acceptanceStatus.rawValue), forKey: Key.acceptanceStatus)
        coder.encode(isApprovedRequester, forKey: Key.isApprovedRequester)
        if let dateAddedToShare { coder.encode(dateAddedToShare.timeIntervalSinceReferenceDate, forKey: Key.dateAdded) }
        coder.encode(isOneTime, forKey: Key.isOneTime)
        if let oneTimeSecret { coder.encode(NSString(string: oneTimeSecret), forKey: Key.oneTimeSecret) }
    }
}

// MARK: - On the wire

extension CKShareParticipant {
    convenience init(wire participant: ShareParticipant) {
        self.init(
            participantID: participant.participantID ?? "", userIdentity: CKUserIdentity(wire: participant.identity),
            role: CKShare.ParticipantRole(participant.role), permission: CKShare.ParticipantPermission(participant.permission),
            acceptanceStatus: CKShare.ParticipantAcceptanceStatus(participant.acceptance),
            isApprovedRequester: participant.isApprovedRequester,
            dateAddedToShare: participant.added.map { Date(timeIntervalSinceReferenceDate: $0.secondsSince2001) }, isOneTime: participant.isOneTime,
            oneTimeSecret: participant.oneTimeSecret)
    }

    /// Somebody who is to be invited.
    convenience init(inviting identity: CKUserIdentity) {
        self.init(
            participantID: UUID().uuidString, userIdentity: identity, role: .privateUser, permission: .readOnly, acceptanceStatus: .pending)
    }

    var wire: ShareParticipant {
        ShareParticipant(
            participantID: participantID,
            identity: userIdentity.asParticipant,
            role: role.wire, permission: permission.wire, acceptance: acceptanceStatus.wire,
            // Once somebody has claimed them they are a participant as any other.
            isOneTime: isOneTime && userIdentity.userRecordID == nil)
    }
}

extension UserLookupInfo {
    /// As it is: an invitation is for whoever has the address, so the owner's server must know it.
    fileprivate init(_ info: CKUserIdentity.LookupInfo) {
        if let address = info.emailAddress {
            self = .emailAddress(address)
        } else if let number = info.phoneNumber {
            self = .phoneNumber(number)
        } else {
            self = .userRecordName(info.userRecordID?.recordName ?? "")
        }
    }
}

extension CKUserIdentity {
    /// As a request names somebody: their names are the server's to know.
    var asParticipant: ParticipantIdentity {
        ParticipantIdentity(userRecordName: userRecordID?.recordName, lookupInfo: lookupInfo.map(UserLookupInfo.init))
    }

    convenience init(wire identity: ParticipantIdentity) {
        let lookupInfo: CKUserIdentity.LookupInfo? =
            switch identity.lookupInfo {
            case .emailAddress(let address): CKUserIdentity.LookupInfo(emailAddress: address)
            case .phoneNumber(let number): CKUserIdentity.LookupInfo(phoneNumber: number)
            case .userRecordName(let name): CKUserIdentity.LookupInfo(userRecordID: CKRecord.ID(recordName: name))
            case .contactHash, nil: nil
            }
        self.init(
            userRecordID: identity.userRecordName.map { CKRecord.ID(recordName: $0) }, lookupInfo: lookupInfo,
            nameComponents: identity.nameComponents.map(PersonNameComponents.init), hasiCloudAccount: identity.userRecordName != nil)
    }
}

extension CKShare.ParticipantPermission {
    init(_ permission: SharePermission) {
        self =
            switch permission {
            case .none: .none
            case .readOnly: .readOnly
            case .readWrite: .readWrite
            case .unknown: .unknown
            }
    }

    var wire: SharePermission {
        switch self {
        case .none: .none
        case .readOnly: .readOnly
        case .readWrite: .readWrite
        case .unknown: .unknown
        }
    }
}

extension CKShare.ParticipantRole {
    init(_ role: NacreCloudWire.ParticipantRole) {
        self =
            switch role {
            case .owner: .owner
            case .administrator: .administrator
            case .privateUser: .privateUser
            case .publicUser: .publicUser
            case .unknown: .unknown
            }
    }

    fileprivate var wire: NacreCloudWire.ParticipantRole {
        switch self {
        case .owner: .owner
        case .administrator: .administrator
        case .privateUser: .privateUser
        case .publicUser: .publicUser
        case .unknown: .unknown
        }
    }
}

extension CKShare.ParticipantAcceptanceStatus {
    init(_ acceptance: ParticipantAcceptance) {
        self =
            switch acceptance {
            case .invited: .pending
            case .accepted: .accepted
            case .removed: .removed
            case .unknown: .unknown
            }
    }

    fileprivate var wire: ParticipantAcceptance {
        switch self {
        case .pending: .invited
        case .accepted: .accepted
        case .removed: .removed
        case .unknown: .unknown
        }
    }
}
