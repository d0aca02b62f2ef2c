public import Foundation
import NacreCloudWire

extension CKShare {
    /// Top-level under another name, because `NSKeyedArchiver` on Linux aborts on nested classes.
    public typealias Metadata = CKShareMetadata
}

/// The current user's view of a share, before and after it is accepted. Written `CKShare.Metadata`. Immutable. Apple:
/// iOS 10.
open class CKShareMetadata: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // Sendable: all properties are `let`s of sendable types; records are returned as copies.

    /// The container of the share.
    public let containerIdentifier: String
    private let theShare: CKShare
    /// The current user's role.
    public let participantRole: CKShare.ParticipantRole
    /// Whether the current user has accepted the share.
    public let participantStatus: CKShare.ParticipantAcceptanceStatus
    /// The current user's permission.
    public let participantPermission: CKShare.ParticipantPermission
    /// The owner's identity, as far as the current user may know it.
    public let ownerIdentity: CKUserIdentity
    /// The identifier in the share's URL.
    let shortGUID: String
    /// The secret of the link by which the user comes, which was behind the `#` of the URL; nil: there was none. An
    /// archive does not have it.
    let link: String?

    /// The share. A copy.
    open var share: CKShare { theShare.copy() as? CKShare ?? theShare }
    private let theRoot: CKRecord?
    /// The root record. A copy; nil if it was not requested or if the whole zone is shared.
    open var rootRecord: CKRecord? { theRoot.map { $0.copy() as? CKRecord ?? $0 } }
    /// The ID of the root record; nil if the whole zone is shared. Apple: iOS 15.
    public let hierarchicalRootRecordID: CKRecord.ID?
    /// The ID of the root record, or the share's own ID if the whole zone is shared. Apple: deprecated in iOS 16.
    open var rootRecordID: CKRecord.ID { hierarchicalRootRecordID ?? theShare.recordID }

    /// - Parameters:
    ///   - isOwner: whether the current user owns the zone.
    ///   - server: the server's URL, with which the share's URL begins.
    ///   - link: the secret of the link in the URL.
    init(wire metadata: ShareMetadata, isOwner: Bool, server: URL?, link: String?) throws(CKError) {
        let zoneID = CKRecordZone.ID(wire: metadata.zoneID, in: isOwner ? .private : .shared)
        let shareID = CKRecord.ID(recordName: metadata.share.recordName, zoneID: zoneID)
        guard let share = CKRecord.make(wire: metadata.share, recordID: shareID, server: server) as? CKShare else { throw .unexpectedAnswer }
        containerIdentifier = metadata.containerIdentifier
        theShare = share
        hierarchicalRootRecordID = metadata.rootRecordName.map { CKRecord.ID(recordName: $0, zoneID: zoneID) }
        theRoot = metadata.rootRecord.map {
            CKRecord.make(wire: $0, recordID: CKRecord.ID(recordName: $0.recordName, zoneID: zoneID), server: server)
        }
        participantRole = CKShare.ParticipantRole(metadata.participantType)
        participantStatus = CKShare.ParticipantAcceptanceStatus(metadata.participantStatus)
        participantPermission = CKShare.ParticipantPermission(metadata.participantPermission)
        ownerIdentity = CKUserIdentity(wire: metadata.ownerIdentity, lookupInfo: nil)
        shortGUID = metadata.shortGUID
        self.link = link
        super.init()
    }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKShareMetadata else { return false }
        return shortGUID == other.shortGUID && containerIdentifier == other.containerIdentifier
    }

    open override var hash: Int { shortGUID.hashValue }

    open override var description: String {
        "<CKShareMetadata: containerIdentifier=\(containerIdentifier), share=\(theShare.recordID), participantRole=\(participantRole), "
            + "participantStatus=\(participantStatus), participantPermission=\(participantPermission)>"
    }

    // MARK: NSSecureCoding

    private enum Key {
        static let containerIdentifier = "ContainerIdentifier"
        static let share = "Share"
        static let role = "ParticipantRole"
        static let status = "ParticipantStatus"
        static let permission = "ParticipantPermission"
        static let ownerIdentity = "OwnerIdentity"
        static let shortGUID = "ShortGUID"
        static let rootRecord = "RootRecord"
        static let rootRecordID = "HierarchicalRootRecordID"
    }

    /// Always true: archives are decoded by class.
    public static var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        guard let texts = coder.strings(forKeys: Key.containerIdentifier, Key.shortGUID),
            let share = coder.object(of: CKShare.self, forKey: Key.share),
            let owner = coder.object(of: CKUserIdentity.self, forKey: Key.ownerIdentity)
        else { return nil }
        containerIdentifier = texts[0]
        shortGUID = texts[1]
        link = nil
        theShare = share
        theRoot = coder.object(of: CKRecord.self, forKey: Key.rootRecord)
        hierarchicalRootRecordID = coder.object(of: CKRecord.ID.self, forKey: Key.rootRecordID)
        participantRole = CKShare.ParticipantRole(rawValue: Int(coder.decodeInt64(forKey: Key.role))) ?? .unknown
        participantStatus = CKShare.ParticipantAcceptanceStatus(rawValue: Int(coder.decodeInt64(forKey: Key.status))) ?? .unknown
        participantPermission = CKShare.ParticipantPermission(rawValue: Int(coder.decodeInt64(forKey: Key.permission))) ?? .unknown
        ownerIdentity = owner
        super.init()
    }

    open func encode(with coder: NSCoder) {
        coder.encode(NSString(string: containerIdentifier), forKey: Key.containerIdentifier)
        coder.encode(NSString(string: shortGUID), forKey: Key.shortGUID)
        coder.encode(theShare, forKey: Key.share)
        if let theRoot { coder.encode(theRoot, forKey: Key.rootRecord) }
        if let hierarchicalRootRecordID { coder.encode(hierarchicalRootRecordID, forKey: Key.rootRecordID) }
        coder.encode(Int64(participantRole.rawValue), forKey: Key.role)
        coder.encode(Int64(participantStatus.rawValue), forKey: Key.status)
        coder.encode(Int64(participantPermission.rawValue), forKey: Key.permission)
        coder.encode(ownerIdentity, forKey: Key.ownerIdentity)
    }
}
