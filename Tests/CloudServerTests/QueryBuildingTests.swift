import CloudContainer
import CloudWire
import Testing

@testable import CloudServer

/// A query whose index is not built yet, over more records than one page looks at.
@Suite(.timeLimit(.minutes(5))) struct QueryBuildingTests {
    private static let target = DatabaseTarget(container: TestServer.container, environment: .development, scope: .private)

    private func fill(_ server: TestServer, _ count: Int) async throws {
        let caller = Caller(.user(server.names["ada.name"] ?? ""), client: .framework)
        for start in stride(from: 0, to: count, by: caller.itemsPerRequest) {
            let operations = (start..<min(start + caller.itemsPerRequest, count)).map { number in
                RecordOperation(.create, RecordChange(recordName: "n\(number)", recordType: "Note", set: ["n": .int64(Int64(number))]))
            }
            let answer = try await server.cloud.modifyRecords(
                RecordsModifyRequest(operations: operations), in: Self.target, by: caller, digest: [])
            for case .failure(_, let error) in answer.records { throw error }
        }
    }

    private func query(_ server: TestServer) async -> Answer {
        await server.respond(
            Question(
                method: "POST", target: "/database/1/\(TestServer.container)/development/private/records/query",
                headers: ["Authorization": "Bearer \(server.names["ada.device"] ?? "")"],
                body: Array(Body.query("Note", filters: [Body.filter("n", "EQUALS", #"{"value":7}"#)]).utf8)))
    }

    @Test func `while an index is built a query that needs it is asked to come back, and afterwards finds everything`() async throws {
        let server = try await TestServer()
        try await fill(server, Limits.queryScanRows + 200)
        #expect(await query(server).json?.at("records[0].recordName") == .string("n7"))
        _ = try await server.cloud.setIndexes([], of: "Note", field: "n", in: TestServer.container)
        _ = try await server.cloud.setIndexes(.queryable, of: "Note", field: "n", in: TestServer.container)

        let refused = await query(server)
        #expect(refused.status == 503)
        #expect(refused.header("Retry-After") == "30")
        #expect(refused.json?["serverErrorCode"] == .string("TRY_AGAIN_LATER"))
        #expect(refused.json?["reason"]?.text?.hasPrefix("These index(es) is/are not valid; Indexing scheduled") == true)
        #expect(refused.json?["retryAfter"] == .number(30))
        #expect(refused.json?["records"] == nil)

        while try await server.cloud.runDueTasks().taken > 0 {}
        let found = await query(server)
        #expect(found.status == 200)
        #expect(found.json?["records"]?.count == 1)
        #expect(found.json?.at("records[0].recordName") == .string("n7"))
    }
}
