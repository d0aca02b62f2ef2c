public import Foundation

/// A user as others see them. Only users who have allowed it are found: see `CKContainer.requestApplicationPermission(_:)`. Immutable. Apple: iOS 10.
open class CKUserIdentity: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: all properties are `let`s of value types, or of classes that are immutable.

    /// Names the user's record in the public database. It is another one in another container.
    public let userRecordID: CKRecord.ID?
    /// How the user was looked up; nil where nobody was.
    public let lookupInfo: CKUserIdentity.LookupInfo?
    /// On this server: the given and the family name, where the account has any.
    public let nameComponents: PersonNameComponents?
    /// Whether there is an account.
    public let hasiCloudAccount: Bool
    /// Apple: deprecated in iOS 18. On this server: empty, since a machine has no address book.
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

    /// True: an archive is decoded by its class.
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
