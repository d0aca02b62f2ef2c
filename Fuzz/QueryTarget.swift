@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudWire

/// Fuzzes the input of `records/query`. The first byte chooses: a request's JSON, checked against a schema with a
/// field of every type, or the decrypted bytes of a continuation marker.
enum QueryTarget {
    static func run(_ input: UnsafeRawBufferPointer) {
        guard let choice = input.first else { return }
        let rest = UnsafeRawBufferPointer(rebasing: input.dropFirst())
        if choice & 1 == 0 { request(rest) } else { marker([UInt8](rest)) }
    }

    private static let container = "iCloud.fuzz"
    private static let caller = Caller(.user("_u"))
    private static let database = DatabaseID(rawValue: 1)

    /// A record type `T` with a field of each type, named like the type, with each index that the type can have.
    private static let schema: Schema = {
        var next: Int64 = 1
        var type = RecordTypeDefinition(name: "T")
        for fieldType in FieldType.allCases where fieldType != .unknownList {
            var field = FieldDefinition(type: fieldType)
            field.setOptions(.possible(for: field.shape), nextIndex: &next)
            type.fields[fieldType.rawValue] = field
        }
        for system in SystemField.allCases {
            var field = FieldDefinition(type: system.type)
            field.setOptions([.queryable, .sortable], nextIndex: &next)
            type.fields[system.rawValue] = field
        }
        for name in type.fields.keys {
            for kind in IndexKind.allCases {
                type.fields[name]?.makeIndex(kind, nextIndex: &next)
                type.fields[name]?[kind]?.state = .usable
            }
        }
        return Schema(types: ["T": type])
    }()

    private static let record: StoredRecord = {
        let stamp = Record.Stamp(timestamp: Timestamp(secondsSince2001: 1), userRecordName: "_u", deviceID: nil)
        let link = Reference(recordName: "r", action: .none)
        let fields: RecordFields = [
            "STRING": .string("two words"), "INT64": .int64(2), "DOUBLE": .double(2.5), "TIMESTAMP": .timestamp(stamp.timestamp),
            "BYTES": .bytes([1, 2]), "LOCATION": .location(Location(latitude: 89.9, longitude: -180)), "REFERENCE": .reference(link),
            "STRING_LIST": .stringList(["a", ""]), "INT64_LIST": .int64List([1, 2]), "REFERENCE_LIST": .referenceList([link]),
            "DOUBLE_LIST": .doubleList([]),
        ]
        let number = ChangeNumber(run: 1, seq: 2)
        return StoredRecord(
            row: RecordRow(name: "r", type: "T", number: number, isTombstone: false, parent: "r", body: []),
            content: RecordContent(created: stamp, modified: stamp, entered: number, fields: fields))
    }()

    private static let rows = IndexRows(schema.types["T"] ?? RecordTypeDefinition(name: "T")).keys(of: record).flatMap(\.entries)

    private static func request(_ json: UnsafeRawBufferPointer) {
        guard let request = try? RecordsQueryRequest(json: json) else { return }
        guard let again = try? RecordsQueryRequest(json: request.json()) else { return promise("a query that was written can be read", false) }
        promise("a query is written the same each time", again.json() == request.json())
        _ = QueryCursor.digest(of: request, in: database, by: caller)
        var query = request.query
        query.recordType = "T"
        guard let checked = try? CheckedQuery(query, in: schema, of: container, by: caller) else { return }
        var tested = TestedRecord(record.value(of:))
        for driver in checked.drivers where (try? checked.tests[driver.filter].passes(&tested)) == true {
            promise("a record that passes a filter stands where the filter looks", driver.spans.contains { span in rows.contains(where: span.holds) })
        }
    }

    private static func marker(_ bytes: [UInt8]) {
        guard let cursor = QueryCursor(bytes) else { return }
        promise("a marker that was read is written as the same marker", QueryCursor(cursor.bytes) == cursor)
        promise("a marker is no token of a feed", ChangeToken(cursor.bytes) == nil)
    }
}

extension IndexSpan {
    fileprivate func holds(_ entry: IndexEntry) -> Bool {
        guard entry.index == index, !entry.key.lexicographicallyPrecedes(lower) else { return false }
        return upper.map { entry.key.lexicographicallyPrecedes($0) } ?? true
    }
}
