import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer

/// Tests of filters, as a table.
struct FilterTestTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var comparator: QueryComparator
        var has: FieldValue?
        var value: FieldValue
        var passes: Bool
        var distance: Double?

        init(_ comparator: QueryComparator, _ has: FieldValue?, _ value: FieldValue, _ passes: Bool, distance: Double? = nil) {
            self.comparator = comparator
            self.has = has
            self.value = value
            self.passes = passes
            self.distance = distance
        }

        var testDescription: String { "\(String(describing: has)) \(comparator.rawValue) \(value)" }
    }

    private static func reference(_ name: String, _ action: Reference.Action = .none) -> FieldValue {
        .reference(Reference(recordName: name, action: action))
    }

    private static func place(_ latitude: Double, _ longitude: Double, altitude: Double? = nil) -> FieldValue {
        .location(Location(latitude: latitude, longitude: longitude, altitude: altitude))
    }

    private func passes(_ test: FilterTest, _ stored: StoredRecord) throws -> Bool {
        var tested = TestedRecord(stored.value(of:))
        return try test.passes(&tested)
    }

    static let scalars: [Row] = [
        Row(.equals, .string("a"), .string("a"), true),
        Row(.equals, .string("a"), .string("A"), false),
        Row(.equals, .string("é"), .string("e\u{301}"), false),
        Row(.notEquals, .string("a"), .string("A"), true),
        Row(.lessThan, .string("Z"), .string("a"), true),
        Row(.greaterThanOrEquals, .string("a"), .string("a"), true),
        Row(.equals, .int64(2), .double(2), true),
        Row(.equals, .int64(9_007_199_254_740_993), .double(9_007_199_254_740_992), false),
        Row(.greaterThan, .int64(9_007_199_254_740_993), .double(9_007_199_254_740_992), true),
        Row(.lessThan, .double(2.5), .int64(3), true),
        Row(.lessThanOrEquals, .double(-0.0), .double(0), true),
        Row(.equals, .double(-0.0), .int64(0), true),
        Row(.lessThan, .int64(.max), .double(1e300), true),
        Row(.greaterThan, .int64(.min), .double(-1e300), true),
        Row(.equals, .timestamp(Timestamp(secondsSince2001: 1)), .timestamp(Timestamp(secondsSince2001: 1)), true),
        Row(.lessThan, .bytes([0]), .bytes([0, 0]), true),
        Row(.equals, reference("r", .deleteSelf), reference("r"), true),
        Row(.notEquals, reference("r"), reference("s"), true),
        Row(.equals, place(1, 2, altitude: 7), place(1, 2), true),
        Row(.equals, place(1, 180), place(1, -180), true),
        Row(.notEquals, place(1, 2), place(2, 1), true),
        Row(.in, .string("b"), .stringList(["a", "b"]), true),
        Row(.in, .string("b"), .stringList([]), false),
        Row(.notIn, .string("b"), .stringList([]), true),
        Row(.notIn, .int64(2), .doubleList([2, 3]), false),
        Row(.beginsWith, .string("Hello"), .string("Hel"), true),
        Row(.beginsWith, .string("Hello"), .string("hel"), false),
        Row(.beginsWith, .string("Hello"), .string(""), true),
        Row(.notBeginsWith, .string("Hello"), .string("hel"), true),
        Row(.near, place(0, 179.999), place(0, -179.999), true, distance: 300),
        Row(.near, place(89.999, 0), place(89.999, 180), true, distance: 300),
        Row(.near, place(0, 0), place(0, 1), false, distance: 111_000),
        Row(.near, place(0, 0), place(0, 1), true, distance: 112_000),
        Row(.near, place(5, 5), place(5, 5), true, distance: 0),
    ]

    static let lists: [Row] = [
        Row(.listContains, .stringList(["a", "b"]), .string("b"), true),
        Row(.listContains, .stringList(["a", "b"]), .string("B"), false),
        Row(.listContains, .int64List([1, 2]), .double(2), true),
        Row(.notListContains, .stringList([]), .string("b"), true),
        Row(.notListContains, .stringList(["b"]), .string("b"), false),
        Row(.listContainsAny, .stringList(["a", "b"]), .stringList(["x", "b"]), true),
        Row(.listContainsAny, .stringList(["a"]), .stringList([]), false),
        Row(.notListContainsAny, .stringList(["a"]), .stringList(["x"]), true),
        Row(.listContainsAll, .stringList(["a", "b"]), .stringList(["b", "a"]), true),
        Row(.listContainsAll, .stringList(["a"]), .stringList(["a", "b"]), false),
        Row(.listContainsAll, .stringList([]), .stringList([]), true),
        Row(.notListContainsAll, .stringList(["a"]), .stringList(["a", "b"]), true),
        Row(.listMemberBeginsWith, .stringList(["xa", "ya"]), .string("y"), true),
        Row(.listMemberBeginsWith, .stringList([]), .string(""), false),
        Row(.notListMemberBeginsWith, .stringList(["xa", "ya"]), .string("z"), true),
        Row(.containsAllTokens, .string("The Quick, brown fox"), .string("FOX quick"), true),
        Row(.containsAllTokens, .string("The Quick, brown fox"), .string("fox dog"), false),
        Row(.containsAllTokens, .string("the fox"), .string("the"), false),
        Row(.containsAllTokens, .stringList(["crème", "brûlée"]), .string("brulee creme"), true),
        Row(.containsAnyTokens, .string("The Quick, brown fox"), .string("dog fox"), true),
        Row(.containsAnyTokens, .string("foxes"), .string("fox"), false),
    ]

    @Test(arguments: scalars + lists) func `a filter passes what it should, and nothing else`(row: Row) throws {
        var fields = RecordFields()
        fields["f"] = row.has
        let filter = QueryFilter(row.comparator, fieldName: "f", value: row.value, distance: row.distance)
        #expect(try passes(FilterTest(filter, fields: ["f"]), IndexKeyTests.record("n", fields)) == row.passes)
    }

    @Test(arguments: QueryComparator.allCases) func `a record without the field passes no filter, not even a negation`(comparator: QueryComparator)
        throws
    {
        let value: FieldValue = comparator.takesList ? .stringList(["a"]) : comparator == .near ? Self.place(0, 0) : .string("a")
        let filter = QueryFilter(comparator, fieldName: "f", value: value, distance: 1e9)
        #expect(try !passes(FilterTest(filter, fields: ["f"]), IndexKeyTests.record("n", ["g": .string("a")])))
    }

    @Test func `every word may stand in a field of its own`() throws {
        let record = IndexKeyTests.record("n", ["a": .string("red"), "b": .stringList(["fox", "hen"])])
        func passes(_ comparator: QueryComparator, _ text: String) throws -> Bool {
            try self.passes(FilterTest(QueryFilter(comparator, fieldName: nil, value: .string(text)), fields: ["a", "b"]), record)
        }
        #expect(try passes(.containsAllTokens, "hen red"))
        #expect(try !passes(.containsAllTokens, "hen red dog"))
        #expect(try passes(.containsAnyTokens, "dog red"))
    }

    @Test func `system fields are compared like any other`() throws {
        let record = IndexKeyTests.record("n1", [:], parent: "p")
        func passes(_ field: SystemField, _ comparator: QueryComparator, _ value: FieldValue) throws -> Bool {
            try self.passes(FilterTest(QueryFilter(comparator, fieldName: field.rawValue, value: value), fields: [field.rawValue]), record)
        }
        #expect(try passes(.recordName, .equals, Self.reference("n1")))
        #expect(try !passes(.recordName, .equals, Self.reference("n2")))
        #expect(try passes(.parent, .in, .referenceList([Reference(recordName: "p", action: .none)])))
        #expect(try !passes(.share, .notEquals, Self.reference("s")))
        #expect(try passes(.createdTimestamp, .lessThan, .timestamp(Timestamp(secondsSince2001: 101))))
        #expect(try passes(.modifiedUserRecordName, .equals, Self.reference("_ann")))
    }

    @Test(arguments: QueryData.fields.map(\.type).filter { !$0.isList })
    func `two values have one key where they are equal, and two where they are not`(type: FieldType) {
        var data = QueryData(seed: HistorySeed.value)
        for _ in 0..<2000 {
            let isNumber = type == .int64 || type == .double
            let (left, right) = (data.scalar(type), data.scalar(isNumber && data.chance(50) ? .double : type))
            let areEqual = ValueOrder(left, right) == .equal
            #expect((ValueKey(left) == ValueKey(right)) == areEqual, "\(left) \(right) NACRE_SEED=\(HistorySeed.value)")
        }
    }

    @Test func `a long list is made ready once, however many filters look for however many values in it`() throws {
        let numbers = FieldValue.int64List(Array(0..<100_000))
        let texts = FieldValue.stringList((0..<10_000).map { "text\($0)" })
        let fields: RecordFields = ["numbers": numbers, "texts": texts, "text": .string(String(repeating: "fox dog ", count: 10_000))]
        var tested = TestedRecord(IndexKeyTests.record("n", fields).value(of:))
        func look(_ count: Int) throws {
            for number in 0..<count {
                let absent = FieldValue.int64List((1...250).map { Int64(-number * 250 - $0) })
                for comparator in [QueryComparator.listContainsAny, .listContainsAll] {
                    let test = FilterTest(QueryFilter(comparator, fieldName: "numbers", value: absent), fields: ["numbers"])
                    #expect(try !test.passes(&tested))
                }
                let filters = [
                    QueryFilter(.notListContains, fieldName: "numbers", value: .int64(-1)),
                    QueryFilter(.notListMemberBeginsWith, fieldName: "texts", value: .string("tex\(number)")),
                    QueryFilter(.containsAllTokens, fieldName: "text", value: .string("dog fox")),
                ]
                for filter in filters { #expect(try FilterTest(filter, fields: [filter.fieldName ?? ""]).passes(&tested)) }
            }
        }
        try look(1)
        let first = tested.work
        try look(48)
        #expect(first > 100_000 * 8, "what is looked at is counted")
        #expect(tested.work - first < 48 * 20_000, "the lists are not gone through again")
    }
}
