import Foundation
import FoundationNetworking
import NacreLocks
import Testing

/// Tests of `waitSeconds`: a request for changes that is answered when there are some.
struct WaitingTests {
    private func with(_ body: (_ a: WebServicesClient, _ b: WebServicesClient, _ server: RunningServer) async throws -> Void) async throws {
        try await RunningServer.with { server in
            let cloud = try await NewCloud(server)
            try await cloud.addUser(Device.ada)
            let a = cloud.client(try await cloud.device(of: Device.ada))
            let b = cloud.client(try await cloud.device(of: Device.ada))
            let made: RawZones = try await a.post("zones/modify", RawZonesModify(operations: [RawZoneOperation("create", "Notes")]))
            try #require(made.zones.count == 1)
            try await body(a, b, server)
        }
    }

    private func changes(_ client: WebServicesClient, after token: String?, waiting seconds: Double? = nil) async throws -> RawDatabaseChanges {
        let request = RawDatabaseChangesRequest(syncToken: token, nacre: seconds.map { RawExtension(waitSeconds: $0) })
        return try await client.post("changes/database", request)
    }

    /// Returns once a request waits at the server.
    private func hasWaiting(_ server: RunningServer) async throws {
        let request = URLRequest(url: try WebServicesClient.url(try server.adminURL + "/metrics"))
        var metrics = ""
        while !metrics.contains("\nnacre_http_requests_waiting 1\n") {
            metrics = String(decoding: try await WebServicesClient.send(request, nil, over: .shared).body, as: UTF8.self)
        }
    }

    @Test func `it is answered by the save of another client, and not before`() async throws {
        try await with { a, b, _ in
            let token = try await changes(b, after: nil).syncToken
            let isAnswered = Locked(false)
            async let waiting = {
                let answer = try await changes(b, after: token, waiting: 30)
                isAnswered.withLock { $0 = true }
                return answer
            }()
            // Several requests of others that change nothing here.
            for _ in 0..<5 { _ = try await changes(a, after: token) }
            #expect(!isAnswered.withLock { $0 })
            let record = RawRecord(recordName: "one", recordType: "Note", fields: ["text": RawField(value: .text("bread"))])
            let save = RawModify(
                operations: [RawOperation(operationType: "create", record: record)], zoneID: RawZoneID(zoneName: "Notes"))
            let saved: RawRecords = try await a.post("records/modify", save)
            #expect(saved.records[0].serverErrorCode == nil)
            // An answer at the end of the time would be empty.
            let answer = try await waiting
            #expect(answer.zones.map(\.zoneID.zoneName) == ["Notes"])
            #expect(try await changes(b, after: answer.syncToken).zones.isEmpty)
        }
    }

    @Test func `what is there already is answered at once`() async throws {
        try await with { _, b, _ in
            let answer = try await changes(b, after: nil, waiting: 30)
            #expect(answer.zones.map(\.zoneID.zoneName) == ["Notes"])
        }
    }

    @Test func `a server that stops answers who waits, and ends in order`() async throws {
        try await with { _, b, server in
            let token = try await changes(b, after: nil).syncToken
            async let waiting = changes(b, after: token, waiting: 30)
            try await hasWaiting(server)
            #expect(try await server.stop() == 0)
            #expect(try await waiting.zones.isEmpty)
        }
    }
}
