public import Foundation

extension CKUserIdentity {
    /// Top-level under another name, because `NSKeyedArchiver` on Linux aborts on nested classes.
    public typealias LookupInfo = CKUserIdentityLookupInfo
}

/// A way to look a user up: an address, a number or an ID. Compares by value; immutable.
///
/// Written `CKUserIdentity.LookupInfo`. Apple: iOS 10.
open class CKUserIdentityLookupInfo: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: its one property is a `let` of sendable types.

    private enum Way: Hashable {
        case emailAddress(String)
        case phoneNumber(String)
        case userRecordID(CKRecord.ID)
    }

    private let way: Way

    /// The e-mail address; nil if the user is looked up in another way.
    open var emailAddress: String? { if case .emailAddress(let address) = way { address } else { nil } }
    /// The phone number; nil if the user is looked up in another way.
    open var phoneNumber: String? { if case .phoneNumber(let number) = way { number } else { nil } }
    /// The user record ID; nil if the user is looked up in another way.
    open var userRecordID: CKRecord.ID? { if case .userRecordID(let id) = way { id } else { nil } }

    /// Looks a user up by e-mail address. On this server: the address leaves the app hashed, except for invitations.
    public init(emailAddress: String) {
        way = .emailAddress(emailAddress)
        super.init()
    }

    /// Looks a user up by phone number. On this server: it leaves the app hashed, except for invitations; without its
    /// country code it finds no user.
    public init(phoneNumber: String) {
        way = .phoneNumber(phoneNumber)
        super.init()
    }

    /// Looks a user up by the ID of the user's record.
    public init(userRecordID: CKRecord.ID) {
        way = .userRecordID(userRecordID)
        super.init()
    }

    /// Returns a lookup info for each address.
    open class func lookupInfos(withEmails emails: [String]) -> [CKUserIdentity.LookupInfo] {
        emails.map { CKUserIdentityLookupInfo(emailAddress: $0) }
    }

    /// Returns a lookup info for each number.
    open class func lookupInfos(withPhoneNumbers phoneNumbers: [String]) -> [CKUserIdentity.LookupInfo] {
        phoneNumbers.map { CKUserIdentityLookupInfo(phoneNumber: $0) }
    }

    /// Returns a lookup info for each ID.
    open class func lookupInfos(with recordIDs: [CKRecord.ID]) -> [CKUserIdentity.LookupInfo] {
        recordIDs.map { CKUserIdentityLookupInfo(userRecordID: $0) }
    }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override func isEqual(_ object: Any?) -> Bool { (object as? CKUserIdentityLookupInfo)?.way == way }
    open override var hash: Int { way.hashValue }

    // MARK: NSSecureCoding

    private enum Key {
        static let emailAddress = "EmailAddress"
        static let phoneNumber = "PhoneNumber"
        static let userRecordID = "UserRecordID"
    }

    /// Always true: archives are decoded by class.
    public static var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        if let address = coder.strings(forKeys: Key.emailAddress)?[0] {
            way = .emailAddress(address)
        } else if let number = coder.strings(forKeys: Key.phoneNumber)?[0] {
            way = .phoneNumber(number)
        } else if let id = coder.object(of: CKRecordID.self, forKey: Key.userRecordID) {
            way = .userRecordID(id)
        } else {
            return nil
        }
        super.init()
    }

    open func encode(with coder: NSCoder) {
        switch way {
        case .emailAddress(let address): coder.encode(NSString(string: address), forKey: Key.emailAddress)
        case .phoneNumber(let number): coder.encode(NSString(string: number), forKey: Key.phoneNumber)
        case .userRecordID(let id): coder.encode(id, forKey: Key.userRecordID)
        }
    }
}
