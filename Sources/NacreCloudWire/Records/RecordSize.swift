// The size of a record, for CloudKit's limits (1 MB a record, 2 MB a request). It is measured on values and not on
// JSON, so that a record has one size whichever client sends it, and however it is stored.
//
// A field costs the UTF-8 bytes of its name and its value. An empty element of a list counts as a byte, so that many
// empty values are not free. Assets cost nothing, as they have limits of their own. The record's own name, type and
// system fields cost nothing either.

extension RecordFields {
    /// Bytes of the names and values. Costs a walk over the fields.
    package var byteCount: Int {
        entries.indices.reduce(0) { $0 + entries[$1].name.utf8.count + entries[$1].value.byteCount }
    }
}

extension Record {
    /// Bytes of the fields and of the manifest, which has a limit of its own. Costs a walk over the fields.
    package var byteCount: Int { fields.byteCount + (manifest?.count ?? 0) }
}

extension FieldValue {
    /// Bytes of a number, a date, or one component of a location.
    static let numberByteCount = 8

    /// Bytes of a reference beside its target's name. On this server: answers name the zone of each reference, so
    /// that a list of many short names would be a hundred times as long as JSON, and exceed the limit of answers.
    static let referenceByteCount = 48

    /// Bytes of the value: strings in UTF-8, references by the name of their target and their zone, locations by the
    /// components that they have, lists by their elements.
    package var byteCount: Int {
        switch self {
        case .string(let value): value.utf8.count
        case .int64, .double, .timestamp: Self.numberByteCount
        case .bytes(let value): value.count
        case .location(let value): value.byteCount
        case .reference(let value): Self.referenceByteCount + value.recordName.utf8.count
        case .asset, .assetList, .emptyList: 0
        case .stringList(let values): values.reduce(0) { $0 + max($1.utf8.count, 1) }
        case .int64List(let values): values.count * Self.numberByteCount
        case .doubleList(let values): values.count * Self.numberByteCount
        case .timestampList(let values): values.count * Self.numberByteCount
        case .bytesList(let values): values.reduce(0) { $0 + max($1.count, 1) }
        case .locationList(let values): values.reduce(0) { $0 + $1.byteCount }
        case .referenceList(let values): values.reduce(0) { $0 + Self.referenceByteCount + $1.recordName.utf8.count }
        case .sealed(let value): value.bytes.count
        }
    }
}

extension Location {
    fileprivate var byteCount: Int {
        let optional = [horizontalAccuracy, verticalAccuracy, altitude, speed, course, timestamp?.secondsSince2001]
        return (2 + optional.count { $0 != nil }) * FieldValue.numberByteCount
    }
}
