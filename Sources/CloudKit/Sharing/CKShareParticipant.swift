public import Foundation
import NacreCloudWire
import NacreLocks

extension CKShare {
    /// Top-level under another name, because `NSKeyedArchiver` on Linux aborts on nested classes.
    public typealias Participant = CKShareParticipant

    /// The state of an invitation. Apple: iOS 10.
    public enum ParticipantAcceptanceStatus: Int, Sendable {
        /// Not known.
        case unknown = 0
        /// The participant is invited and has not answered.
        case pending = 1
        /// The participant has accepted.
        case accepted = 2
        /// The participant no longer takes part.
        case removed = 3
    }

    /// The participant's permission in the share. Apple: iOS 10.
    public enum ParticipantPermission: Int, Sendable {
        /// Not known.
        case unknown = 0
        /// The participant may do nothing. As a public permission: the URL alone gives no access.
        case none = 1
        /// The participant may read.
        case readOnly = 2
        /// The participant may read and change.
        case readWrite = 3
    }

    /// The participant's role in the share. Apple: iOS 12.
    public enum ParticipantRole: Int, Sendable {
        /// Not known.
        case unknown = 0
        /// The owner of the share.
        case owner = 1
        /// May add and remove participants and change their permissions. Apple: iOS 26.
        case administrator = 2
        /// An invited participant.
        case privateUser = 3
        /// A participant who came by the share's URL, with the share's public permission.
        case publicUser = 4
    }
}

/// Apple: transitional name of iOS 10.
public typealias CKShare_Participant_AcceptanceStatus = CKShare.ParticipantAcceptanceStatus
/// Apple: transitional name of iOS 10.
public typealias CKShare_Participant_Permission = CKShare.ParticipantPermission
/// Apple: transitional name of iOS 12.
public typealias CKShare_Participant_Role = CKShare.ParticipantRole

/// A person who takes part in a share, or is invited to it. Written `CKShare.Participant`. Apple: iOS 10.
///
/// The permission and the role can be set; they take effect when the participant's share is saved. Two participants are
/// equal if they have the same participant ID, user record ID or lookup info.
open class CKShareParticipant: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: constants are `let`s of sendable types, and mutable state is in `Locked`.

    /// The type of a participant's identifier.
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

    /// The participant's identifier. It stays the same while the participant is in the share.
    public let participantID: CKShare.Participant.ID
    /// The identity, as far as the current user may know it: only the owner and administrators see addresses.
    public let userIdentity: CKUserIdentity
    /// Whether the participant has accepted. The server sets it.
    public let acceptanceStatus: CKShare.ParticipantAcceptanceStatus
    /// Whether the participant asked for access and was approved; false if the current user may not know it. The server
    /// sets it. Apple: iOS 26.
    public let isApprovedRequester: Bool
    /// The date at which the participant joined. nil before the share is saved, if the current user may not know it,
    /// and if the server did not keep it. Apple: iOS 26.
    public let dateAddedToShare: Date?
    /// Whether the participant stands for the first person who accepts by the participant's own URL.
    let isOneTime: Bool
    /// The secret part of that URL; nil if there is none or the current user may not hand it out.
    let oneTimeSecret: String?
    private let settings: Locked<Settings>

    /// The role; `privateUser` by default. On this server: only the owner makes administrators.
    open var role: CKShare.ParticipantRole {
        get { settings.withLock(\.role) }
        set { settings.withLock { $0.role = newValue } }
    }

    /// The permission; `readOnly` by default.
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

    /// Returns a participant for a person who is not known yet. After the share is saved with it, the first person who
    /// accepts by `CKShare.oneTimeURL(for:)` takes its place. Until then it has no name and no lookup info. Apple: iOS
    /// 18.
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
    // A constant hash: two participants are equal if any one of three values matches.
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

    /// Always true: archives are decoded by class.
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

// MARK: - Wire form

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

    /// Makes a participant who is to be invited.
    convenience init(inviting identity: CKUserIdentity) {
        self.init(
            participantID: UUID().uuidString, userIdentity: identity, role: .privateUser, permission: .readOnly, acceptanceStatus: .pending)
    }

    var wire: ShareParticipant {
        ShareParticipant(
            participantID: participantID,
            identity: userIdentity.asParticipant,
            role: role.wire, permission: permission.wire, acceptance: acceptanceStatus.wire,
            // A claimed one-time participant is sent like any other participant.
            isOneTime: isOneTime && userIdentity.userRecordID == nil)
    }
}

extension UserLookupInfo {
    /// Makes the plain lookup info of a request. The server must know the address, because its owner is invited.
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
    /// The identity as requests name it, without names: the server knows those.
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
