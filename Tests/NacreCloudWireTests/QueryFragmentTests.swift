import NacreCloudServerWire
import NacreCloudWire
import Testing

/// Tests of queries in JSON: required, tolerated and refused members.
struct QueryFragmentTests {
    private func ask(_ json: String) throws -> RecordsQueryRequest { try RecordsQueryRequest(json: Array(json.utf8)) }

    private func filter(_ json: String) throws -> QueryFilter? {
        let query = try ask(#"{"query":{"recordType":"T","filterBy":[\#(json)]}}"#).query
        #expect(query.filters.count == 1)
        return query.filters.first
    }

    private func sort(_ json: String) throws -> QuerySort? {
        let query = try ask(#"{"query":{"recordType":"T","sortBy":[\#(json)]}}"#).query
        #expect(query.sorts.count == 1)
        return query.sorts.first
    }

    @Test func `a query as a client sends it`() throws {
        let request = try ask(
            """
            { "query": {"recordType": "T", "later": {}, "filterBy": [
                {"fieldName": "f", "comparator": "EQUALS", "fieldValue": {"value": "ä\\u00e4", "type": "STRING"}, "later": 1},
                {"fieldName": "l", "comparator": "NEAR", "distance": 1000.5, "fieldValue": {"value": {"latitude": 1, "longitude": 2}, "type": "LOCATION"}}],
                "sortBy": [{"fieldName": "l", "ascending": true, "relativeLocation": {"value": {"latitude": 1, "longitude": 2}, "type": "LOCATION"}},
                           {"fieldName": "f", "ascending": false}]},
              "zoneID": {"zoneName": "Z"}, "zoneWide": true, "resultsLimit": 20, "continuationMarker": "m", "desiredKeys": ["a", "a"],
              "numbersAsStrings": true, "remapEnums": true, "nacre": {"details": true} }
            """)
        let place = Location(latitude: 1, longitude: 2)
        let query = Query(
            recordType: "T",
            filters: [
                QueryFilter(.equals, fieldName: "f", value: .string("ää")),
                QueryFilter(.near, fieldName: "l", value: .location(place), distance: 1000.5),
            ], sorts: [QuerySort("l", relativeLocation: place), QuerySort("f", isAscending: false)])
        #expect(
            request
                == RecordsQueryRequest(
                    query: query, zoneID: ZoneID(zoneName: "Z"), zoneWide: true, resultsLimit: 20, continuationMarker: "m",
                    desiredKeys: ["a", "a"], numbersAsStrings: true, extension: RequestExtension(wantsDetails: true)))
    }

    @Test func `what null means, and what is not there`() throws {
        let bare = RecordsQueryRequest(query: Query(recordType: "T"))
        #expect(try ask(#"{"query":{"recordType":"T"}}"#) == bare)
        #expect(
            try ask(
                #"{"query":{"recordType":"T","filterBy":null,"sortBy":null},"zoneID":null,"zoneWide":null,"resultsLimit":null,"continuationMarker":null,"desiredKeys":null,"numbersAsStrings":null,"nacre":null}"#
            ) == bare)
        #expect(try ask(#"{"query":{"recordType":"T","filterBy":[],"sortBy":[]},"desiredKeys":[]}"#).desiredKeys == [])
        #expect(try ask(#"{"query":{"recordType":"T"},"numberAsStrings":true}"#).numbersAsStrings)
    }

