import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of texts about as long as an index key.
@Suite struct LongTextTests {
    private static let beginning = String(repeating: "x", count: Limits.indexKeyBytes - 2)
    /// Endings, from one byte less than an index key to some more, in their order.
    static let endings = ["1", "12", "123", "1234", "12345"]

    @Test(arguments: Engine.ofRules, endings) func `a filter compares whole texts, also where the index ends`(engine: Engine, ending: String)
        async throws
    {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        try await ann.modify(Self.endings.map { .create($0, ["p": .string(Self.beginning + $0)]) }, zone: "Z")
        let expected: [(QueryComparator, (String) -> Bool)] = [
            (.greaterThan, { $0 > ending }), (.greaterThanOrEquals, { $0 >= ending }), (.lessThan, { $0 < ending }),
            (.lessThanOrEquals, { $0 <= ending }), (.equals, { $0 == ending }), (.notEquals, { $0 != ending }),
        ]
        for (comparator, passes) in expected {
            for sorts in [[], [QuerySort("p")]] {
                let query = Query(
                    recordType: "Note", filters: [QueryFilter(comparator, fieldName: "p", value: .string(Self.beginning + ending))], sorts: sorts)
                let request = RecordsQueryRequest(query: query, zoneID: ZoneID(zoneName: "Z"))
                let found = try await ann.cloud.queryRecords(request, in: ann.target, by: ann.caller).records.map(\.recordName)
                #expect(Set(found) == Set(Self.endings.filter(passes)) && found.count == Set(found).count, "\(comparator) \(ending)")
            }
        }
    }
}
