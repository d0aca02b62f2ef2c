public import Foundation
import NacreCloudWire

extension CKShare {
    /// Top-level under another name, because `NSKeyedArchiver` on Linux aborts on nested classes.
    public typealias AccessRequester = CKShareAccessRequester
    /// Top-level under another name, because `NSKeyedArchiver` on Linux aborts on nested classes.
    public typealias BlockedIdentity = CKShareBlockedIdentity

    /// Whether people who have the URL and are not invited may ask for access. The default is false: then the server
    /// does not reveal the share to them. Apple: iOS 26.
    ///
    /// Only the owner and administrators may set it and call `denyRequesters`, `blockRequesters` and
    /// `unblockIdentities`. The changes take effect with the share's next save.
    public var allowsAccessRequests: Bool {
        get { sheet.allowsAccessRequests }
        set { decide { $0.allowsAccessRequests = newValue } }
    }

    /// The open requests for access; empty for a user who is neither owner nor administrator. Apple: iOS 26.
    ///
    /// To approve a request, fetch a participant by its `participantLookupInfo` and add it.
    public var requesters: [CKShare.AccessRequester] { sheet.requesters.map(CKShareAccessRequester.init) }

    /// The users who may not ask for access; empty for a user who is neither owner nor administrator. Apple: iOS 26.
    public var blockedIdentities: [CKShare.BlockedIdentity] { sheet.blockedIdentities.map(CKShareBlockedIdentity.init) }

    /// Removes requests. Their users may ask again. Apple: iOS 26.
    public func denyRequesters(_ requesters: [CKShare.AccessRequester]) {
        decide { $0.deny(requesters.map(\.wire)) }
    }

    /// Removes requests, removes their users from the share if they take part, and keeps them from asking again. Apple:
    /// iOS 26.
    public func blockRequesters(_ requesters: [CKShare.AccessRequester]) {
        decide { $0.block(requesters.map(\.wire)) }
    }

    /// Lets blocked users ask again. Apple: iOS 26.
    public func unblockIdentities(_ blockedIdentities: [CKShare.BlockedIdentity]) {
        decide { $0.unblock(blockedIdentities.map(\.wire)) }
    }

    private func decide(_ body: (inout ShareSheet) -> Void) {
        change { sheet throws(ValueFault.Reason) in
            guard sheet.isDecidedByCurrentUser else { throw .notShareAdministrator }
            body(&sheet)
        }
    }
}

/// A user who has asked for access to a share. Written `CKShare.AccessRequester`. Immutable. Apple: iOS 26.
///
/// Two objects are equal if they are of the same user. There is no `contact`, which belongs to Apple's Contacts
/// framework.
open class CKShareAccessRequester: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: all properties are `let`s of sendable types.

    /// The user's name, if the account has one, and the account's verified address or number.
    public let userIdentity: CKUserIdentity
    /// The lookup info for fetching a participant, who can then be added to the share.
    public let participantLookupInfo: CKUserIdentity.LookupInfo

    convenience init(_ identity: ParticipantIdentity) {
        self.init(CKUserIdentity(wire: identity))
    }

    private init(_ identity: CKUserIdentity) {
        userIdentity = identity
        participantLookupInfo = identity.lookupInfo ?? CKUserIdentity.LookupInfo(userRecordID: identity.userRecordID ?? CKRecord.ID(recordName: "_"))
        super.init()
    }

    var wire: ParticipantIdentity { userIdentity.asParticipant }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override func isEqual(_ object: Any?) -> Bool {
        (object as? CKShareAccessRequester).map { userIdentity.userRecordID == $0.userIdentity.userRecordID } ?? false
    }

    open override var hash: Int { userIdentity.userRecordID.hashValue }

    open override var description: String { "<CKShareAccessRequester: userIdentity=\(userIdentity)>" }

    // MARK: NSSecureCoding

    /// Always true: archives are decoded by class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes a requester; nil if the archive does not hold one.
    public required convenience init?(coder: NSCoder) {
        guard let identity = coder.object(of: CKUserIdentity.self, forKey: CKUserIdentity.key) else { return nil }
        self.init(identity)
    }

    open func encode(with coder: NSCoder) { coder.encode(userIdentity, forKey: CKUserIdentity.key) }
}

/// A user who may not ask for access to a share. Written `CKShare.BlockedIdentity`. Immutable. Apple: iOS 26.
///
/// Two objects are equal if they are of the same user. There is no `contact`, which belongs to Apple's Contacts
/// framework.
open class CKShareBlockedIdentity: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: the property is a `let` of a sendable type.

    /// The user's identity at the time of the request.
    public let userIdentity: CKUserIdentity

    convenience init(_ identity: ParticipantIdentity) {
        self.init(CKUserIdentity(wire: identity))
    }

    private init(_ identity: CKUserIdentity) {
        userIdentity = identity
        super.init()
    }

    var wire: ParticipantIdentity { userIdentity.asParticipant }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override func isEqual(_ object: Any?) -> Bool {
        (object as? CKShareBlockedIdentity).map { userIdentity.userRecordID == $0.userIdentity.userRecordID } ?? false
    }

    open override var hash: Int { userIdentity.userRecordID.hashValue }

    open override var description: String { "<CKShareBlockedIdentity: userIdentity=\(userIdentity)>" }

    // MARK: NSSecureCoding

    /// Always true: archives are decoded by class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes a blocked identity; nil if the archive does not hold one.
    public required convenience init?(coder: NSCoder) {
        guard let identity = coder.object(of: CKUserIdentity.self, forKey: CKUserIdentity.key) else { return nil }
        self.init(identity)
    }

    open func encode(with coder: NSCoder) { coder.encode(userIdentity, forKey: CKUserIdentity.key) }
}

extension CKUserIdentity {
    fileprivate static let key = "UserIdentity"
}
