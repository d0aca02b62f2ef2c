import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer
import Testing

@testable import NacreCloudServer

/// Tests that change tokens and markers are valid only for their user and their place.
@Suite(.timeLimit(.minutes(5))) struct OpaqueValueTests {
    /// A user in a container and environment, with a zone and records whose names are the same everywhere.
    private struct Place: Sendable {
        var name: String
        var container = TestServer.container
        var environment = "development"
        var token: String

        func ask(_ server: TestServer, _ path: String, _ body: String) async -> Answer {
            await server.respond(
                Question(
                    method: "POST", target: "/database/1/\(container)/\(environment)/private/\(path)",
                    headers: ["Authorization": "Bearer \(token)"], body: Array(body.utf8)))
        }
    }

    private static let inCellar = #""zoneID":{"zoneName":"Cellar"}"#

    private static func query(_ more: String) -> String {
        let filter = Body.filter("text", "BEGINS_WITH", #"{"value":"hush"}"#)
        return Body.query("Note", filters: [filter], more: #"\#(inCellar),"resultsLimit":1\#(more)"#)
    }

    private static func places(_ server: TestServer) async throws -> [Place] {
        let registry = server.cloud.registry
        let schemas = server.cloud.schemas
        let account = try #require(try await registry.account(email: "ada@example.com"))
        let entry = try await registry.createAccountToken(
            for: account, containers: [TestServer.otherContainer], environment: .development, device: "test")
        let places = [
            Place(name: "Ada", token: server.names["ada.device"] ?? ""), Place(name: "Bob", token: server.names["bob.device"] ?? ""),
            Place(name: "production", environment: "production", token: server.names["ada.device.production"] ?? ""),
            Place(name: "another container", container: TestServer.otherContainer, token: try server.authenticator.accountToken(for: entry)),
        ]
        let schema = "DEFINE SCHEMA RECORD TYPE Users (roles LIST<INT64>); RECORD TYPE Note (text STRING QUERYABLE);"
        for container in [TestServer.container, TestServer.otherContainer] {
            _ = try await schemas.importSchema(schema, to: container, isDryRun: false)
        }
        _ = try await schemas.deploySchema(of: TestServer.container, isDryRun: false)
        for place in places {
            let notes = ["a", "b"].map { ("create", #""recordType":"Note","recordName":"\#($0)","fields":{"text":{"value":"hush"}}"#) }
            for (path, body) in [("zones/modify", Body.zones("create", "Cellar")), ("records/modify", Body.modify(notes, inCellar))] {
                let answer = await place.ask(server, path, body)
                try #require(AuthorisationTable.outcome(answer) == "200", "\(place.name): \(answer.text)")
            }
        }
        return places
    }

    /// Endpoints that take a value, with the outcome for its owner and for others. `database`, `zone` and `marker`
    /// name the kind that fits.
    private static let rows: [(path: String, fits: String, body: @Sendable (String) -> String, refusal: String)] = [
        ("changes/database", "database", { #"{"syncToken":"\#($0)"}"# }, "400"),
        ("zones/changes", "database", { #"{"metaSyncToken":"\#($0)"}"# }, "400"),
        ("changes/zone", "zone", { Body.feed("Cellar", token: $0) }, "200:BAD_REQUEST"),
        ("records/changes", "zone", { #"{\#(inCellar),"syncToken":"\#($0)"}"# }, "400"),
        ("records/query", "marker", { query(#","continuationMarker":"\#($0)""#) }, "400"),
    ]

    @Test func `a change token or marker is good for its user, container, environment and endpoint alone`() async throws {
        let server = try await TestServer()
        let places = try await Self.places(server)
        var values: [(owner: String, kind: String, text: String)] = []
        for place in places {
            let database = await place.ask(server, "changes/database", "{}")
            values.append((place.name, "database", try #require(database.json?.at("syncToken")?.text, "\(database.text)")))
            let zone = await place.ask(server, "changes/zone", Body.feed("Cellar"))
            values.append((place.name, "zone", try #require(zone.json?.at("zones[0].syncToken")?.text, "\(zone.text)")))
            let page = await place.ask(server, "records/query", Self.query(""))
            values.append((place.name, "marker", try #require(page.json?.at("continuationMarker")?.text, "\(page.text)")))
        }
        for place in places {
            for row in Self.rows {
                for value in values {
                    let answer = await place.ask(server, row.path, row.body(value.text))
                    let isGood = value.owner == place.name && value.kind == row.fits
                    #expect(
                        AuthorisationTable.outcome(answer) == (isGood ? "200" : row.refusal),
                        "\(row.path) of \(place.name) with \(value.owner)'s \(value.kind): \(answer.text)")
                    if !isGood { #expect(!answer.text.contains("hush")) }
                }
            }
        }
        await server.server.shutdown(grace: .zero)
    }
}
