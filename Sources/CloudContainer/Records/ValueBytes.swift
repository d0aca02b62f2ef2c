import CloudWire

extension RecordFields {
    /// Bytes of the values, as limits count them: neither names nor the form in which they travel or are kept; assets are free.
    var valueBytes: Int {
        entries.reduce(0) { $0 + $1.value.valueBytes }
    }
}

extension FieldValue {
    /// Bytes of a number, a date and a coordinate.
    private static let wordBytes = 8

    fileprivate var valueBytes: Int {
        switch self {
        case .string(let value): value.utf8.count
        case .int64, .double, .timestamp: Self.wordBytes
        case .bytes(let value): value.count
        case .location(let value): Self.bytes(of: value)
        case .reference(let value): Self.bytes(of: value)
        case .stringList(let values): values.reduce(0) { $0 + $1.utf8.count }
        case .int64List(let values): values.count * Self.wordBytes
        case .doubleList(let values): values.count * Self.wordBytes
        case .timestampList(let values): values.count * Self.wordBytes
        case .bytesList(let values): values.reduce(0) { $0 + $1.count }
        case .locationList(let values): values.reduce(0) { $0 + Self.bytes(of: $1) }
        case .referenceList(let values): values.reduce(0) { $0 + Self.bytes(of: $1) }
        case .asset, .assetList, .emptyList: 0
        case .sealed(let value): value.keyID.utf8.count + value.bytes.count
        }
    }

    private static func bytes(of location: Location) -> Int {
        let optional = [
            location.horizontalAccuracy, location.verticalAccuracy, location.altitude, location.speed, location.course,
            location.timestamp?.secondsSince2001,
        ]
        return (2 + optional.count { $0 != nil }) * wordBytes
    }

    private static func bytes(of reference: Reference) -> Int {
        reference.recordName.utf8.count + (reference.zoneID?.zoneName.utf8.count ?? 0) + (reference.zoneID?.ownerRecordName?.utf8.count ?? 0)
    }
}
