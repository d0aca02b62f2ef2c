public import Foundation
import NacreCloudWire

extension CKShare {
    /// Top-level under another name, because `NSKeyedArchiver` on Linux aborts on nested classes.
    public typealias AccessRequester = CKShareAccessRequester
    /// Top-level under another name, because `NSKeyedArchiver` on Linux aborts on nested classes.
    public typealias BlockedIdentity = CKShareBlockedIdentity

    /// Whether somebody who has the URL and is not invited may ask to be; by default false, and then the server does not tell that there is a share. Apple:
    /// iOS 26.
    ///
    /// The owner and administrators alone may set it, and call `denyRequesters`, `blockRequesters` and `unblockIdentities`. What they do counts with the
    /// share's next save.
    public var allowsAccessRequests: Bool {
        get { sheet.allowsAccessRequests }
        set { decide { $0.allowsAccessRequests = newValue } }
    }

    /// Who has asked and waits for an answer; empty for who is neither owner nor administrator. Apple: iOS 26.
    ///
    /// To approve somebody, fetch a participant by their `participantLookupInfo` and add it.
    public var requesters: [CKShare.AccessRequester] { sheet.requesters.map(CKShareAccessRequester.init) }

    /// Who may not ask any more; empty for who is neither owner nor administrator. Apple: iOS 26.
    public var blockedIdentities: [CKShare.BlockedIdentity] { sheet.blockedIdentities.map(CKShareBlockedIdentity.init) }

    /// Takes requests away. Who has made one may make another. Apple: iOS 26.
    public func denyRequesters(_ requesters: [CKShare.AccessRequester]) {
        decide { $0.deny(requesters.map(\.wire)) }
    }

    /// Takes requests away, those who have made them out of the share where they take part, and keeps them from asking again. Apple: iOS 26.
    public func blockRequesters(_ requesters: [CKShare.AccessRequester]) {
        decide { $0.block(requesters.map(\.wire)) }
    }

    /// Lets those ask again who were blocked. Apple: iOS 26.
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

/// Somebody who has asked for access to a share. Written `CKShare.AccessRequester`. Immutable. Apple: iOS 26.
///
/// Equal to another one of the same user. There is no `contact`, which is of Apple's Contacts framework.
open class CKShareAccessRequester: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: all properties are `let`s of sendable types.

    /// Their name, as far as their account has one, and the address or number that it has verified.
    public let userIdentity: CKUserIdentity
    /// By which a participant is fetched who is to be added to the share.
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

    /// True: its archives are read by class.
    public static var supportsSecureCoding: Bool { true }

    /// nil when the archive holds none.
    public required convenience init?(coder: NSCoder) {
        guard let identity = coder.object(of: CKUserIdentity.self, forKey: CKUserIdentity.key) else { return nil }
        self.init(identity)
    }

    open func encode(with coder: NSCoder) { coder.encode(userIdentity, forKey: CKUserIdentity.key) }
}

/// Somebody who may not ask for access to a share any more. Written `CKShare.BlockedIdentity`. Immutable. Apple: iOS 26.
///
/// Equal to another one of the same user. There is no `contact`, which is of Apple's Contacts framework.
open class CKShareBlockedIdentity: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: the property is a `let` of a sendable type.

    /// As they were when they asked.
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

    /// True: its archives are read by class.
    public static var supportsSecureCoding: Bool { true }

    /// nil when the archive holds none.
    public required convenience init?(coder: NSCoder) {
        guard let identity = coder.object(of: CKUserIdentity.self, forKey: CKUserIdentity.key) else { return nil }
        self.init(identity)
    }

    open func encode(with coder: NSCoder) { coder.encode(userIdentity, forKey: CKUserIdentity.key) }
}

extension CKUserIdentity {
    fileprivate static let key = "UserIdentity"
}
