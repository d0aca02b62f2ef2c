import NacreCloudWire

/// A value that no field can hold, as the app set it: a list of several types, an integer beyond 64 bits, or an object
/// of another class.
struct HeldValue: @unchecked Sendable {
    // Sendable: as with the app's assets, the record keeps the object and never changes it.
    let object: any __CKRecordObjCValue

    init(_ object: any __CKRecordObjCValue) {
        self.object = object
    }
}

/// The reason why a record cannot be saved. Where Apple's framework raises an exception, this fault is kept and fails
/// the save.
struct ValueFault: Error, Equatable, Sendable, Codable {
    enum Reason: String, Error, Sendable, Codable {
        case unsupportedType = "The value's class cannot be stored in a record"
        case unsupportedElement = "A list holds an element whose class cannot be stored in a record"
        case mixedList = "The elements of a list must have one type"
        case nestedList = "A list cannot hold lists"
        case notFinite = "A number, date or coordinate must be finite"
        case beyondInt64 = "An integer must fit 64 bits with a sign"
        case invalidKey = "A key must be an ASCII letter, then ASCII letters, digits or underscores, at most 255 in all"
        case assetURL = "An asset's URL must be a file URL"
        case encryptedAsset = "Encrypted values cannot hold assets, nor references"
        case encrypted = "Encrypted fields are not supported by this version"
        case encryptedInPublic = "Encrypted fields are not supported in the public database"
        case plainAndEncrypted = "A field is plain or encrypted for ever, and this one is set in both ways"
        case encryptedLost = "An encrypted value that was not saved cannot be read from its archive on this device"
        case parentAction = "The action of a parent reference must be none"
        case parentZone = "A parent must be in the zone of its child"
        case invalidRecordType = "A record type must be an ASCII letter, then ASCII letters, digits or underscores"
        case invalidRecordName = "A record name must have 1 to 255 characters"
        case invalidZoneName = "A zone name must have 1 to 255 characters"
        case participantOfPublicShare = "A share whose publicPermission is not none takes no participants"
        case participantNotThere = "Only who takes part in a share can be removed from it"
        case shareOwner = "The owner of a share cannot be added, changed or removed"
        case notShareAdministrator = "The owner and administrators of a share decide over requests for access, and nobody else"
        case unknownPermission = "A share's publicPermission cannot be unknown"

        /// The text for users. Raw values are part of archives and must not change.
        var text: String {
            switch self {
            case .invalidKey: Names.fieldRemedy
            case .invalidRecordType: Names.recordTypeRemedy
            case .invalidRecordName, .invalidZoneName: Names.nameRemedy
            default: rawValue
            }
        }

        /// The remedy, in one line.
        var remedy: String {
            switch self {
            case .unsupportedType, .unsupportedElement:
                "Store a string, number, date, data, location, asset or reference, or a list of one of these; encode other values as Data"
            case .mixedList: "Give each type a field of its own"
            case .nestedList: "Encode the inner lists as Data, or store them in records of their own"
            case .notFinite: "Leave the field out if there is no number, instead of storing NaN or an infinity"
            case .beyondInt64: "Store the number as a string, or as Data"
            case .invalidKey, .invalidRecordType: "Take another name, such as 'title2', and keep the shown text in a field"
            case .assetURL: "Write the bytes into a file, and use CKAsset(fileURL:)"
            case .encryptedAsset: "Set the asset or reference on the record itself, not on encryptedValues"
            case .encrypted: "Set the value on the record itself, not on encryptedValues"
            case .encryptedInPublic: "Keep encrypted values in the private database"
            case .plainAndEncrypted: "Set the value on encryptedValues alone, or take another key for the plain one"
            case .encryptedLost: "Set the value again, or nil to clear it"
            case .parentAction: "Set parent with setParent(_:), which takes the action none"
            case .parentZone: "Save the child in the zone of its parent"
            case .invalidRecordName, .invalidZoneName: "Take a shorter name, such as a UUID"
            case .participantOfPublicShare: "Set publicPermission to none before adding participants"
            case .participantNotThere: "Take the participant from the share's participants"
            case .shareOwner: "Leave the owner as they are; to hand records over, let the other user save copies"
            case .notShareAdministrator: "Let the owner or an administrator of the share decide"
            case .unknownPermission: "Set publicPermission to none, readOnly or readWrite"
            }
        }
    }

    var key: String
    var reason: Reason
}
