import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of CloudKit's errors for queries that a schema does not allow.
struct QueryShapeTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var query: Query
        var code: ServerErrorCode
        var reason: String
        var native: NativeErrorCode

        var testDescription: String { reason }
    }

    private static let one = FieldValue.string("a")
    private static let here = Location(latitude: 1, longitude: 2)

    private static func bad(
        _ reason: String, _ type: String = "Thing", _ filters: [QueryFilter] = [QueryFilter(.equals, fieldName: "text", value: one)],
        sorts: [QuerySort] = [], code: ServerErrorCode = .badRequest, native: NativeErrorCode = .invalidArguments
    ) -> Row {
        Row(query: Query(recordType: type, filters: filters, sorts: sorts), code: code, reason: reason, native: native)
    }

    private static func filter(_ comparator: QueryComparator, _ field: String?, _ value: FieldValue, distance: Double? = nil) -> [QueryFilter] {
        [QueryFilter(comparator, fieldName: field, value: value, distance: distance)]
    }

    static let rows: [Row] = [
        bad("missing required field", ""),
        bad("Did not find record type: Nothing", "Nothing", code: .notFound, native: .unknownItem),
        bad("Can't query system types", "Users"),
        bad("Type is not marked indexable: Plain", "Plain", []),
        bad("Field 'recordName' is not marked queryable", "Thing", []),
        bad("Field 'recordName' is not marked queryable", "Thing", [], sorts: [QuerySort("text")]),
        bad("Unknown field 'nothing'", "Thing", filter(.equals, "nothing", one)),
        bad("Unknown field '___etag'", "Thing", filter(.equals, "___etag", one)),
        bad("Field 'plain' is not marked queryable", "Thing", filter(.equals, "plain", one)),
        bad("Field 'recordName' is not marked queryable", "Thing", filter(.equals, "___recordID", one)),
        bad("Field '___parent' is not marked queryable", "Thing", filter(.equals, "___parent", one)),
        bad("Field 'plain' is not marked searchable", "Thing", filter(.containsAllTokens, "plain", one)),
        bad("No field of type 'Numbers' is marked searchable", "Numbers", filter(.containsAnyTokens, nil, one)),
        bad("Field 'plain' is not marked sortable", sorts: [QuerySort("plain")]),
        bad("Field '___createTime' is not marked sortable", sorts: [QuerySort("___createTime")]),
        bad("Field 'recordName' is not marked sortable", sorts: [QuerySort("___recordID")]),
        bad("Unknown field 'nothing'", sorts: [QuerySort("nothing")]),
        bad("Field 'tags' is not marked sortable", sorts: [QuerySort("tags")]),
        bad("Field 'place' has a value type of LOCATION", sorts: [QuerySort("place")]),
        bad("Field 'text' has a value type of STRING", sorts: [QuerySort("text", relativeLocation: here)]),
        bad(
            "Field 'owner' has a value type of REFERENCE and cannot be queried using filter value type STRING", "Thing",
            filter(.equals, "owner", one)),
        bad(
            "Field 'text' has a value type of STRING and cannot be queried using filter value type INT64_LIST", "Thing",
            filter(.in, "text", .int64List([1]))),
        bad(
            "Field 'secret' has a value type of ENCRYPTED_STRING and cannot be queried using filter type EQUALS", "Thing",
            filter(.equals, "secret", one)),
        bad(
            "Field 'text' has a value type of STRING and cannot be queried using filter type NEAR", "Thing",
            filter(.near, "text", .location(here), distance: 1)),
        bad(
            "Field 'tags' has a value type of STRING_LIST and cannot be queried using filter type EQUALS", "Thing", filter(.equals, "tags", one)),
        bad(
            "Field 'text' has a value type of STRING and cannot be queried using filter value type INT64", "Thing",
            filter(.containsAllTokens, "text", .int64(1))),
        bad("BadRequestException: Unexpected input", "Thing", filter(.in, "text", one)),
        bad("missing required field", "Thing", filter(.equals, nil, one)),
        bad("missing required field", "Thing", filter(.near, "place", .location(here))),
        bad("invalid distance", "Thing", filter(.near, "place", .location(here), distance: -1)),
        bad("numbers must be finite", "Thing", filter(.equals, "size", .double(.nan))),
        bad(
            "Query filter exceeds the limit of values: 250 for container 'iCloud.com.example.tests'", "Thing",
            filter(.in, "text", .stringList((0...250).map { "\($0)" })), native: .limitExceeded),
    ]

    static let schema: Schema = {
        func values(_ id: Int64) -> IndexDefinition { IndexDefinition(id: id, state: .usable) }
        var thing = RecordTypeDefinition(name: "Thing")
        thing.fields["text"] = FieldDefinition(type: .string, isQueryable: true, isSortable: true, values: values(1), tokens: values(2))
        thing.fields["plain"] = FieldDefinition(type: .string)
        thing.fields["secret"] = FieldDefinition(type: .string, isEncrypted: true)
        thing.fields["owner"] = FieldDefinition(type: .reference, isQueryable: true, values: values(3))
        thing.fields["place"] = FieldDefinition(type: .location, isQueryable: true, isSortable: true, values: values(4))
        thing.fields["tags"] = FieldDefinition(type: .stringList, isQueryable: true, isSortable: true, values: values(5))
        thing.fields["size"] = FieldDefinition(type: .double, isQueryable: true, isSortable: true, values: values(6))
        var numbers = RecordTypeDefinition(name: "Numbers")
        numbers.fields["count"] = FieldDefinition(type: .int64, isQueryable: true, values: values(7))
        let plain = RecordTypeDefinition(name: "Plain", fields: ["plain": FieldDefinition(type: .string)])
        return Schema(version: 1, types: ["Thing": thing, "Numbers": numbers, "Plain": plain])
    }()

    @Test(arguments: rows) func `a query that the schema does not allow is refused in CloudKit's words`(row: Row) {
        let error = #expect(throws: ServerError.self) {
            try CheckedQuery(row.query, in: Self.schema, of: TestCloud.container, by: Caller(.user("_ann")))
        }
        #expect(error?.reason == row.reason)
        #expect(error?.code == row.code)
        #expect(error?.nativeCode == row.native.rawValue)
        #expect(error?.remedy?.isEmpty == false)
    }

    @Test func `too many filters or sorts are refused`() {
        let filters = Array(repeating: QueryFilter(.equals, fieldName: "text", value: Self.one), count: Limits.filtersPerQuery + 1)
        let sorts = Array(repeating: QuerySort("text"), count: Limits.sortsPerQuery + 1)
        for query in [Query(recordType: "Thing", filters: filters), Query(recordType: "Thing", filters: [filters[0]], sorts: sorts)] {
            let error = #expect(throws: ServerError.self) {
                try CheckedQuery(query, in: Self.schema, of: TestCloud.container, by: Caller(.user("_ann")))
            }
            #expect(error?.nativeCode == NativeErrorCode.limitExceeded.rawValue)
        }
    }
}