    @Test func `one filter and one sort may stand in place of arrays`() throws {
        let request = try ask(
            #"{"query":{"recordType":"T","filterBy":{"fieldName":"f","comparator":"EQUALS","fieldValue":{"value":1}},"sortBy":{"fieldName":"f"}}}"#)
        #expect(request.query.filters == [QueryFilter(.equals, fieldName: "f", value: .int64(1))])
        #expect(request.query.sorts == [QuerySort("f")])
    }

    @Test(arguments: SystemField.allCases)
    func `a system field is named as the web names it, or as the schema does`(_ field: SystemField) throws {
        let value = #""fieldValue":{"value":{"recordName":"r"}}"#
        let wanted = QueryFilter(.equals, fieldName: field.rawValue, value: .reference(Reference(recordName: "r", action: .none)))
        #expect(try filter(#"{"systemFieldName":"\#(field.webName)","comparator":"EQUALS",\#(value)}"#) == wanted)
        #expect(try filter(#"{"fieldName":"\#(field.rawValue)","comparator":"EQUALS",\#(value)}"#) == wanted)
        #expect(try sort(#"{"systemFieldName":"\#(field.webName)"}"#) == QuerySort(field.rawValue))
        #expect(try sort(#"{"fieldName":"\#(field.rawValue)","ascending":null}"#) == QuerySort(field.rawValue))
        // In `fieldName` the web's names are ordinary fields.
        #expect(try sort(#"{"fieldName":"\#(field.webName)"}"#) == QuerySort(field.webName))
    }

    @Test(arguments: QueryComparator.allCases)
    func `every comparator is spelled as CloudKit spells it`(_ comparator: QueryComparator) throws {
        let json = #"{"fieldName":"f","comparator":"\#(comparator.rawValue)","fieldValue":{"value":["a"],"type":"STRING_LIST"}}"#
        #expect(try filter(json) == QueryFilter(comparator, fieldName: "f", value: .stringList(["a"])))
    }

    @Test(arguments: [("LIST_NOT_CONTAINS", QueryComparator.notListContains), ("LIST_NOT_CONTAINS_ANY", .notListContainsAny)])
    func `two comparators are taken as CKTool spells them`(_ name: String, _ comparator: QueryComparator) throws {
        #expect(try filter(#"{"fieldName":"f","comparator":"\#(name)","fieldValue":{"value":["a"]}}"#)?.comparator == comparator)
    }

    static let values: [(String, FieldValue)] = [
        (#"{"value":"a"}"#, .string("a")), (#"{"value":1}"#, .int64(1)), (#"{"value":1.5}"#, .double(1.5)), (#"{"value":true}"#, .int64(1)),
        (#"{"value":1,"type":"DOUBLE"}"#, .double(1)), (#"{"value":"1","type":"INT64"}"#, .int64(1)),
        (#"{"value":1000,"type":"TIMESTAMP"}"#, .timestamp(Timestamp(millisecondsSince1970: 1000))),
        (#"{"value":1000,"type":"TIMESTAMP","nacre":{"seconds":0.1}}"#, .timestamp(Timestamp(secondsSince2001: 0.1))),
        (#"{"value":"AQI=","type":"BYTES"}"#, .bytes([1, 2])),
        (#"{"value":{"recordName":"r"}}"#, .reference(Reference(recordName: "r", action: .none))),
        (#"{"value":{"recordName":"r"},"type":"REFERENCE"}"#, .reference(Reference(recordName: "r", action: .none))),
        (#"{"value":{"recordName":"r","action":"DELETE_SELF"}}"#, .reference(Reference(recordName: "r", action: .deleteSelf))),
        (#"{"value":[{"recordName":"r"}]}"#, .referenceList([Reference(recordName: "r", action: .none)])),
        (#"{"value":{"latitude":1,"longitude":2}}"#, .location(Location(latitude: 1, longitude: 2))),
        (#"{"value":[],"type":"INT64_LIST"}"#, .int64List([])),
    ]

    @Test(arguments: values)
    func `a filter's value is tagged or told by its looks, and a reference needs no action`(_ json: String, _ value: FieldValue) throws {
        #expect(try filter(#"{"fieldValue":\#(json),"comparator":"EQUALS","fieldName":"f"}"#)?.value == value)
    }

    @Test func `a search may name no field`() throws {
        for comparator in ["CONTAINS_ALL_TOKENS", "CONTAINS_ANY_TOKENS"] {
            #expect(try filter(#"{"comparator":"\#(comparator)","fieldValue":{"value":"a b"}}"#)?.fieldName == nil)
            #expect(try filter(#"{"comparator":"\#(comparator)","fieldName":"f","fieldValue":{"value":"a b"}}"#)?.fieldName == "f")
        }
    }

    @Test(arguments: [
        #"{"value":{"latitude":1,"longitude":2},"type":"LOCATION"}"#, #"{"type":"LOCATION","value":{"latitude":1,"longitude":2}}"#,
        #"{"value":{"latitude":1,"longitude":2}}"#, #"{"latitude":1,"longitude":2}"#,
    ])
    func `a sort's location is a value, or bare`(_ json: String) throws {
        let wanted = QuerySort("l", isAscending: false, relativeLocation: Location(latitude: 1, longitude: 2))
        #expect(try sort(#"{"relativeLocation":\#(json),"fieldName":"l","ascending":false}"#) == wanted)
        #expect(try sort(#"{"fieldName":"l","relativeLocation":null}"#) == QuerySort("l"))
    }

    /// The refusal of each request, and the path of its fault.
    static let faults: [(String, String, String?)] =
        [
            ("{}", sentence, "query"), (#"{"query":null}"#, sentence, "query"), (#"{"query":{}}"#, sentence, "query.recordType"),
            (#"{"query":{"recordType":5}}"#, sentence, "query.recordType"),
            (#"{"query":{"recordType":"T","filterBy":"f"}}"#, sentence, "query.filterBy"),
            (#"{"query":{"recordType":"T","sortBy":["f"]}}"#, sentence, "query.sortBy[0]"),
            (#"{"query":{"recordType":"T","sortBy":[{}]}}"#, sentence, "query.sortBy[0].fieldName"),
            (#"{"query":{"recordType":"T","sortBy":[{"fieldName":"f","ascending":"no"}]}}"#, sentence, "query.sortBy[0].ascending"),
            (#"{"query":{"recordType":"T","sortBy":[{"systemFieldName":"___recordID"}]}}"#, sentence, "query.sortBy[0].systemFieldName"),
            (#"{"query":{"recordType":"T","sortBy":[{"systemFieldName":"recordName","fieldName":"f"}]}}"#, sentence, "query.sortBy[0]"),
            (
                #"{"query":{"recordType":"T","sortBy":[{"fieldName":"f","relativeLocation":{"value":"x"}}]}}"#,
                "Invalid value, expected type LOCATION.", "query.sortBy[0].relativeLocation"
            ),
            (
                #"{"query":{"recordType":"T","sortBy":[{"fieldName":"f","relativeLocation":{}}]}}"#, "Invalid value, expected type LOCATION.",
                "query.sortBy[0].relativeLocation"
            ),
            fault(#""fieldName":"f","fieldValue":{"value":1}"#, sentence, ".comparator"),
            fault(#""fieldName":"f","comparator":"equals","fieldValue":{"value":1}"#, sentence, ".comparator"),
            fault(#""fieldName":"f","comparator":"EQUALS""#, sentence, ".fieldValue"),
            fault(#""fieldName":"f","comparator":"EQUALS","fieldValue":{"value":null}"#, sentence, ".fieldValue"),
            fault(#""fieldName":"f","comparator":"EQUALS","fieldValue":1"#, sentence, ".fieldValue"),
            fault(#""comparator":"EQUALS","fieldValue":{"value":1}"#, sentence, ".fieldName"),
            fault(#""fieldName":null,"comparator":"EQUALS","fieldValue":{"value":1}"#, sentence, ".fieldName"),
            fault(#""fieldName":"f","systemFieldName":"recordName","comparator":"EQUALS","fieldValue":{"value":1}"#, sentence, ""),
            fault(#""systemFieldName":"owner","comparator":"EQUALS","fieldValue":{"value":1}"#, sentence, ".systemFieldName"),
            fault(#""fieldName":"f","comparator":"NEAR","distance":"5","fieldValue":{"value":1}"#, sentence, ".distance"),
            fault(
                #""fieldName":"f","comparator":"LESS_THAN","fieldValue":{"value":1.5,"type":"TIMESTAMP"}"#,
                "Invalid value, expected type TIMESTAMP.", ".fieldValue.value"),
            fault(
                #""fieldName":"f","comparator":"EQUALS","fieldValue":{"value":{}}"#, "Invalid value, its type is neither given nor plain.",
                ".fieldValue.value"),
            fault(#""fieldName":"f","comparator":"IN","fieldValue":{"value":["a"]}"#, unexpected, ".fieldValue"),
            fault(#""fieldName":"f","comparator":"NOT_IN","fieldValue":{"value":[1],"type":null}"#, unexpected, ".fieldValue"),
            fault(#""fieldName":"f","comparator":"IN","fieldValue":{"value":"a","type":"STRING"}"#, unexpected, ".fieldValue"),
        ]
        + ["LIST_CONTAINS_ANY", "NOT_LIST_CONTAINS_ANY", "LIST_CONTAINS_ALL", "NOT_LIST_CONTAINS_ALL"].map {
            fault(#""fieldName":"f","comparator":"\#($0)","fieldValue":{"value":"a"}"#, unexpected, ".fieldValue")
        }

    private static let sentence = "badRequestException: unexpected input at [line: 1, column: "
    private static let unexpected = "BadRequestException: Unexpected input"

    private static func fault(_ filter: String, _ reason: String, _ path: String) -> (String, String, String?) {
        (#"{"query":{"recordType":"T","filterBy":[{\#(filter)}]}}"#, reason, "query.filterBy[0]" + path)
    }

    @Test(arguments: faults)
    func `a query that is none says why and where`(_ json: String, _ reason: String, _ path: String?) {
        let error = #expect(throws: ServerError.self) { try ask(json) }
        #expect(error?.code == .badRequest)
        #expect(error?.field == path)
        if reason == Self.sentence {
            #expect(error?.reason.hasPrefix(reason) == true)
        } else {
            #expect(error?.reason == reason)
        }
    }

    @Test func `a query that the framework writes is these bytes`() {
        let query = Query(
            recordType: "T",
            filters: [
                QueryFilter(.near, fieldName: "l", value: .location(Location(latitude: 1, longitude: 2)), distance: 5),
                QueryFilter(.containsAllTokens, fieldName: nil, value: .string("a")),
                QueryFilter(.equals, fieldName: "___modTime", value: .timestamp(Timestamp(secondsSince2001: 0.5))),
            ], sorts: [QuerySort("f"), QuerySort("___recordID", isAscending: false)])
        let request = RecordsQueryRequest(
            query: query, zoneID: ZoneID(zoneName: "Z"), resultsLimit: 3, continuationMarker: "m", desiredKeys: [],
            extension: RequestExtension(wantsDetails: true))
        #expect(
            String(decoding: request.json(), as: UTF8.self)
                == #"{"query":{"recordType":"T","filterBy":[{"fieldName":"l","comparator":"NEAR","fieldValue":{"value":{"latitude":1.0,"longitude":2.0},"type":"LOCATION"},"distance":5.0},"#
                + #"{"comparator":"CONTAINS_ALL_TOKENS","fieldValue":{"value":"a","type":"STRING"}},"#
                + #"{"fieldName":"___modTime","comparator":"EQUALS","fieldValue":{"value":978307200500,"type":"TIMESTAMP","nacre":{"seconds":0.5}}}],"#
                + #""sortBy":[{"fieldName":"f"},{"fieldName":"___recordID","ascending":false}]},"zoneID":{"zoneName":"Z"},"#
                + #""resultsLimit":3,"continuationMarker":"m","desiredKeys":[],"nacre":{"details":true}}"#)
        #expect(
            String(decoding: RecordsQueryRequest(query: Query(recordType: "T"), zoneWide: true).json(), as: UTF8.self)
                == #"{"query":{"recordType":"T"},"zoneWide":true}"#)
    }
}
