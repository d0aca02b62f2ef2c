import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer

/// Tests that a request may name a record, a zone or a value only once, so that a short request has no long answer.
@Suite struct RepeatedNameTests {
    private func refusal(_ body: () async throws -> Void) async -> ServerError? {
        do {
            try await body()
            return nil
        } catch { return error as? ServerError }
    }

    @Test func `a lookup that names a record twice is refused, and says in which field`() async throws {
        let ann = try await TestCloud(.memory).user("_ann")
        try await ann.modify([.create("a"), .create("b")])
        #expect(try await ann.lookup(["a", "b"]).allSatisfy { $0.record != nil })
        let error = await refusal { _ = try await ann.lookup(["a", "b", "a"]) }
        #expect(error == .repeatedName(field: "records"))
        #expect(error?.code == .badRequest && error?.field == "records" && error?.reason.contains("'records'") == true)
    }

    @Test func `zones are looked up and followed once in a request, however their owner is spelled`() async throws {
        let ann = try await TestCloud(.memory).user("_ann")
        try await ann.makeZone("Z")
        let spellings: [String?] = [nil, "_ann", "__defaultOwner__"]
        for (one, other) in [(0, 0), (0, 1), (1, 2), (0, 2)] {
            let zones = [one, other].map { ZoneID(zoneName: "Z", ownerRecordName: spellings[$0]) }
            let lookup = await refusal { _ = try await ann.cloud.lookupZones(ZonesLookupRequest(zones: zones), in: ann.target, by: ann.caller) }
            #expect(lookup == .repeatedName(field: "zones"))
            let changes = ChangesZoneRequest(zones: zones.map { .init(zoneID: $0) })
            #expect(await refusal { _ = try await ann.cloud.zoneChanges(changes, in: ann.target, by: ann.caller) } == .repeatedName(field: "zones"))
        }
        // Zones of two owners are two, and each has its own error.
        let zones = [ZoneID(zoneName: "Z"), ZoneID(zoneName: "Z", ownerRecordName: "_bob")]
        let found = try await ann.cloud.lookupZones(ZonesLookupRequest(zones: zones), in: ann.target, by: ann.caller).zones
        #expect(found[0].zone != nil && found[1].error != nil)
    }

    @Test func `a filter's list holds a value once, as filters compare it`() async throws {
        let ann = try await TestCloud(.memory).user("_ann")
        try await ann.modify([
            .create("r", ["text": .string("é"), "count": .int64(1), "owner": .reference(Reference(recordName: "x", action: .none))])
        ])
        func error(_ field: String, _ value: FieldValue) async -> ServerError? {
            let query = Query(recordType: "Note", filters: [QueryFilter(.in, fieldName: field, value: value)])
            return await refusal { _ = try await ann.cloud.queryRecords(RecordsQueryRequest(query: query), in: ann.target, by: ann.caller) }
        }
        #expect(await error("text", .stringList(["a", "b", "a"])) == .repeatedFilterValue("text"))
        #expect(await error("text", .stringList(["é", "e\u{301}"])) == nil, "other bytes are another text")
        #expect(await error("count", .int64List([1, 2, 1]))?.reason == "The filter of field 'count' holds a value more than once")
        #expect(await error("count", .doubleList([0, -0.0])) == .repeatedFilterValue("count"))
        let twice = [Reference(recordName: "x", action: .none), Reference(recordName: "x", action: .deleteSelf)]
        #expect(await error("owner", .referenceList(twice)) == .repeatedFilterValue("owner"))
        #expect(await error("count", .int64List([1, 2])) == nil)
    }
}
