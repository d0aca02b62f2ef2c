import Foundation
import NacreCloudTestSupport
import Testing

/// Tests of `nacre token`: keys and tokens that an administrator makes, lists and revokes.
@Suite(.timeLimit(.minutes(5))) struct TokenTests {
    private static let container = ["--container", Administrator.container]

    /// Returns a shell's output: the lines of the documentation are run word for word.
    private func shell(_ script: String, in folder: String) async throws -> String {
        String(decoding: try await Program("/bin/bash", ["-euo", "pipefail", "-c", script], in: folder).run().output, as: UTF8.self)
    }

    @Test func `a request that openssl signs and curl sends is answered, and refused once the key is revoked`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            _ = try await administrator.run(["container", "create", Administrator.container, "--just-in-time", "all"])
            _ = try await shell(
                "openssl ecparam -name prime256v1 -genkey -noout -out eckey.pem; openssl ec -in eckey.pem -pubout -out public.pem 2>&1",
                in: server.scratch)
            let create = ["token", "create", "--environment", "development", "--kind", "server", "--name", "nightly"] + Self.container
            let made = try await administrator.run(create + ["--public-key", server.scratch + "/public.pem"])
            #expect(made.status == 0 && made.line.count == 64, "\(made.messages)")
            let second = try await administrator.run(create + ["--public-key", server.scratch + "/public.pem", "--json"])
            let keyID = try #require(try second.object()["keyID"] as? String)
            #expect(keyID != made.line)
            let secret = try await administrator.run(create + ["--public-key", server.scratch + "/eckey.pem"])
            #expect(secret.status == 1 && secret.messages.contains("private key"))
            let missing = try await administrator.run(create)
            #expect(missing.status == 64 && missing.messages.contains("--public-key"))

            let path = "/database/1/\(Administrator.container)/development/public/records/modify"
            let script = """
                body='{"operations":[{"operationType":"create","record":{"recordType":"Note","fields":{"text":{"value":"hello","type":"STRING"}}}}]}'
                date=$(date -u +%Y-%m-%dT%H:%M:%SZ)
                hash=$(printf %s "$body" | openssl dgst -sha256 -binary | base64 -w0)
                signature=$(printf %s "$date:$hash:\(path)" | openssl dgst -sha256 -sign eckey.pem | base64 -w0)
                curl -s -H "Content-Type: text/plain" -H "X-Apple-CloudKit-Request-KeyID: \(keyID)" -H "X-Apple-CloudKit-Request-ISO8601Date: $date" \
                    -H "X-Apple-CloudKit-Request-SignatureV1: $signature" --data "$body" "\(server.url)\(path)"
                """
            let saved = try await shell(script, in: server.scratch)
            #expect(saved.contains(#""value":"hello""#), "\(saved)")

            let listed = try await administrator.run(["token", "list"] + Self.container)
            #expect(listed.status == 0 && listed.output.split(separator: "\n").count == 2 && listed.output.contains("server \(keyID) "))
            let revoked = try await administrator.run(["token", "revoke", keyID])
            #expect(revoked.status == 0 && revoked.output.contains("nightly"))
            let left = try await administrator.run(["token", "list", "--json"])
            #expect(left.output.contains(made.line) && !left.output.contains(keyID))
            let again = try await administrator.run(["token", "revoke", keyID])
            #expect(again.status == 1 && again.messages.contains("nacre token list"))
        }
    }

    @Test func `an API token is made for pages and a callback, which its line in the list tells`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            _ = try await administrator.run(["container", "create", Administrator.container])
            func create(_ more: [String], kind: String = "api") async throws -> Nacre {
                try await administrator.run(["token", "create", "--environment", "development", "--kind", kind] + Self.container + more)
            }
            let pages = ["--origin", "https://app.example", "--origin=http://localhost:3000"]
            let made = try await create(pages + ["--redirect", "https://app.example/in?from=cloud"])
            #expect(made.status == 0 && made.line.count == 64, "\(made.messages)")
            let open = try await create([])
            let listed = try await administrator.run(["token", "list"]).output.split(separator: "\n").map(String.init)
            let line = "api \(made.line) \(Administrator.container) development "
            #expect(
                listed.contains(
                    line + "origin=https://app.example origin=http://localhost:3000 redirect=https://app.example/in?from=cloud used=never"))
            #expect(listed.contains("api \(open.line) \(Administrator.container) development used=never"), "\(listed)")
            let json = try await administrator.run(["token", "list", "--json"]).output
            let tokens = try #require(try (JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])?["tokens"] as? [[String: Any]])
            #expect(tokens.first { $0["id"] as? String == made.line }?["origins"] as? [String] == ["https://app.example", "http://localhost:3000"])
            #expect(tokens.first { $0["id"] as? String == open.line }?["origins"] == nil)
            for more in [
                ["--origin", "app.example"], ["--origin", "https://app.example/"], ["--origin", "null"], ["--redirect", "javascript:alert(1)"],
            ] {
                let refused = try await create(more)
                #expect(refused.status == 1 && refused.messages.contains("invalid"), "\(more) \(refused.messages)")
            }
            _ = try await shell(
                "openssl ecparam -name prime256v1 -genkey -noout -out e.pem; openssl ec -in e.pem -pubout -out p.pem 2>&1", in: server.scratch)
            let key = try await create(["--public-key", server.scratch + "/p.pem", "--origin", "https://app.example"], kind: "server")
            #expect(key.status == 1 && key.messages.contains("signs nobody in"), "\(key.messages)")
        }
    }

    @Test func `a management token serves a script with the container's schema, and ends when it is revoked`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            _ = try await administrator.run(["container", "create", Administrator.container])
            let missing = try await administrator.run(["token", "create", "--kind", "api"] + Self.container)
            #expect(missing.status == 64 && missing.messages.contains("--environment"))
            let made = try await administrator.run(["token", "create", "--kind", "management", "--name", "ci", "--expires", "30d"] + Self.container)
            #expect(made.status == 0 && made.line.count == 97, "\(made.messages)")
            let file = server.scratch + "/notes.ckdb"
            try Data("DEFINE SCHEMA RECORD TYPE Users (roles LIST<INT64>); RECORD TYPE Note (text STRING);".utf8).write(to: URL(filePath: file))
            let cktool = ["cktool", "import-schema", "--container-id", Administrator.container, "--environment", "development", "--file", file]
            func script(_ container: [String]) async throws -> Nacre {
                try await Nacre.run(
                    cktool + container + ["--data", server.data], in: server.scratch, environment: ["CLOUDKIT_MANAGEMENT_TOKEN": made.line])
            }
            let imported = try await script([])
            #expect(imported.status == 0 && imported.messages.isEmpty, "\(imported.messages)")
            let elsewhere = try await script(["--container-id", "iCloud.com.example.other"])
            #expect(elsewhere.status == 77 && elsewhere.messages.contains("its own container"), "\(elsewhere.messages)")
            let history = try await administrator.run(["schema", "history", "--environment", "development"] + Self.container)
            #expect(history.output.contains(" import by token \(made.line.prefix(32)) ci\n"), "\(history.output)")
            #expect(try await administrator.run(["audit", "list"]).output.contains(" token=\(made.line.prefix(32)) ci POST /admin/1/schema/import "))
            let listed = try await administrator.run(["token", "list"]).line
            #expect(listed.hasPrefix("management \(made.line.prefix(32)) \(Administrator.container) ci ends=") && !listed.contains("never"))
            #expect(try await administrator.run(["token", "revoke", String(made.line.prefix(32))]).status == 0)
            let dead = try await script([])
            #expect(dead.status == 77 && dead.messages.contains("nacre token create --kind management"), "\(dead.messages)")
        }
    }
}
