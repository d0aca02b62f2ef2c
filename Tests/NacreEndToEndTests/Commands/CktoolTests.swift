import Foundation
import NacreCloudTestSupport
import Testing

/// Tests of `nacre cktool`, for scripts written for Apple's tool.
@Suite(.timeLimit(.minutes(5))) struct CktoolTests {
    private static let container = ["--team-id", "ABCDE12345", "--container-id", Administrator.container, "--environment", "DEVELOPMENT"]
    private static let notes = container + ["--database-type", "private", "--zone-name", "_defaultZone"]
    private static let schema = """
        DEFINE SCHEMA
        RECORD TYPE Note ("___recordID" REFERENCE QUERYABLE, title STRING QUERYABLE SEARCHABLE SORTABLE, stars INT64 QUERYABLE SORTABLE, \
        at TIMESTAMP QUERYABLE, place LOCATION QUERYABLE, tags LIST<STRING> QUERYABLE, data BYTES, price DOUBLE, image ASSET, pages LIST<ASSET>);
        RECORD TYPE Users (roles LIST<INT64>);
        """

    private func with(_ body: (Administrator, _ userToken: String) async throws -> Void) async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            let apiToken = try await administrator.preparedWithUser()
            let account = try await administrator.run(Administrator.signIn(apiToken) + ["--account"], input: Administrator.password)
            try #require(account.status == 0)
            try await body(administrator, account.line)
        }
    }

    private func run(
        _ administrator: Administrator, _ arguments: [String], _ environment: [String: String] = [:], input: String? = nil
    ) async throws -> Nacre {
        let folder = administrator.server.scratch
        return try await Nacre.run(
            ["cktool"] + arguments + ["--data", administrator.server.data], in: folder, input: input,
            environment: environment.merging(["XDG_CONFIG_HOME": folder + "/config"]) { given, _ in given })
    }

    @Test func `schemas are validated, imported, exported and reset, silently, and never in production`() async throws {
        try await with { administrator, _ in
            let file = administrator.server.scratch + "/notes.ckdb"
            try Data(Self.schema.utf8).write(to: URL(filePath: file))
            let valid = try await run(administrator, ["validate-schema", "--file", file] + Self.container)
            #expect(valid.status == 0 && valid.output == "✅ Schema is valid.\n" && valid.messages.contains("--team-id is not used"))
            let imported = try await run(administrator, ["import-schema", "--validate", "--file", file] + Self.container)
            #expect(imported.status == 0 && imported.output.isEmpty)
            let out = administrator.server.scratch + "/out.ckdb"
            #expect(try await run(administrator, ["export-schema", "--output-file", out] + Self.container).status == 0)
            let exported = try await run(administrator, ["export-schema"] + Self.container)
            #expect(exported.output.hasPrefix("DEFINE SCHEMA\n\n    RECORD TYPE Note (\n"))
            #expect(try String(contentsOfFile: out, encoding: .utf8) == exported.output)

            try Data("DEFINE SCHEMA\nRECORD TYPE Note (a BADTYPE);".utf8).write(to: URL(filePath: file))
            let bad = try await run(administrator, ["validate-schema", "--file", file] + Self.container)
            #expect(bad.status == 2 && bad.messages.contains("Schema validation failed: Encountered \"BADTYPE\" at line 2, column 21."))
            #expect(try await run(administrator, ["import-schema", "--file", file] + Self.container).status == 1)
            for verb in ["import-schema", "validate-schema"] {
                let live = try await run(administrator, [verb, "--file", file] + Self.container + ["--environment", "production"])
                #expect(live.status == 1 && live.messages.contains("not applicable in the environment 'production'"))
                #expect(live.messages.contains("nacre schema deploy"))
            }
            let reset = try await run(administrator, ["reset-schema", "--container-id", Administrator.container])
            #expect(reset.status == 0 && reset.output.isEmpty && reset.messages.isEmpty)
            #expect(try await run(administrator, ["export-schema"] + Self.container).output.contains("Note") == false)
        }
    }

    /// Faulty arguments, which follow the options for the database.
    private static let wrong: [(arguments: [String], says: String, status: Int32)] = [
        (["query-records", "--filters", "stars LIKE 3"], "LIST_NOT_CONTAINS_ANY", 64),
        (["query-records", "--filters", "stars"], "is not FIELD OPERATOR VALUE", 64),
        (["query-records", "--filters", "place NEAR 1"], "LATITUDE,LONGITUDE", 64),
        (["query-records", "--filters", "image == assetType:k"], "not of its type", 64),
        (["query-records", "--filters", "stars == int64Type:x"], "not of its type", 64),
        (["query-records", "--filters", "stars == five"], "stars", 1),
        (["query-records", "--limit", "500"], "--limit", 64),
        (["create-record", "--fields-json", #"{"a":{"value":1}}"#], "a: 'type' is missing", 64),
        (["create-record", "--fields-json", #"{"a":{"type":"textType","value":1}}"#], "take stringType", 64),
        (["create-record", "--fields-json", #"{"a":{"type":"assetType","value":"k"}}"#], "which file k is, which the field a names", 64),
        (["create-record", "--fields-json", "{}", "--asset-files", "k=v"], "no field has the value k", 64),
        (["create-record", "--fields-json", #"{"a":{"type":"assetType","value":"k"}}"#, "--asset-files", "k"], "give KEY=PATH", 64),
        (["create-record", "--fields-json", #"{"image":{"type":"assetType","value":"k"}}"#, "--asset-files", "k=gone"], "gone cannot be read", 1),
        (["create-record"], "--fields-json", 64),
        (["delete-records"], "Interaction was required", 64),
    ]

    @Test func `records are created, queried by every kind of value, and deleted, as the user of the token`() async throws {
        try await with { administrator, token in
            let file = administrator.server.scratch + "/notes.ckdb"
            try Data(Self.schema.utf8).write(to: URL(filePath: file))
            try #require(try await run(administrator, ["import-schema", "--file", file] + Self.container).status == 0)
            let records = Self.notes + ["--record-type", "Note"]
            let user = ["CLOUDKIT_USER_TOKEN": token, "LANG": "en_US.UTF-8", "LC_ALL": "en_US.UTF-8"]
            func ask(_ arguments: [String]) async throws -> Nacre { try await run(administrator, arguments, user) }
            func create(_ fields: String) async throws -> String {
                let made = try await run(administrator, ["create-record", "--fields-stdin"] + records, user, input: fields)
                #expect(made.status == 0, "\(made.messages)")
                return try #require(try made.object()["recordName"] as? String)
            }
            let olives = try await create(
                #"{"title":{"type":"stringType","value":"green olives"},"stars":{"type":"int64Type","value":5},"price":{"type":"doubleType","value":1.5},"#
                    + #""at":{"type":"timestampType","value":"2024-02-29T12:00:00Z"},"tags":{"type":"stringListType","value":["food"]},"#
                    + #""place":{"type":"locationType","value":{"latitude":48.4,"longitude":9.99}},"data":{"type":"bytesType","value":"AQI="}}"#)
            _ = try await create(#"{"title":{"type":"stringType","value":"2021-01-01"},"stars":{"type":"int64Type","value":1}}"#)
            func query(_ arguments: String...) async throws -> Nacre { try await ask(["query-records"] + arguments + records) }
            let found: [(filters: [String], count: Int)] = [
                ([], 2), (["--filters", "stars >= 2"], 1), (["--filters", "stars GREATER_THAN 0", "title == stringType:2021-01-01"], 1),
                (["--filters", "title CONTAINS_ANY_TOKENS olives"], 1), (["--filters", "tags LIST_CONTAINS_ANY food"], 1),
                (["--filters", "place NEAR 48.4,9.99,1000"], 1), (["--filters", "place NEAR -48.4,-170"], 1),
                (["--filters", "recordName == \(olives)"], 1),
                (["--filters", "at < 2030-01-01"], 1), (["--filters", "at > timestampType:2024-02-28 23:59:59"], 1),
                (["--filters", "at < timestampType:2/28/2024"], 0), (["--filters", "at < timestampType:3/1/2024 2:30 PM"], 1),
                (["--filters", "at < timestampType:3/1/2024 14:30"], 1), (["--filters=stars == 5", "--filters", "title == nothing"], 0),
            ]
            for (filters, count) in found {
                let answer = try await ask(["query-records"] + filters + records)
                try #require(answer.status == 0, "\(filters): \(answer.messages)")
                let object = try JSONSerialization.jsonObject(with: Data(answer.output.utf8)) as? [String: Any]
                #expect((object?["records"] as? [Any])?.count == count, "\(filters)")
            }
            let sorted = try await query("--sort-by", "stars DESC", "--requested-fields", "title", "price", "--limit", "1")
            #expect(
                sorted.output.contains(#""fields":{"price":{"type":"doubleType","value":1.5},"title":{"type":"stringType","value":"green olives"}}"#))
            let next = try #require(try sorted.object()["continuationToken"] as? String)
            let rest = try await query("--sort-by", "stars DESC", "--limit", "1", "--continuation-token", next)
            #expect(rest.output.contains("2021-01-01") && !rest.output.contains("olives"))
            let whole = try await query("--filters", "recordName == \(olives)")
            #expect(whole.output.contains(#""at":{"type":"timestampType","value":"2024-02-29T12:00:00.000Z"}"#), "\(whole.output)")

            for (arguments, says, status) in Self.wrong {
                let refused = try await ask(arguments + records)
                #expect(refused.status == status && refused.messages.contains(says), "\(arguments): \(refused.status) \(refused.messages)")
            }
            let stranger = try await run(administrator, ["query-records", "--token", "wrong"] + records)
            #expect(stranger.status == 77 && stranger.messages.contains("nacre user sign-in --account"))
            let nobody = try await run(administrator, ["query-records"] + records)
            #expect(nobody.status == 77 && nobody.messages.contains("there is no user token"))

            let gone = try await ask(["delete-record", "--record-name", olives, "-y"] + Self.notes)
            #expect(gone.status == 0 && gone.output.isEmpty, "\(gone.messages)")
            let again = try await ask(["delete-record", "--record-name", olives, "-y"] + Self.notes)
            #expect(again.status == 1 && again.messages.contains(olives))
            let dry = try await ask(["delete-records", "--dry-run", "true"] + records)
            #expect(dry.status == 0 && dry.output == "{\"deletedCount\":0,\"errors\":[],\"matchedCount\":1}\n", "\(dry.messages)")
            let deleted = try await ask(["delete-records", "--filters", "stars == 1", "--yes"] + records)
            #expect(deleted.status == 0 && deleted.output == "{\"deletedCount\":1,\"errors\":[]}\n", "\(deleted.messages)")
            #expect(try await query().output == "{\"records\":[]}\n")
        }
    }

    @Test func `a record is made with files, which its download URLs give back`() async throws {
        try await with { administrator, token in
            let scratch = administrator.server.scratch
            try Data(Self.schema.utf8).write(to: URL(filePath: scratch + "/notes.ckdb"))
            try #require(try await run(administrator, ["import-schema", "--file", scratch + "/notes.ckdb"] + Self.container).status == 0)
            for name in ["one", "two"] { try Data("page \(name)".utf8).write(to: URL(filePath: "\(scratch)/\(name).txt")) }
            let fields =
                #"{"image":{"type":"assetType","value":"1"},"pages":{"type":"assetListType","value":["1","2"]},"stars":{"type":"int64Type","value":5}}"#
            let made = try await run(
                administrator,
                ["create-record", "--record-type", "Note", "--fields-json", fields, "--asset-files", "1=\(scratch)/one.txt", "2=\(scratch)/two.txt"]
                    + Self.notes, ["CLOUDKIT_USER_TOKEN": token])
            try #require(made.status == 0, "\(made.messages)")
            let printed = try JSONSerialization.jsonObject(with: Data(made.output.utf8)) as? [String: Any]
            let record = try #require(printed?["fields"] as? [String: [String: Any]])
            let image = try #require(record["image"]?["value"] as? [String: Any])
            let pages = try #require(record["pages"]?["value"] as? [[String: Any]])
            #expect(image["size"] as? Int == 8 && pages.count == 2 && record["stars"]?["value"] as? Int == 5)
            for (file, text) in zip([image] + pages, ["page one", "page one", "page two"]) {
                let url = try #require(file["downloadUrl"] as? String)
                let fetched = try await Program("/usr/bin/curl", ["-s", url], in: scratch).run()
                #expect(String(decoding: fetched.output, as: UTF8.self) == text)
            }
        }
    }

    @Test func `tokens are kept in a file of their owner, found there, and forgotten`() async throws {
        try await with { administrator, token in
            let folder = administrator.server.scratch
            func tokens(_ arguments: [String], input: String? = nil) async throws -> Nacre {
                try await Nacre.run(["cktool"] + arguments, in: folder, input: input, environment: ["XDG_CONFIG_HOME": folder + "/config"])
            }
            let empty = try await tokens(["save-token", "--type", "user"])
            #expect(empty.status == 64 && empty.messages.contains("Interaction was required"))
            #expect(try await tokens(["save-token", "--type", "user"], input: token + "\n").status == 0)
            let mode = try FileManager.default.attributesOfItem(atPath: folder + "/config/nacre-cktool")[.posixPermissions] as? Int
            #expect(mode == 0o600)
            let taken = try await tokens(["save-token", "other", "--type", "user"])
            #expect(taken.status == 1 && taken.messages.contains("--force"))
            let query = ["query-records", "--record-type", "Note", "--filters", "a == 1"] + Self.notes
            let asked = try await run(administrator, query)
            #expect(asked.status == 1 && asked.messages.contains("Did not find record type: Note"), "\(asked.messages)")
            #expect(try await tokens(["remove-token", "--type", "user"]).status == 0)
            #expect(try await tokens(["remove-token", "--type", "user"]).status == 1)
            #expect(try await run(administrator, query).status == 77)

            // An administrator's token of no server is not sent.
            #expect(try await tokens(["save-token", "stale", "--type", "management"]).status == 0)
            let stale = try await run(administrator, ["export-schema"] + Self.container)
            #expect(stale.status == 77 && stale.messages.contains("was not sent"))
            let named = ["--token-file", administrator.server.data + "/admin.json"]
            let right = try await Nacre.run(
                ["cktool", "export-schema"] + Self.container + named, in: folder, environment: ["XDG_CONFIG_HOME": folder + "/config"])
            #expect(right.status == 0 && right.output.hasPrefix("DEFINE SCHEMA"))
            let keychain = try await tokens(["save-token", "x", "--type", "user", "--method", "keychain"])
            #expect(keychain.status == 1 && keychain.messages.contains("--method"))
            let teams = try await tokens(["get-teams"])
            #expect(teams.status == 1 && teams.messages.contains("--team-id"))
        }
    }
}
