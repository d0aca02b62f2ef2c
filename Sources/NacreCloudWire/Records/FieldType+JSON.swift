extension FieldType {
    /// Parses a type.
    /// - Parameter text: A type tag. Clients may say `ASSET` for `ASSETID`, and `BOOLEAN` for an `INT64` that is 1 or
    ///   0.
    init?(_ text: JSONText) {
        switch text {
        case "STRING": self = .string
        case "INT64", "BOOLEAN": self = .int64
        case "DOUBLE": self = .double
        case "TIMESTAMP": self = .timestamp
        case "REFERENCE": self = .reference
        case "BYTES": self = .bytes
        case "LOCATION": self = .location
        case "ASSETID", "ASSET": self = .asset
        case "STRING_LIST": self = .stringList
        case "INT64_LIST": self = .int64List
        case "DOUBLE_LIST": self = .doubleList
        case "TIMESTAMP_LIST": self = .timestampList
        case "REFERENCE_LIST": self = .referenceList
        case "BYTES_LIST": self = .bytesList
        case "LOCATION_LIST": self = .locationList
        case "ASSETID_LIST", "ASSET_LIST": self = .assetList
        case "UNKNOWN_LIST": self = .unknownList
        default: return nil
        }
    }

    var isList: Bool { list == nil }

    /// The type of lists of these values; nil for lists.
    var list: FieldType? {
        switch self {
        case .string: .stringList
        case .int64: .int64List
        case .double: .doubleList
        case .timestamp: .timestampList
        case .bytes: .bytesList
        case .location: .locationList
        case .reference: .referenceList
        case .asset: .assetList
        case .stringList, .int64List, .doubleList, .timestampList, .bytesList, .locationList, .referenceList, .assetList, .unknownList: nil
        }
    }
}
