public import Foundation

/// The public identity of a user. Only users who allow it are found: see
/// `CKContainer.requestApplicationPermission(_:)`. Immutable. Apple: iOS 10.
open class CKUserIdentity: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: all properties are `let`s of value types, or of classes that are immutable.

    /// The ID of the user's record in the public database. It differs between containers.
    public let userRecordID: CKRecord.ID?
    /// The lookup info by which the user was found; nil without a lookup.
    public let lookupInfo: CKUserIdentity.LookupInfo?
    /// The user's name. On this server: the given and the family name, if the account has any.
    public let nameComponents: PersonNameComponents?
    /// Whether the user has an account.
    public let hasiCloudAccount: Bool
    /// An empty list. Apple: deprecated in iOS 18. On this server: a machine has no address book.
    open var contactIdentifiers: [String] { [] }

    init(
        userRecordID: CKRecord.ID?, lookupInfo: CKUserIdentity.LookupInfo?, nameComponents: PersonNameComponents?, hasiCloudAccount: Bool
    ) {
        self.userRecordID = userRecordID
        self.lookupInfo = lookupInfo
        self.nameComponents = nameComponents
        self.hasiCloudAccount = hasiCloudAccount
        super.init()
    }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override var description: String {
        "<CKUserIdentity: userRecordID=\(userRecordID.map { "\($0)" } ?? "nil"), hasiCloudAccount=\(hasiCloudAccount)>"
    }

    // MARK: NSSecureCoding

    private enum Key {
        static let userRecordID = "UserRecordID"
        static let lookupInfo = "LookupInfo"
        static let nameComponents = "NameComponents"
        static let hasiCloudAccount = "HasICloudAccount"
    }

    /// Always true: archives are decoded by class.
    public static var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        userRecordID = coder.object(of: CKRecordID.self, forKey: Key.userRecordID)
        lookupInfo = coder.object(of: CKUserIdentityLookupInfo.self, forKey: Key.lookupInfo)
        nameComponents = coder.object(of: NSPersonNameComponents.self, forKey: Key.nameComponents).map { $0 as PersonNameComponents }
        hasiCloudAccount = coder.containsValue(forKey: Key.hasiCloudAccount) && coder.decodeBool(forKey: Key.hasiCloudAccount)
        super.init()
    }

    open func encode(with coder: NSCoder) {
        if let userRecordID { coder.encode(userRecordID, forKey: Key.userRecordID) }
        if let lookupInfo { coder.encode(lookupInfo, forKey: Key.lookupInfo) }
        if let nameComponents { coder.encode(nameComponents as NSPersonNameComponents, forKey: Key.nameComponents) }
        coder.encode(hasiCloudAccount, forKey: Key.hasiCloudAccount)
    }
}
