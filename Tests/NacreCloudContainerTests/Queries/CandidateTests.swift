import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests that index rows are used before records: completely counted filters tell which records may pass.
@Suite struct CandidateTests {
    private static let records = 1_000
    private static let fields: [String: FieldType] = ["a": .int64, "b": .int64, "price": .int64, "rank": .int64, "text": .string]

    /// Returns the fields of a record. Every 5th has a = 0, every 7th b = 0; prices fall as names rise, ranks are
    /// mixed.
    private static func fields(_ number: Int) -> RecordFields {
        RecordFields([
            .init("a", .int64(Int64(number % 5))), .init("b", .int64(Int64(number % 7))), .init("price", .int64(Int64(records - number))),
            .init("rank", .int64(rank(number))), .init("text", .string("every w\(number % 5) x\(number % 7)")),
        ])
    }

    private static func rank(_ number: Int) -> Int64 { Int64(number * 37 % records) }

    private func filled(_ engine: Engine) async throws -> TestCloudUser {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.define(Self.fields)
        try await ann.makeIndexes()
        try await ann.makeZone("notes")
        for start in stride(from: 0, to: Self.records, by: 200) {
            try await ann.modify((start..<start + 200).map { .make(.create, Self.name($0), Self.fields($0)) }, zone: "notes")
        }
        return ann
    }

    private static func name(_ number: Int) -> String { "n\(10_000 + number)" }

    private struct Found {
        var names: [String] = []
        /// Records that each page read.
        var read: [Int] = []
        var lines: [String] = []
        var marker: String?
    }

    private func ask(_ query: Query, of ann: TestCloudUser, pages: Int = .max, after marker: String? = nil) async throws -> Found {
        var found = Found()
        found.marker = marker
        repeat {
            let request = RecordsQueryRequest(
                query: query, zoneID: ZoneID(zoneName: "notes"), resultsLimit: 20, continuationMarker: found.marker)
            let page = try await ann.cloud.queryPage(
                request, in: ann.target, by: ann.caller, scanning: Limits.queryScanRows, Limits.queryScanBytes
            ).page
            found.names += page.records.all.compactMap(\.recordName)
            found.read.append(page.recordsRead)
            found.lines += page.steps
            found.marker = try page.cursor.map { try ann.cloud.tokens.seal($0.bytes) }
        } while found.marker != nil && found.read.count < pages
        return found
    }

    private static func expected(_ passes: (Int) -> Bool) -> [String] {
        (0..<records).filter(passes).sorted { rank($0) < rank($1) }.map(name)
    }

    @Test(arguments: Engine.ofRules)
    func `a range and an order of another field read the records that they answer, and few more`(engine: Engine) async throws {
        let ann = try await filled(engine)
        // 150 of 1,000.
        let few = QueryFilter(.lessThanOrEquals, fieldName: "price", value: .int64(150))
        let found = try await ask(Query(recordType: "Note", filters: [few], sorts: [QuerySort("rank")]), of: ann)
        #expect(found.names == Self.expected { Self.records - $0 <= 150 })
        #expect(found.lines.contains { $0.contains("walk the index of rank among 150") }, "\(found.lines)")
        // The first rows of the order are read with their records, before anything is known of the filter.
        #expect(found.read.allSatisfy { $0 < 150 }, "as many as match are not read for a page: \(found.read), \(found.lines)")
        let falling = try await ask(
            Query(recordType: "Note", filters: [few], sorts: [QuerySort("rank", isAscending: false)]), of: ann)
        #expect(falling.names == found.names.reversed())
    }

    @Test(arguments: Engine.ofRules)
    func `two equalities read the records that have both, with an order and without one`(engine: Engine) async throws {
        let ann = try await filled(engine)
        let both = [QueryFilter(.equals, fieldName: "a", value: .int64(0)), QueryFilter(.equals, fieldName: "b", value: .int64(0))]
        let inOrder = try await ask(Query(recordType: "Note", filters: both, sorts: [QuerySort("rank")]), of: ann)
        #expect(inOrder.names == Self.expected { $0 % 35 == 0 })
        let byName = try await ask(Query(recordType: "Note", filters: both), of: ann)
        #expect(byName.names == stride(from: 0, to: Self.records, by: 35).map(Self.name))
        #expect(byName.read.allSatisfy { $0 <= 64 + 3 * 21 }, "\(byName.read), \(byName.lines)")
    }

    @Test(arguments: Engine.ofRules)
    func `two words read the records that have both`(engine: Engine) async throws {
        let ann = try await filled(engine)
        let both = QueryFilter(.containsAllTokens, fieldName: nil, value: .string("w0 x0"))
        let found = try await ask(Query(recordType: "Note", filters: [both], sorts: [QuerySort("rank")]), of: ann)
        #expect(found.names == Self.expected { $0 % 35 == 0 })
        #expect(found.read.allSatisfy { $0 <= 64 + 29 }, "\(found.read), \(found.lines)")
    }

    @Test(arguments: Engine.ofRules)
    func `what passes at the end of the order alone is found all the same, and no record that cannot pass is read on the way`(engine: Engine)
        async throws
    {
        let ann = try await filled(engine)
        // Prices fall as names rise: in the order of falling prices the last 150 pass.
        let last = QueryFilter(.in, fieldName: "rank", value: .int64List((Self.records - 150..<Self.records).map { Self.rank($0) }))
        let found = try await ask(Query(recordType: "Note", filters: [last], sorts: [QuerySort("price", isAscending: false)]), of: ann)
        #expect(found.names == (Self.records - 150..<Self.records).map(Self.name))
        #expect(found.read[0] <= 64 + 150 && found.read.dropFirst().allSatisfy { $0 <= 64 }, "\(found.read), \(found.lines)")
    }

    @Test(arguments: Engine.ofRules)
    func `a record that is saved between two pages is told as it is then, once`(engine: Engine) async throws {
        let ann = try await filled(engine)
        let few = QueryFilter(.lessThanOrEquals, fieldName: "price", value: .int64(150))
        let query = Query(recordType: "Note", filters: [few], sorts: [QuerySort("rank")])
        let first = try await ask(query, of: ann, pages: 1)
        let all = Self.expected { Self.records - $0 <= 150 }
        #expect(first.names == Array(all.prefix(first.names.count)))
        // The next one leaves the filter, and one that did not pass enters it.
        try await ann.modify(
            [
                .make(.forceUpdate, all[first.names.count], RecordFields([.init("price", .int64(9_999))])),
                .make(.forceUpdate, Self.name(0), RecordFields([.init("price", .int64(1)), .init("rank", .int64(100_000))])),
            ], zone: "notes")
        let rest = try await ask(query, of: ann, after: first.marker)
        #expect(rest.names == all.dropFirst(first.names.count + 1) + [Self.name(0)])
    }
}
