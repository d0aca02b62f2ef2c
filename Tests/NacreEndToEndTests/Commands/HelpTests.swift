import Foundation
import NacreCloudTestSupport
import Testing

/// Tests of the executable's help, and of its errors for wrong command lines.
struct HelpTests {
    private struct Documented: CustomTestStringConvertible {
        var path: [String]
        var options: [String]

        var testDescription: String { path.joined(separator: " ") }

        init(_ path: String, _ options: String) {
            self.path = path.split(separator: " ").map(String.init)
            self.options = options.split(separator: " ").map { "--\($0)" }
        }
    }

    /// Every command with all its options.
    private static let documented = [
        Documented(
            "serve",
            "data listen memory emulator admin-listen insecure-admin console-listen console-url console-allow console-dir open-sign-up backup-dir backup-every backup-keep no-migration-backup log-file "
                + "log-format log-level request-log-days request-log-size alert-host config public-url host "
                + "trusted-proxy request-rate connections user-quota public-quota assets asset-size-web asset-size-app oidc-issuer oidc-client-id "
                + "oidc-client-secret-file oidc-name oidc-sign-up smtp smtp-password-file mail-from sms-webhook sms-token-file web-push-host dev json"
        ),
        Documented(
            "config show",
            "data listen memory emulator admin-listen insecure-admin console-listen console-url console-allow console-dir open-sign-up backup-dir backup-every backup-keep no-migration-backup log-file log-format log-level "
                + "request-log-days request-log-size alert-host config public-url host trusted-proxy request-rate connections user-quota public-quota "
                + "assets asset-size-web asset-size-app oidc-issuer oidc-client-id "
                + "oidc-client-secret-file oidc-name oidc-sign-up smtp smtp-password-file mail-from sms-webhook sms-token-file web-push-host origin json"
        ),
        Documented(
            "logs",
            "since until status code refused container environment database zone user operation client slower-than request limit "
                + "server-lines level format data server token-file"), Documented("why", "data server token-file json"),
        Documented("console", "role name no-open sign-out-all data server token-file json"),
        Documented("team add", "role data server token-file json"), Documented("team list", "data server token-file json"),
        Documented("team role", "role data server token-file json"), Documented("team remove", "data server token-file json"),
        Documented("team invite", "data server token-file json"), Documented("team passkeys", "data server token-file json"),
        Documented("team remove-passkey", "data server token-file json"), Documented("limits", "data server token-file json"),
        Documented("completions", ""), Documented("manual", "format"),
        Documented("backup create", "bandwidth data server token-file json"),
        Documented("mail show", "data server token-file json"), Documented("mail test", "data server token-file json"),
        Documented("backup list", "verify data server token-file json"),
        Documented("backup verify", "json"),
        Documented("assets download", "container environment database user zone owner index output-file data server token-file"),
        Documented("assets upload", "container environment database user zone owner record type field data server token-file"),
        Documented("assets verify", "data server token-file json"),
        Documented("assets collect", "dry-run data server token-file json"),
        Documented("backup restore", "data replace without-assets json"),
        Documented("migrate", "data dry-run no-migration-backup json"),
        Documented("demo", "data server token-file json"),
        Documented("container sharing", "name icon app fallback redirect data server token-file json"),
        Documented("container create", "just-in-time data server token-file json"),
        Documented("container delete", "backup no-backup yes data server token-file json"),
        Documented("container list", "data server token-file json"),
        Documented("container change", "just-in-time data server token-file json"),
        Documented("token create", "container environment kind name public-key administrator origin redirect expires data server token-file json"),
        Documented("token list", "container data server token-file json"),
        Documented("token rotate", "grace data server token-file json"),
        Documented("rate show", "container data server token-file json"),
        Documented("rate set", "container user all data server token-file json"),
        Documented("subscription list", "container environment database user data server token-file json"),
        Documented("subscription why", "container environment database user subscription zone owner data server token-file json"),
        Documented("webhook create", "container environment url type filter zone fields private data server token-file json"),
        Documented("webhook list", "container environment data server token-file json"),
        Documented("webhook show", "container environment data server token-file json"),
        Documented("webhook delete", "container environment yes data server token-file json"),
        Documented("webhook test", "container environment data server token-file json"),
        Documented("webhook resume", "container environment data server token-file json"),
        Documented("zone create", "container environment user data server token-file json"),
        Documented("zone resync", "container environment user data server token-file json"),
        Documented("user resync", "container environment user data server token-file json"),
        Documented("share create", "container environment user zone record title participant write public data server token-file json"),
        Documented("share manage", "container environment user zone record data server token-file json"),
        Documented("share list", "container environment user data server token-file json"),
        Documented("share who", "container environment user zone data server token-file json"),
        Documented("share show", "container environment format"), Documented("share accept", "container environment format"),
        Documented("share request", "container environment"),
        Documented("share leave", "container environment yes"),
        Documented("push apns set", "container environment key key-id team topic data server token-file json"),
        Documented("push apns show", "container data server token-file json"),
        Documented("push apns remove", "container environment data server token-file json"),
        Documented("token revoke", "yes data server token-file json"),
        Documented("user usage", "email data server token-file json"),
        Documented("user reset-password", "email link data server token-file json"),
        Documented("user act-as", "container data server token-file json"),
        Documented("user list", "data server token-file json"),
        Documented("user passkeys", "email data server token-file json"),
        Documented("user remove-passkey", "email data server token-file json"),
        Documented("user show", "email data server token-file json"),
        Documented("user delete", "email yes data server token-file json"),
        Documented("session list", "email data server token-file json"),
        Documented("session revoke", "email all data server token-file json"),
        Documented("quota show", "container environment data server token-file json"),
        Documented("quota set", "container environment user public data server token-file json"),
        Documented("usage", "container environment user data server token-file json"),
        Documented("role list", "container environment data server token-file json"),
        Documented("role assign", "container environment user key data server token-file json"),
        Documented("role revoke", "container environment user key data server token-file json"),
        Documented("role why", "container environment user key operation record type data server token-file json"),
        Documented("schema export", "container environment output-file data server token-file json"),
        Documented("schema validate", "container data server token-file json"),
        Documented("schema import", "container dry-run data server token-file json"),
        Documented("schema diff", "container environment data server token-file json"),
        Documented("schema deploy", "container dry-run data server token-file json"),
        Documented("schema counts", "container environment data server token-file json"),
        Documented("schema types", "typescript module container environment data server token-file json"), Documented("web sri", "url json"),
        Documented("schema indexes", "container environment data server token-file json"),
        Documented("schema index", "container queryable sortable searchable none type now pin unpin data server token-file json"),
        Documented("schema history", "container environment data server token-file json"),
        Documented("schema undo", "container dry-run data server token-file json"),
        Documented("schema reset", "container dry-run yes data server token-file json"),
        Documented("cktool save-token", "type method force"),
        Documented("cktool remove-token", "type method force"),
        Documented("cktool get-teams", ""),
        Documented("cktool export-schema", "team-id container-id environment output-file data server token-file"),
        Documented("cktool import-schema", "team-id container-id environment file validate data server token-file"),
        Documented("cktool validate-schema", "team-id container-id environment file data server token-file"),
        Documented("cktool reset-schema", "team-id container-id data server token-file"),
        Documented(
            "cktool create-record",
            "team-id container-id environment database-type zone-name data server record-type fields-json fields-file fields-stdin asset-files"),
        Documented(
            "cktool query-records",
            "team-id container-id environment database-type zone-name data server record-type filters sort-by requested-fields limit "
                + "continuation-token"),
        Documented("cktool delete-record", "team-id container-id environment database-type zone-name data server record-name"),
        Documented("cktool delete-records", "team-id container-id environment database-type zone-name data server record-type filters dry-run"),
        Documented("task list", "parked data server token-file json"),
        Documented("task retry", "all data server token-file json"),
        Documented("user create", "password-stdin given-name family-name data server token-file json"),
        Documented("user change-email", "email new-email data server token-file json"),
        Documented("user verify", "data server token-file json"),
        Documented("user change-name", "email given-name family-name data server token-file json"),
        Documented("user state", "email state data server token-file json"),
        Documented(
            "user sign-in", "password-stdin container environment api-token account keep-signed-in device data server json"),
        Documented("record query", "filter sort limit fields container environment database zone owner format"),
        Documented("record export", "csv json filter sort fields files container environment database zone owner"),
        Documented("record import", "csv json files dry-run container environment database zone owner"),
        Documented("record get", "fields container environment database zone owner format"),
        Documented("record put", "type set container environment database zone owner format"),
        Documented("record delete", "container environment database zone owner format yes"),
        Documented("zone list", "container environment database format"),
        Documented("zone changes", "container environment database zone owner format since"),
        Documented("database ask", "container environment database user data server token-file"),
        Documented("query explain", "container environment database user type filter sort zone owner zone-wide data server token-file json"),
        Documented("keys status", "container json"), Documented("keys devices", "container json"),
        Documented("keys remove", "container json"), Documented("keys reseal", "container json"),
        Documented("keys plain", "container json"), Documented("keys fingerprint", "container json"),
        Documented("keys enrol", "recovery container json"), Documented("keys approve", "container json"),
        Documented("keys recovery", "replace container json"), Documented("keys reset", "recovery container json"),
        Documented("explain", "markdown json"),
        Documented("up", "environment email env-file listen data server token-file config json"),
        Documented("run", "environment email env-file listen memory data server token-file config"),
        Documented("env", "env-file"),
        Documented("listen", "container device count"),
        Documented("agent", ""),
        Documented("exec", "container"),
        Documented("fault add", "count request user zone record retry-after seconds data server token-file json"),
        Documented("fault list", "data server token-file json"),
        Documented("fault clear", "data server token-file json"),
        Documented("version", "json"),
    ]

