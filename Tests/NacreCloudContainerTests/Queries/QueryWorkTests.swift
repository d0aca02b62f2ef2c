import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests that a page of a query has a bounded cost for any query and any records, and that the next one continues.
struct QueryWorkTests {
    private static let list = FieldValue.int64List(Array(0..<1000))

    /// Makes records of which only the last one passes the query's filters.
    private func cloud(_ engine: Engine, records: Int) async throws -> TestCloudUser {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("Z")
        for number in 0..<records {
            let list = number == records - 1 ? .int64List([7]) : Self.list
            try await ann.modify([.make(.create, "r\(100 + number)", type: "Lists", ["numbers": list, "count": .int64(1)])], zone: "Z")
        }
        return ann
    }

    private func page(_ ann: TestCloudUser, _ query: Query, bytes: Int, after marker: String? = nil) async throws -> RecordsQueryResponse {
        let request = RecordsQueryRequest(query: query, zoneID: ZoneID(zoneName: "Z"), continuationMarker: marker)
        return try await ann.cloud.queryRecords(request, in: ann.target, by: ann.caller, scanning: Limits.queryScanRows, bytes)
    }

    @Test(arguments: Engine.ofRules)
    func `a page ends when it has looked at so many bytes, empty if need be, and the next one goes on`(engine: Engine) async throws {
        let ann = try await cloud(engine, records: 30)
        let count = QueryFilter(.equals, fieldName: "count", value: .int64(1))
        let filters = (0..<5).map { QueryFilter(.notListContainsAny, fieldName: "numbers", value: .int64List([Int64($0), -1])) }
        let query = Query(recordType: "Lists", filters: [count] + filters)
        #expect(try await page(ann, query, bytes: Limits.queryScanBytes).records.map(\.recordName) == ["r129"], "all in one page")
        var pages = 0
        var found: [String] = []
        var marker: String?
        repeat {
            let page = try await page(ann, query, bytes: 200_000, after: marker)
            found += page.records.map(\.recordName)
            #expect(page.records.isEmpty || page.continuationMarker == nil)
            marker = page.continuationMarker
            pages += 1
        } while marker != nil && pages < 100
        #expect(found == ["r129"])
        #expect(pages > 5 && pages < 30)
    }

