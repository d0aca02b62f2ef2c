import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudServer
@testable import NacreCloudStorage

/// Tests of guessed names of shares: all guesses get one answer at one price, on a clock that only the test moves.
@Suite struct ShareRateTests {
    private static let rate = 200
    private static let routes = ["records/resolve", "records/accept", "records/request-access"]

    /// Returns names that lead Bob nowhere: unknown, malformed, of an ended share, of a share for Carol, and of its
    /// one-time URL with another secret.
    private func guesses(on server: TestServer) async throws -> [String: String] {
        func share(_ zone: String, _ participants: String) async throws -> String {
            try await server.ask("ada", "private/zones/modify", Body.zones("create", zone))
            let answer = try await server.ask(
                "ada", "private/records/modify",
                """
                {"operations":[{"operationType":"create","record":{"recordName":"cloudkit.zoneshare","recordType":"cloudkit.share",
                "participants":[\(participants)]}}],"zoneID":{"zoneName":"\(zone)"}}
                """)
            return try #require(answer.at("records[0].shortGUID")?.text)
        }
        let ended = try await share("Ended", #"{"permission":"READ_WRITE","userIdentity":{"userRecordName":"\#(server.names["bob.name"] ?? "")"}}"#)
        try await server.ask(
            "ada", "private/records/modify",
            #"{"operations":[{"operationType":"forceDelete","record":{"recordName":"cloudkit.zoneshare"}}],"zoneID":{"zoneName":"Ended"}}"#)
        let others = try await share(
            "Others",
            #"{"userIdentity":{"lookupInfo":{"emailAddress":"carol@example.com"}}},{"permission":"READ_WRITE","nacre":{"oneTime":true}}"#)
        return [
            "unknown": "AAAAAAAAAAAAAAAAAAAAAA", "malformed": "no such/GUID", "ended": ended, "another's": others, "secret": others + "~" + ended,
        ]
    }

    private func ask(_ server: TestServer, _ route: String, _ guid: String, as user: String) async -> Answer {
        await server.respond(
            Question(
                method: "POST", target: "/database/1/\(TestServer.container)/development/public/\(route)",
                headers: ["Authorization": "Bearer \(server.names[user + ".device"] ?? "")"],
                body: Array(#"{"shortGUIDs":[{"value":"\#(guid)"}]}"#.utf8)))
    }

    @Test(arguments: routes) func `who guesses at shares hears one answer, and soon when to come back`(route: String) async throws {
        var heard: Set<String> = []
        for kind in ["unknown", "malformed", "ended", "another's", "secret"] {
            let server = try await TestServer(requestRate: Self.rate)
            let guid = try #require(try await guesses(on: server)[kind])
            var (count, errors): (Int, Set<String>) = (0, [])
            var answer = await ask(server, route, guid, as: "bob")
            while answer.status == 200, count < 100 {
                count += 1
                #expect(answer.json?["results"]?.count == 1)
                let result = answer.json?.at("results[0]")
                errors.insert("\(result?["serverErrorCode"]?.text ?? "none") \(result?["reason"]?.text ?? "")")
                answer = await ask(server, route, guid, as: "bob")
            }
            #expect(answer.status == 429 && answer.json?["serverErrorCode"]?.text == "THROTTLED" && answer.json?["results"] == nil)
            let wait = try #require(answer.header("Retry-After").flatMap(Double.init))
            heard.insert("\(errors.sorted()) after \(count), again in \(wait)")
            #expect(count == 60 * Self.rate / Limits.addressLookupCost, "a minute of the rate at once")
            #expect(await ask(server, route, guid, as: "ada").status == 200, "others are answered meanwhile")
            server.clock.advance(wait)
            #expect(await ask(server, route, guid, as: "bob").status == 200)
        }
        #expect(heard.count == 1, "\(heard)")
        #expect(heard.first?.contains("ACCESS_DENIED there is no such share for this user") == true, "\(heard)")
    }
}