    @Test(arguments: documented)
    private func `the help of a command names each option, in both ways of asking`(command: Documented) async throws {
        let folder = try TemporaryFolder()
        let asked = try await Nacre.run(["help"] + command.path, in: folder.path)
        #expect(asked.status == 0 && asked.messages.isEmpty)
        #expect(asked.output.hasPrefix("OVERVIEW: "))
        #expect(asked.output.contains("USAGE: nacre \(command.path.joined(separator: " "))"))
        for option in command.options + ["-h, --help", "-q, --quiet"] { #expect(asked.output.contains("\n  \(option)"), "\(option)") }
        // Options missing in the list above would not be tested.
        let named = asked.output.split(separator: "\n").compactMap { line -> String? in
            line.hasPrefix("  --") ? String(line.dropFirst(2).prefix { $0 != " " }) : nil
        }
        #expect(Set(named) == Set(command.options))
        // One is short for the other: half of the commands are asked by each.
        let flag = asked.output.utf8.count.isMultiple(of: 2) ? "--help" : "-h"
        let flagged = try await Nacre.run(command.path + [flag], in: folder.path)
        #expect(flagged.status == 0 && flagged.output == asked.output)
    }

    @Test func `without a command, and for a noun alone, the subcommands are listed`() async throws {
        let folder = try TemporaryFolder()
        for arguments in [[], ["help"], ["--help"], ["help", "help"]] {
            let run = try await Nacre.run(arguments, in: folder.path)
            #expect(run.status == 0)
            for noun in ["serve", "demo", "container", "token", "user", "schema", "version"] { #expect(run.output.contains("\n  \(noun) ")) }
        }
        for (noun, verbs) in [
            ("container", ["create", "change"]), ("token", ["create"]), ("user", ["create", "sign-in"]),
            ("schema", ["export", "import", "validate", "deploy", "index", "reset"]), ("query", ["explain"]),
            ("backup", ["create", "verify", "restore"]), ("assets", ["verify", "collect"]),
        ] {
            let run = try await Nacre.run([noun], in: folder.path)
            #expect(run.status == 0)
            for verb in verbs { #expect(run.output.contains("\n  \(verb) ")) }
        }
    }

    @Test func `the version is one line, or one member`() async throws {
        let folder = try TemporaryFolder()
        let version = try await Nacre.run(["version"], in: folder.path)
        #expect(version.status == 0 && version.line.split(separator: ".").count == 3)
        #expect(try await Nacre.run(["--version"], in: folder.path).output == version.output)
        #expect(try await Nacre.run(["version", "--json"], in: folder.path).object()["version"] as? String == version.line)
    }

    @Test func `with --json an error is one object in a line, a wrong command line's too`() async throws {
        let folder = try TemporaryFolder()
        struct Report: Decodable {
            struct Fault: Decodable {
                var exitCode: Int32
                var message: String
                var remedy: String?
                var usage: String?
            }
            var error: Fault
        }
        for (arguments, status, says) in [
            (["container", "list", "--json"], 69, "no server runs"), (["container", "lst", "--json"], 64, "Did you mean 'list'?"),
            (["serve", "--listen", "nowhere", "--json"], 64, "HOST:PORT"),
        ] {
            let run = try await Nacre.run(arguments, in: folder.path)
            #expect(run.status == Int32(status) && run.output.isEmpty)
            let report = try JSONDecoder().decode(Report.self, from: Data(run.messages.utf8))
            #expect(report.error.exitCode == run.status && report.error.message.contains(says))
            #expect((report.error.usage == nil) == (status != 64) && report.error.remedy != nil)
            #expect(run.messages.hasSuffix("}\n") && run.messages.dropLast().allSatisfy { !$0.isNewline })
        }
    }

    private static let explain = ["query", "explain", "--container", "iCloud.a.b", "--environment", "development", "--database", "public"]

    private static let wrong: [(arguments: [String], says: String)] = [
        (["conatiner"], "Did you mean 'container'?"),
        (["container", "craete", "iCloud.a.b"], "Did you mean 'create'?"),
        (["serve", "--lisen", "127.0.0.1:0"], "Did you mean '--listen'?"),
        (["serve", "--listen"], "--listen"),
        (["serve", "--listen", "nowhere"], "HOST:PORT"),
        (["serve", "--log-level", "loud"], "--log-level"),
        (["serve", "--log-format", "xml"], "--log-format"),
        (["serve", "surplus"], "surplus"),
        (["container", "create"], "<name>"),
        (["container", "create", "iCloud.a.b", "iCloud.c.d"], "iCloud.c.d"),
        (["token", "create", "--container", "iCloud.a.b", "--kind", "api"], "--environment"),
        (["token", "create", "--container", "iCloud.a.b", "--environment", "staging", "--kind", "api"], "--environment"),
        (["user", "create", "ada@example.com"], "--password-stdin"),
        (["user", "sign-in", "ada@example.com", "--password-stdin"], "--api-token"),
        (["container", "create", "iCloud.a.b", "--server", "http://127.0.0.1:1"], "--token-file"),
        (["demo", "--data", "x", "--token-file", "y"], "--token-file"),
        (explain, "--type"), (explain + ["--type", "T", "--filter", "stars"], "--filter"),
        (explain + ["--type", "T", "--filter", "stars LIKE 1"], "FIELD OPERATOR VALUE; in its place take BEGINS_WITH"),
        (explain + ["--type", "T", "--filter", "tags contains a"], "LIST_CONTAINS for a value of a list"),
        (explain + ["--type", "T", "--filter", "stars ~ 1"], "FIELD OPERATOR VALUE. Operators: !=, <, <=, <>, =, ==, >, >=, EQUALS, NOT_EQUALS"),
        (explain + ["--type", "T", "--filter", "place NEAR here"], "LATITUDE,LONGITUDE,METRES"),
        (explain + ["--type", "T", "--sort", "stars up"], "--sort"),
        (explain + ["{}", "--type", "T"], "--type"), (explain + ["--database", "world", "--type", "T"], "--database"),
        (["schema", "export", "--container", "iCloud.a.b"], "--environment"),
        (["schema", "export", "--container", "iCloud.a.b", "--environment", "production", "--output-file", "a", "--json"], "exclude each other"),
        (["schema", "validate", "notes.ckdb", "--data", "x"], "--container"),
        (["schema", "index", "Note", "--container", "iCloud.a.b"], "<field>"),
        (["schema", "types", "notes.ckdb"], "--typescript"), (["schema", "types", "--typescript"], "<file>"),
        (["schema", "types", "--typescript", "--environment", "production", "notes.ckdb"], "--container"),
        (["schema", "types", "--typescript", "--container", "iCloud.a.b", "notes.ckdb"], "exclude each other"),
        (["schema", "deploy", "--container", "iCloud.a.b", "--queryable"], "--queryable"),
        (["schema", "index", "Note", "a", "--container", "iCloud.a.b", "--none", "--sortable"], "'--none' and '--sortable' exclude each other"),
        (["container", "create", "iCloud.a.b", "--just-in-time", "web"], "native or all"),
        (["container", "change", "iCloud.a.b"], "--just-in-time"), (["container", "delete", "iCloud.a.b"], "--backup"),
        (["container", "delete", "iCloud.a.b", "--backup", "x", "--no-backup"], "--no-backup"),
        (["cktool", "export-schema", "--container-id", "iCloud.a.b", "--environment", "staging"], "development or production"),
        (["cktool", "export-schema", "--environment", "development"], "--container-id"),
        (["cktool", "create-record", "--filters", "a"], "--filters"),
        (["backup", "create"], "<file>"), (["backup", "create", "x", "--bandwidth", "fast"], "--bandwidth"),
        (["backup", "restore", "x"], "--data"), (["serve", "--backup-every", "1h"], "--backup-dir"),
        (["serve", "--backup-dir", "x", "--backup-every", "1"], "--backup-every"),
        (["serve", "--backup-dir", "x", "--backup-keep", "0"], "--backup-keep"),
        (["serve", "--backup-dir", "x", "--memory"], "--memory"), (["serve", "--asset-size-web", "many"], "--asset-size-web"),
        (["serve", "--asset-size-app", "10G"], "--asset-size-app"),
        (["help", "nothing"], "nothing"), (["--verison"], "Did you mean '--version'?"), (["-v"], "Did you mean '--version'?"),
        (["container", "-v"], "-v"), (["serve", "--port", "8080"], "Did you mean '--listen'?"), (["completions", "tcsh"], "bash, zsh, fish"),
        (["serve", "--admin-listen", "0.0.0.0:9000"], "--insecure-admin"), (["serve", "--admin-listen", "[::]:0"], "--insecure-admin"),
        (["serve", "--console-allow", "10.0.0.0/8"], "--console-listen"),
        (["serve", "--console-url", "https://console.example.com/nacre"], "--console-url"), (["serve", "--console-url", "console"], "--console-url"),
        (["serve", "--console-listen", "127.0.0.1:0", "--console-allow", "10.0.0.0/33"], "--console-allow"),
        (["run", "iCloud.a.b"], "<command>"), (["up", "iCloud.a.b", "--port", "8080"], "Did you mean '--listen'?"),
    ]

    @Test(arguments: wrong)
    func `a wrong command line ends with 64 and says what is wrong`(arguments: [String], says: String) async throws {
        let folder = try TemporaryFolder()
        let run = try await Nacre.run(arguments, in: folder.path)
        #expect(run.status == 64)
        #expect(run.output.isEmpty)
        let isJSON = arguments.contains("--json")
        #expect(run.messages.hasPrefix(isJSON ? "{\"error\":" : "Error: ") && run.messages.contains(says), "\(run.messages)")
        if isJSON {
            #expect(run.messages.contains("\"usage\":\"nacre"))
        } else {
            let lines = run.messages.split(separator: "\n")
            #expect(lines.count == 2 && lines.last?.hasPrefix("  See nacre") == true && lines.last?.hasSuffix(" --help.") == true, "\(run.messages)")
        }
    }
}
