import NacreCloudWire
import Testing

@testable import NacreCloudServer

struct PredicateTextTests {
    @Test(arguments: [
        (QueryFilter(.equals, fieldName: "text", value: .string(#"a "b" \"#)), #"text = "a \"b\" \\""#),
        (QueryFilter(.greaterThanOrEquals, fieldName: "stars", value: .int64(3)), "stars >= 3"),
        (QueryFilter(.notIn, fieldName: "stars", value: .int64List([1, 2])), "NOT stars IN {1, 2}"),
        (QueryFilter(.notListContains, fieldName: "tags", value: .string("old")), #"NOT tags CONTAINS "old""#),
        (QueryFilter(.listMemberBeginsWith, fieldName: "tags", value: .string("o")), #"tags BEGINSWITH "o""#),
        (QueryFilter(.containsAllTokens, fieldName: nil, value: .string("two words")), #"self CONTAINS "two words""#),
        (QueryFilter(.lessThan, fieldName: "___modTime", value: .timestamp(Timestamp(secondsSince2001: 0))), #"___modTime < "2001-01-01T00:00:00Z""#),
        (
            QueryFilter(.near, fieldName: "place", value: .location(Location(latitude: 1.5, longitude: -2)), distance: 300),
            "place NEAR {1.5, -2.0, 300.0}"
        ),
        (QueryFilter(.equals, fieldName: "parent", value: .reference(Reference(recordName: "r", action: .none))), #"parent = "r""#),
    ])
    func `a filter is told as the predicate that the console's page reads`(_ filter: QueryFilter, _ text: String) {
        #expect([filter].predicate == text)
        #expect([filter, filter].predicate == "\(text) AND \(text)" && [QueryFilter]().predicate.isEmpty)
    }
}
