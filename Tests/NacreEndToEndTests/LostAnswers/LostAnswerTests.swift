import CloudKit
import Foundation
import Testing

/// Tests of answers lost after the commit: a retry gets the answer, and nothing happens twice.
struct LostAnswerTests {
    private static let zone = "Notes"
    private static let user = "ada@example.com"

    private struct Setting {
        var cloud: NewCloud
        var proxy: LossyProxy
        /// A client of the server itself.
        var direct: WebServicesClient
        /// A client through the proxy.
        var through: WebServicesClient
    }

    /// Runs a server with a zone, and a proxy that loses answers to `records/modify` for which `isLost` returns true,
    /// by the number of earlier ones.
    private func with(losing isLost: @escaping @Sendable (Int) -> Bool, _ body: (Setting) async throws -> Void) async throws {
        try await RunningServer.with { server in
            let cloud = try await NewCloud(server)
            try await cloud.addUser(Self.user)
            let token = try await cloud.device(of: Self.user)
            let proxy = try LossyProxy(to: server.port) { line, earlier in
                line.contains("/records/modify") && isLost(earlier) ? .lose : .deliver
            }
            defer { proxy.close() }
            let direct = cloud.client(token)
            let made: RawZones = try await direct.post("zones/modify", RawZonesModify(operations: [RawZoneOperation("create", Self.zone)]))
            try #require(made.zones.count == 1 && made.zones[0].serverErrorCode == nil)
            try await body(Setting(cloud: cloud, proxy: proxy, direct: direct, through: cloud.client(token, through: proxy.url)))
        }
    }

    private func modify(_ type: String, _ record: RawRecord, id: String) -> RawModify {
        RawModify(
            operations: [RawOperation(operationType: type, record: record)], zoneID: RawZoneID(zoneName: Self.zone), atomic: true,
            nacre: RawExtension(operationID: id))
    }

    private func counter(_ number: Int64, tag: String? = nil) -> RawRecord {
        RawRecord(
            recordName: "counter", recordType: "Counter", recordChangeTag: tag, fields: ["number": RawField(value: .number(number))])
    }

    /// Returns all changes in the zone's feed after a token.
    private func feed(_ client: WebServicesClient, after token: String? = nil) async throws -> (records: [RawRecord], token: String) {
        let asked = RawZoneChanges(zoneID: RawZoneID(zoneName: Self.zone), syncToken: token)
        let answer: RawZones = try await client.post("changes/zone", RawZones(zones: [asked]))
        return (try #require(answer.zones[0].records), try #require(answer.zones[0].syncToken))
    }

    @Test func `by hand: a create and a compare-and-set whose answers are lost happen once`() async throws {
        try await with {
            $0 % 2 == 0
        } _: { setting in
            let create = try WebServicesClient.bytes(modify("create", counter(1), id: "create"))
            await #expect(throws: (any Error).self) { try await setting.through.post("records/modify", create) }
            let (first, token) = try await feed(setting.direct)
            #expect(first.map(\.recordName) == ["counter"])
            let created = try await setting.through.post("records/modify", create).read(RawRecords.self).records[0]
            #expect(created.serverErrorCode == nil)
            #expect(created.recordChangeTag == first.first?.recordChangeTag)
            #expect(try await feed(setting.direct, after: token).records.isEmpty)

            let update = try WebServicesClient.bytes(modify("update", counter(2, tag: created.recordChangeTag), id: "update"))
            await #expect(throws: (any Error).self) { try await setting.through.post("records/modify", update) }
            let (second, later) = try await feed(setting.direct, after: token)
            #expect(second.map { $0.number("number") } == [2])
            let updated = try await setting.through.post("records/modify", update).read(RawRecords.self).records[0]
            #expect(updated.serverErrorCode == nil)
            #expect(updated.number("number") == 2)
            #expect(updated.recordChangeTag == second.first?.recordChangeTag)
            #expect(try await feed(setting.direct, after: later).records.isEmpty)
            #expect(setting.proxy.passed.filter { $0.fate == .lose }.count == 2)
        }
    }

    @Test func `without an operation ID a retry is a new request, and meets the record that it made`() async throws {
        try await with {
            $0 == 0
        } _: { setting in
            var request = modify("create", counter(1), id: "")
            request.nacre = nil
            let bytes = try WebServicesClient.bytes(request)
            await #expect(throws: (any Error).self) { try await setting.through.post("records/modify", bytes) }
            let retried = try await setting.through.post("records/modify", bytes).read(RawRecords.self).records[0]
            #expect(retried.serverErrorCode == "CONFLICT")
        }
    }

    @Test func `the framework asks again with the same bytes, and its save succeeds once`() async throws {
        try await with {
            $0 % 2 == 0
        } _: { setting in
            let database = try Device(setting.cloud, token: setting.through.token, through: setting.proxy.url).database
            let recordID = CKRecord.ID(recordName: "counter", zoneID: CKRecordZone.ID(zoneName: Self.zone))
            let record = CKRecord(recordType: "Counter", recordID: recordID)
            record["number"] = 1
            let created = try await database.modifyRecords(saving: [record], deleting: [])
            let saved = try #require(try created.saveResults[recordID]?.get())
            let (first, token) = try await feed(setting.direct)
            #expect(first.map(\.recordChangeTag) == [saved.recordChangeTag])

            saved["number"] = 2
            let updated = try await database.save(saved)
            #expect(updated["number"] as? Int == 2)
            let (second, later) = try await feed(setting.direct, after: token)
            #expect(second.map(\.recordChangeTag) == [updated.recordChangeTag])
            #expect(try await feed(setting.direct, after: later).records.isEmpty)

            try await database.deleteRecord(withID: recordID)
            #expect(try await feed(setting.direct, after: later).records.map(\.deleted) == [true])
            let modifies = setting.proxy.passed.filter { $0.line.contains("records/modify") }
            #expect(modifies.map(\.fate) == [.lose, .deliver, .lose, .deliver, .lose, .deliver])
            for pair in [0, 2, 4] { #expect(modifies[pair].body == modifies[pair + 1].body) }
        }
    }

    @Test func `the framework says that the answer is lost, and never that there is a conflict, when none comes at all`() async throws {
        try await with { _ in
            true
        } _: { setting in
            let database = try Device(setting.cloud, token: setting.through.token, through: setting.proxy.url).database
            let recordID = CKRecord.ID(recordName: "counter", zoneID: CKRecordZone.ID(zoneName: Self.zone))
            let record = CKRecord(recordType: "Counter", recordID: recordID)
            record["number"] = 1
            let error = await #expect(throws: CKError.self) { try await database.save(record) }
            #expect(error?.code == .serverResponseLost)
            let (records, _) = try await feed(setting.direct)
            #expect(records.map { $0.number("number") } == [1])
            #expect(Set(setting.proxy.passed.filter { $0.line.contains("records/modify") }.map(\.body)).count == 1)
        }
    }

    @Test func `a record that somebody changed between the commit and the retry comes in its newest version`() async throws {
        try await with {
            $0 == 0
        } _: { setting in
            let create = try WebServicesClient.bytes(modify("create", counter(1), id: "mine"))
            await #expect(throws: (any Error).self) { try await setting.through.post("records/modify", create) }
            let tag = try await feed(setting.direct).records.first?.recordChangeTag
            let others: RawRecords = try await setting.direct.post("records/modify", modify("update", counter(7, tag: tag), id: "others"))
            let retried = try await setting.through.post("records/modify", create).read(RawRecords.self).records[0]
            #expect(retried.number("number") == 7)
            #expect(retried.recordChangeTag == others.records[0].recordChangeTag)
        }
    }
}
