import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTasks
import NacreHTTPServer
import Testing

@testable import NacreCloudServer

/// Tests each line of `SecondUserTable` and `PublicRoleTable`.
struct SecondUserTests {
    private static let root = "/database/1/\(TestServer.container)/development/"

    @Test func `what is in a private database is useless to another user, whatever he shows of its owner's`() async throws {
        let credentials = try await CredentialServer()
        let names = try await adasNames(credentials)
        let secrets = CredentialServer.secrets + names.filter { $0.key != "name" && $0.key != "tag" }.map(\.value)
        for row in SecondUserTable.rows {
            let body = names.reduce(row.body) { $0.replacing("<<\($1.key)>>", with: $1.value) }
            for user in ["bob", "bob.device"] {
                let answer = await credentials.server.server.respond(Self.question(row.method, "private/" + row.path, body, by: user, credentials))
                let label = "\(row.method) \(row.path) \(body) by \(user): \(answer.text)"
                #expect(AuthorisationTable.outcome(answer) == row.outcome, "\(label)")
                for secret in secrets where !body.contains(secret) { #expect(!answer.text.contains(secret), "\(label)") }
                // Values that he sent come back at most as the name of a missing item.
                #expect(!answer.text.contains("hush-hush"), "\(label)")
                let found = (answer.json?["records"]?.count ?? 0) - (answer.json?.at("records[0].serverErrorCode") == nil ? 0 : 1)
                #expect(found <= 0, "\(label)")
            }
        }
        let still = await credentials.server.server.respond(
            Self.question("POST", "private/records/lookup", Body.lookup("note"), by: "ada", credentials))
        #expect(still.json?.at("records[0].recordChangeTag")?.text == names["tag"])
    }

    @Test func `the table of the second user has every endpoint of databases`() async throws {
        let server = try await TestServer()
        let database = "/database/1/:container/:environment/:database/"
        let routes = server.router.routes.filter { $0.pattern.hasPrefix(database) }
        let missing = Set(routes.map { "\($0.method) \($0.pattern.dropFirst(database.count))" }).subtracting(
            SecondUserTable.rows.map { "\($0.method) \($0.path)" })
        #expect(missing.sorted() == [])
    }

    /// Returns the values of Ada's own answers that another user could get.
    private func adasNames(_ credentials: CredentialServer) async throws -> [String: String] {
        let server = credentials.server.server
        func ada(_ path: String, _ body: String) async -> JSON? {
            await server.respond(Self.question("POST", "private/" + path, body, by: "ada", credentials)).json
        }
        _ = await ada("records/modify", Body.modify("create", #""recordName":"more","recordType":"Note","fields":{"text":{"value":"hush-hush"}}"#))
        let found = await ada(
            "records/query",
            Body.query("Note", filters: [Body.filter("text", "GREATER_THAN", #"{"value":"a"}"#)], more: #""resultsLimit":1"#))
        let texts = [
            "name": server.names["ada.name"], "marker": found?["continuationMarker"]?.text,
            "tag": await ada("records/lookup", Body.lookup("note"))?.at("records[0].recordChangeTag")?.text,
            "databaseToken": await ada("changes/database", "{}")?["syncToken"]?.text,
            "zoneToken": await ada("changes/zone", Body.feed("Cellar"))?.at("zones[0].syncToken")?.text,
        ]
        return try texts.mapValues { try #require($0) }
    }

    /// Makes a request.
    /// - Parameter user: `ada` or `bob` on the web, or with `.device` behind it.
    private static func question(_ method: String, _ path: String, _ body: String, by user: String, _ credentials: CredentialServer) -> Question {
        let names = credentials.server.server.names
        guard user.hasSuffix(".device") else {
            let query = "ckAPIToken=\(names["api"] ?? "")&ckWebAuthToken=\(names[user + ".escaped"] ?? "")"
            return Question(method: method, target: "\(root)\(path)?\(query)", body: Array(body.utf8))
        }
        return Question(method: method, target: root + path, headers: ["Authorization": "Bearer \(names[user] ?? "")"], body: Array(body.utf8))
    }

    // MARK: Roles

    /// Grants under which the records are made.
    private static let before = grants { _ in #"GRANT READ TO "_world", GRANT CREATE TO "_icloud""# }

    private static func grants(_ text: (String) -> String) -> String {
        let types = PublicRoleTable.grants.keys.sorted().map { #"RECORD TYPE \#($0) ("___recordID" REFERENCE QUERYABLE, \#(text($0)));"# }
        return "DEFINE SCHEMA CREATE ROLE Team; CREATE ROLE Nobody; RECORD TYPE Users (roles LIST<INT64>); \(types.joined(separator: " "))"
    }

    @Test func `a role may do in the public database what its line says`() async throws {
        let server = try await TestServer(requestRate: nil)
        _ = try await server.cloud.schemas.importSchema(Self.before, to: TestServer.container, isDryRun: false)
        let askers = try await RoleAskers(server)
        for type in PublicRoleTable.grants.keys {
            for name in ["shown"] + PublicRoleTable.columns.flatMap({ ["update-\($0)", "delete-\($0)"] }) {
                let made = try await askers.ask(
                    "creator", "records/modify", Body.modify("create", #""recordName":"\#(type)-\#(name)","recordType":"\#(type)""#))
                #expect(AuthorisationTable.outcome(made) == "200", "\(made.text)")
            }
        }
        _ = try await server.cloud.schemas.importSchema(
            Self.grants { PublicRoleTable.grants[$0] ?? "" }, to: TestServer.container, isDryRun: false)
        try await askers.giveTeam()
        for line in PublicRoleTable.text.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            let given = try await PublicRoleTable.columns.asyncMap { try await askers.outcome(words[0], words[1], by: $0) }
            #expect(given == Array(words.dropFirst(2)), "the line would be\n\((words.prefix(2) + given).joined(separator: "  "))")
        }
        #expect(PublicRoleTable.text.split(separator: "\n").count == PublicRoleTable.grants.count * 5)
    }

    @Test func `nobody follows changes of the public database, whatever his role`() async throws {
        let askers = try await RoleAskers(try await TestServer(requestRate: nil))
        for (path, body) in [
            ("changes/database", "{}"), ("changes/zone", Body.feed("_defaultZone")), ("zones/changes", "{}"),
            ("records/changes", #"{"zoneID":{"zoneName":"_defaultZone"}}"#),
        ] {
            for column in PublicRoleTable.columns {
                let answer = try await askers.ask(column, path, body)
                #expect(AuthorisationTable.outcome(answer) == "400", "\(path) by \(column): \(answer.text)")
            }
        }
    }
}

/// The callers of `PublicRoleTable`.
private struct RoleAskers {
    let server: TestServer
    let keys: [String: Signer]

    init(_ server: TestServer) async throws {
        self.server = server
        keys = [
            "key": try await Signer(server), "teamKey": try await Signer(server), "administrator": try await Signer(server, isAdministrator: true),
        ]
    }

    func giveTeam() async throws {
        var users = [server.names["bob.name"] ?? ""]
        if let key = keys["teamKey"], let entry = try await server.cloud.registry.serverKey(key.id) {
            users.append(try await server.cloud.admit(account: entry.account, to: TestServer.container, .development))
        }
        for user in users { _ = try await server.cloud.schemas.assign("Team", to: user, in: TestServer.container, .development) }
    }

    func ask(_ column: String, _ path: String, _ body: String) async throws -> Answer {
        if let key = keys[column] {
            return await key.ask(try key.question(path, body))
        }
        let user = ["creator": "ada", "team": "bob"][column]
        let query = "ckAPIToken=\(server.names["api"] ?? "")" + (user.map { "&ckWebAuthToken=\(server.names[$0 + ".escaped"] ?? "")" } ?? "")
        let target = "/database/1/\(TestServer.container)/development/public/\(path)?\(query)"
        return await server.respond(Question(method: "POST", target: target, body: Array(body.utf8)))
    }

    /// Returns the outcome in the form of a cell.
    func outcome(_ type: String, _ asked: String, by column: String) async throws -> String {
        switch asked {
        case "lookup": return AuthorisationTable.outcome(try await ask(column, "records/lookup", Body.lookup("\(type)-shown")))
        case "query":
            let answer = try await ask(column, "records/query", Body.query(type, filters: [Body.system("recordName", "EQUALS", Self.shown(type))]))
            return (answer.json?["records"]?.count).map(String.init) ?? AuthorisationTable.outcome(answer)
        case "create": return try await modify("create", #""recordName":"\#(type)-new-\#(column)","recordType":"\#(type)""#, by: column)
        case "update": return try await modify("forceUpdate", #""recordName":"\#(type)-update-\#(column)","recordType":"\#(type)""#, by: column)
        default: return try await modify("forceDelete", #""recordName":"\#(type)-delete-\#(column)""#, by: column)
        }
    }

    private func modify(_ operation: String, _ record: String, by column: String) async throws -> String {
        AuthorisationTable.outcome(try await ask(column, "records/modify", Body.modify(operation, record)))
    }

    private static func shown(_ type: String) -> String { #"{"value":{"recordName":"\#(type)-shown"},"type":"REFERENCE"}"# }
}

extension Array {
    fileprivate func asyncMap<Value>(_ change: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await change(element)) }
        return values
    }
}
