import NacreCloudWire

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
    }

    var key: String
    var reason: Reason
}
