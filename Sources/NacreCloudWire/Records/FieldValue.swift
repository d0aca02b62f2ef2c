/// A value of a record's field: each type of CloudKit's schema, alone or in a list.
///
/// There is no null. A field without a value is absent from a `Record`; a `RecordChange` clears one.
package enum FieldValue: Equatable, Sendable {
    case string(String)
    case int64(Int64)
    case double(Double)
    case timestamp(Timestamp)
    case bytes([UInt8])
    case location(Location)
    case reference(Reference)
    case asset(Asset)
    case stringList([String])
    case int64List([Int64])
    case doubleList([Double])
    case timestampList([Timestamp])
    case bytesList([[UInt8]])
    case locationList([Location])
    case referenceList([Reference])
    case assetList([Asset])
    /// An empty list of unknown element type; on the wire `UNKNOWN_LIST`.
    case emptyList
    /// A value that only holders of a key can read.
    case sealed(SealedValue)

    package var type: FieldType {
        switch self {
        case .string: .string
        case .int64: .int64
        case .double: .double
        case .timestamp: .timestamp
        case .bytes: .bytes
        case .location: .location
        case .reference: .reference
        case .asset: .asset
        case .stringList: .stringList
        case .int64List: .int64List
        case .doubleList: .doubleList
        case .timestampList: .timestampList
        case .bytesList: .bytesList
        case .locationList: .locationList
        case .referenceList: .referenceList
        case .assetList: .assetList
        case .emptyList: .unknownList
        case .sealed(let value): value.type
        }
    }
}

/// The type tag of a field value, spelled as the wire spells it.
@usableFromInline
package enum FieldType: String, Hashable, Sendable, CaseIterable {
    case string = "STRING"
    case int64 = "INT64"
    case double = "DOUBLE"
    case timestamp = "TIMESTAMP"
    case bytes = "BYTES"
    case location = "LOCATION"
    case reference = "REFERENCE"
    case asset = "ASSETID"
    case stringList = "STRING_LIST"
    case int64List = "INT64_LIST"
    case doubleList = "DOUBLE_LIST"
    case timestampList = "TIMESTAMP_LIST"
    case bytesList = "BYTES_LIST"
    case locationList = "LOCATION_LIST"
    case referenceList = "REFERENCE_LIST"
    case assetList = "ASSETID_LIST"
    case unknownList = "UNKNOWN_LIST"
}

/// A value encrypted by a client: its type, the ID of its key, and its bytes. The server never decrypts it.
package struct SealedValue: Equatable, Sendable {
    /// The type of the value inside.
    package var type: FieldType
    /// nil in a change: the unchanged value, sent back by a client that was not told its key.
    package var keyID: String?
    package var bytes: [UInt8]

    package init(type: FieldType, keyID: String?, bytes: [UInt8]) {
        self.type = type
        self.keyID = keyID
        self.bytes = bytes
    }
}

/// A place on Earth. Degrees, metres, metres per second; nil where the source did not say.
package struct Location: Hashable, Sendable {
    package var latitude: Double
    package var longitude: Double
    package var horizontalAccuracy: Double?
    package var verticalAccuracy: Double?
    package var altitude: Double?
    package var speed: Double?
    package var course: Double?
    package var timestamp: Timestamp?

    package init(
        latitude: Double, longitude: Double, horizontalAccuracy: Double? = nil, verticalAccuracy: Double? = nil,
        altitude: Double? = nil, speed: Double? = nil, course: Double? = nil, timestamp: Timestamp? = nil
    ) {
        self.latitude = latitude
        self.longitude = longitude
        self.horizontalAccuracy = horizontalAccuracy
        self.verticalAccuracy = verticalAccuracy
        self.altitude = altitude
        self.speed = speed
        self.course = course
        self.timestamp = timestamp
    }
}

/// A link to another record of the same database.
package struct Reference: Equatable, Sendable {
    package enum Action: String, Hashable, Sendable, CaseIterable {
        /// Nothing happens when the target is deleted.
        case none = "NONE"
        /// The record that holds the reference is deleted with the target.
        case deleteSelf = "DELETE_SELF"
        /// The target must exist when the record is saved.
        case validate = "VALIDATE"
    }

    package var recordName: String
    package var action: Action
    /// The target's zone; nil is the zone of the record that holds the reference.
    package var zoneID: ZoneID?

    package init(recordName: String, action: Action, zoneID: ZoneID? = nil) {
        self.recordName = recordName
        self.action = action
        self.zoneID = zoneID
    }
}

/// The dictionary that stands for a file in a record; its bytes are transferred separately.
package struct Asset: Equatable, Sendable {
    package var fileChecksum: String
    /// Bytes of the file.
    package var size: Int64
    package var referenceChecksum: String?
    package var wrappingKey: String?
    /// Proof of an upload; sent with a save, never answered.
    package var receipt: String?
    /// The URL of the bytes; in answers, never in saves.
    package var downloadURL: String?

    package init(
        fileChecksum: String, size: Int64, referenceChecksum: String? = nil, wrappingKey: String? = nil,
        receipt: String? = nil, downloadURL: String? = nil
    ) {
        self.fileChecksum = fileChecksum
        self.size = size
        self.referenceChecksum = referenceChecksum
        self.wrappingKey = wrappingKey
        self.receipt = receipt
        self.downloadURL = downloadURL
    }
}
