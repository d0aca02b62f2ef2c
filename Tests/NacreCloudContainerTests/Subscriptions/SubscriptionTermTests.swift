import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of the index terms of subscriptions with a bound, and of the lookups of a change.
@Suite struct SubscriptionTermTests {
    private static let comparators: [QueryComparator] = [.lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals]
    private static let long = String(repeating: "a", count: 40)
    /// values[field]: values of each kind, with the smallest and largest.
    private static let values: [String: [FieldValue]] = [
        "number": [
            .int64(.min), .int64(-3), .int64(0), .int64(7), .int64(.max), .int64(.max - 1), .double(-0.0), .double(-2.5), .double(7.25),
            .double(1e300), .double(-1e300), .double(.leastNonzeroMagnitude),
        ],
        "text": ["", " ", "a", "ab", "b", "é", long, long + "x", long + "y"].map { .string($0) },
        "moment": [-1e9, -0.5, -0.0, 0, 0.25, 8e8].map { .timestamp(Timestamp(secondsSince2001: $0)) },
        "bytes": [[], [0], [0, 255], [1], [128]].map { .bytes($0) },
        "owner": ["a", "a b", "b"].map { .reference(Reference(recordName: $0, action: .none)) },
    ]

    private static func isFound(_ term: SubscriptionTerm, by value: FieldValue) throws -> Bool {
        guard case .range(let type, let field, let side, _) = term else { return false }
        let scan = SubscriptionTerm.range(type: type, field: field, side: side, bound: try #require(ValueKey(value))).scan
        let entry = "\(term.place) _ann some  id"
        return ByteOrder.compare(entry, scan.after) > 0 && ByteOrder.compare(entry, scan.before) < 0
    }

    @Test(arguments: values.keys.sorted()) func `a change finds what its value passes, and nothing that is far on the other side`(
        _ field: String
    ) throws {
        for bound in Self.values[field] ?? [] {
            for comparator in Self.comparators {
                let filter = FilterTest(QueryFilter(comparator, fieldName: field, value: bound), fields: [field])
                let side: SubscriptionTerm.Side = comparator == .lessThan || comparator == .lessThanOrEquals ? .below : .above
                let term = SubscriptionTerm.range(type: "T", field: field, side: side, bound: try #require(ValueKey(bound)))
                for value in Self.values[field] ?? [] {
                    var tested = TestedRecord { _ in value }
                    let passes = try filter.passes(&tested)
                    let isFound = try Self.isFound(term, by: value)
                    if passes { #expect(isFound, "\(value) \(comparator) \(bound)") }
                    if !passes, isFound {
                        // Equal values, and values whose order has too few bytes.
                        let isNear = ValueOrder(value, bound) == .equal || Self.isNear(value, bound)
                        #expect(isNear, "\(value) \(comparator) \(bound)")
                    }
                }
            }
        }
    }

    private static func isNear(_ left: FieldValue, _ right: FieldValue) -> Bool {
        switch (left, right) {
        case (.string(let left), .string(let right)): left.utf8.prefix(32).elementsEqual(right.utf8.prefix(32))
        case (.int64(let left), .int64(let right)): Double(left) == Double(right)
        default: false
        }
    }

    @Test func `the first filter that compares for equality finds a subscription, else the first one of an order, else the type`() throws {
        var schema = Schema()
        var additions = SchemaAdditions()
        additions.add(["text": FieldShape(.string), "count": FieldShape(.int64)], to: "Note")
        schema.add(additions)
        let below = QueryFilter(.lessThan, fieldName: "count", value: .int64(3))
        let not = QueryFilter(.notEquals, fieldName: "text", value: .string("x"))
        let rows: [([QueryFilter], SubscriptionTerm)] = [
            ([], .type("Note")), ([not], .type("Note")),
            ([not, below], .range(type: "Note", field: "count", side: .below, bound: .integer(3))),
            ([below, .equals("text", .string("x"))], .value(type: "Note", field: "text", key: .text(ExactText("x")))),
        ]
        for (filters, expected) in rows {
            let shape = try QueryShape(
                Query(recordType: "Note", filters: filters), for: .subscription, in: schema, of: "iCloud.a.b", by: Caller(.user("_ann")))
            #expect(SubscriptionTerm(shape) == expected)
            var writer = ByteWriter()
            expected.write(to: &writer)
            var reader = ByteReader(writer.bytes)
            #expect(try SubscriptionTerm(&reader) == expected)
        }
    }
}