    @Test(arguments: Engine.ofRules)
    func `records that are larger than what a page may look at come one a page, also where the order has several keys`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.define(["first": .int64, "second": .int64, "third": .int64, "text": .string])
        try await ann.cloud.schemas.changeSchema(of: TestCloud.container, .development) {
            _ = try $0.setIndexes(.queryable, of: "Note", field: SystemField.recordName.rawValue)
        }
        try await ann.makeIndexes()
        try await ann.makeZone("Z")
        let text = FieldValue.string(String(repeating: "x", count: 2_000))
        try await ann.modify(
            (0..<24).map { number in
                // Two share the first key.
                let fields: RecordFields = [
                    "first": .int64(Int64(max(number, 1))), "second": .int64(Int64(-number)), "third": .int64(0), "text": text,
                ]
                return .make(.create, "r\(100 + number)", fields)
            }, zone: "Z")
        let query = Query(recordType: "Note", sorts: [QuerySort("first"), QuerySort("second"), QuerySort("third")])
        var (names, marker, pages): ([String], String?, Int) = ([], nil, 0)
        repeat {
            let page = try await page(ann, query, bytes: 1_500, after: marker)
            names += page.records.map(\.recordName)
            marker = page.continuationMarker
            pages += 1
        } while marker != nil && pages < 1_000
        #expect(names == ["r101", "r100"] + (2..<24).map { "r\(100 + $0)" })
        // The two are found among all records, by their second key.
        #expect(pages < 24 + 4 * 24, "\(pages)")
    }

    @Test func `records of all zones are kept without their bodies once these fill a page, and are answered whole`() async throws {
        let ann = try await TestCloud(.sqlite).user("_ann")
        let text = String(repeating: "x", count: 900_000)
        for zone in ["a", "b", "c"] {
            try await ann.makeZone(zone)
            for number in 0..<6 {
                let fields: RecordFields = ["text": .string(text), "count": .int64(Int64(number))]
                try await ann.modify([.make(.create, "r\(number)", type: "Large", fields)], zone: zone)
            }
        }
        let filter = QueryFilter(.greaterThanOrEquals, fieldName: "count", value: .int64(0))
        let query = Query(recordType: "Large", filters: [filter], sorts: [QuerySort("count", isAscending: false)])
        var request = RecordsQueryRequest(query: query, zoneWide: true)
        var found: [Record] = []
        repeat {
            let page = try await ann.cloud.queryRecords(request, in: ann.target, by: ann.caller)
            #expect(page.records.count <= 9, "a page has 8 MB")
            found += page.records
            request.continuationMarker = page.continuationMarker
        } while request.continuationMarker != nil
        #expect(found.map { "\($0.recordName)" } == (0..<6).reversed().flatMap { number in Array(repeating: "r\(number)", count: 3) })
        #expect(found.allSatisfy { $0.fields["text"] == .string(text) })
    }

    /// The answer is small, and 8 MB of each zone are searched for it. Found records are read once more, portion by
    /// portion, as not all are kept.
    @Test func `a query of all zones for a small field reads twice what a page may look at, and its next page goes on`() async throws {
        let tally = BodyTally(try await Engine.sqlite.makeStore())
        let ann = TestCloud(tally).user("_ann")
        let zones = (0..<5).map { "z\($0)" }
        let fields: RecordFields = ["text": .string(String(repeating: "x", count: 980_000)), "count": .int64(1)]
        for zone in zones {
            try await ann.makeZone(zone)
            for number in 0..<8 { try await ann.modify([.make(.create, "r\(number)", type: "Large", fields)], zone: zone) }
        }
        let filter = QueryFilter(.greaterThanOrEquals, fieldName: "count", value: .int64(0))
        let query = Query(recordType: "Large", filters: [filter])
        var request = RecordsQueryRequest(query: query, zoneWide: true, resultsLimit: 200, desiredKeys: ["count"])
        var found = 0
        var pages = 0
        repeat {
            tally.reset()
            let page = try await ann.cloud.queryRecords(request, in: ann.target, by: ann.caller)
            #expect(tally.bytes <= 2 * (Limits.queryScanBytes + QueryReader.portionBytes), "page \(pages): \(tally.bytes)")
            #expect(tally.mostOfOneCall <= IndexReads.roundBytes + Limits.recordBytes * 2, "page \(pages): \(tally.mostOfOneCall)")
            #expect(page.records.allSatisfy { $0.fields.count == 1 })
            found += page.records.count
            pages += 1
            request.continuationMarker = page.continuationMarker
        } while request.continuationMarker != nil && pages < 50
        #expect(found == 40 && pages >= 2, "\(found) in \(pages)")
    }

    @Test func `what is kept of hits is a page's bytes, and what is dropped makes room`() async throws {
        @Sendable func hit(_ name: String) -> QueryHit {
            let body = [UInt8](repeating: 0, count: 3_000_000)
            return QueryHit(keys: [], row: RecordRow(name: name, type: "T", number: .zero, isTombstone: false, parent: nil, body: body), zone: 1)
        }
        try await Engine.memory.makeStore().read { transaction in
            let reader = QueryReader(IndexReads(transaction))
            let kept = ["a", "b", "c"].map { reader.keeping(hit($0)) }
            #expect(kept.map { $0.row != nil } == [true, true, false])
            #expect(kept.allSatisfy { $0.size == 3_000_000 })
            reader.dropped(kept[2])
            #expect(reader.keeping(hit("d")).row == nil)
            reader.dropped(kept[0])
            #expect(reader.keeping(hit("e")).row != nil)
        }
    }
}
