import Foundation
import NacreCloudTestSupport
import NacreTelemetry
import Testing

@testable import NacreCloudServer

/// Tests of `GET /metrics` on the admin listener, over a socket.
@Suite(.timeLimit(.minutes(5))) struct MetricsTests {
    private func running(_ body: (TestServer, _ publicPort: Int, _ admin: AdminFile, _ adminPort: Int) async throws -> Void) async throws {
        let server = try await TestServer()
        let port = try await server.startListening()
        let admin = try AdminFile.read(folder: server.folder.path)
        let adminPort = try #require(ListenAddress(String(admin.url.dropFirst("http://".count)))).port
        try await body(server, port, admin, adminPort)
        await server.server.shutdown()
    }

    @Test func `metrics count what happened, and are on the admin listener alone`() async throws {
        try await running { (server, port, admin, adminPort) async throws in
            for _ in 0..<3 { #expect(try await ask(Question(method: "GET", target: "/healthz"), port: port).status == 200) }
            #expect(try await ask(Question(method: "GET", target: "/metrics"), port: port).status == 404)
            let answer = try await ask(Question(method: "GET", target: "/metrics"), port: adminPort)
            #expect(answer.status == 200 && answer.header("Content-Type") == "text/plain; version=0.0.4; charset=utf-8")
            for line in [
                "# TYPE nacre_http_requests_total counter",
                "nacre_http_requests_total{status=\"2xx\"} 3", "nacre_http_requests_total{status=\"4xx\"} 1",
                "# TYPE nacre_http_request_duration_seconds histogram", "nacre_http_body_bytes 0", "nacre_overloaded_total{kind=\"bodies\"} 0",
                "# TYPE process_resident_memory_bytes gauge", "# TYPE process_cpu_seconds_total counter",
            ] {
                #expect(answer.text.split(separator: "\n").contains { $0 == line }, "\(line) in \(answer.text)")
            }
            #expect(!answer.text.contains(admin.token) && !answer.text.contains(server.names["api"] ?? "?"))
        }
    }

    @Test func `a page that leads a name of its own to loopback gets no metrics, and the token opens them`() async throws {
        try await running { (_, _, admin, adminPort) async throws in
            let local = ["127.0.0.1:\(adminPort)", "localhost", "[::1]:1"]
            for (host, status) in local.map({ ($0, 200) }) + [("evil.example", 401), ("127.0.0.1.evil", 401)] {
                let question = Question(method: "GET", target: "/metrics", headers: ["Host": host])
                #expect(try await ask(question, port: adminPort).status == status, "\(host)")
            }
            let question = Question(
                method: "GET", target: "/metrics", headers: ["Host": "evil.example", "Authorization": "Bearer \(admin.token)"])
            #expect(try await ask(question, port: adminPort).status == 200)
            #expect(try await ask(Question(method: "GET", target: "/admin/1/server"), port: adminPort).status == 401)
        }
    }

    @Test(.enabled(if: mayRun(Promtool.path != nil), "promtool is missing: apt-get install prometheus"))
    func `promtool finds nothing wrong with the metrics of a busy server`() async throws {
        let text = try await BusyServer.metrics.value
        let (status, output) = try await Promtool.run(["check", "metrics"], input: text)
        #expect(status == 0 && output == "", "\(output)")
        let (broken, _) = try await Promtool.run(["check", "metrics"], input: text + "nacre_no_help_total 1\nnonsense")
        #expect(broken != 0, "it does read them")
    }

    @Test func `each metric of a busy server has a row in the page of metrics, and each row a metric`() async throws {
        let page = try String(contentsOf: Repository.url.appending(path: "docs/metrics.md"), encoding: .utf8)
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `") }
        let metrics = MetricText(try await BusyServer.metrics.value).metrics
        let wanted = metrics.map {
            "| `\($0.name)` | \($0.kind) | \($0.labels.map { "`\($0)`" }.joined(separator: ", ")) | \($0.unit) | \($0.help) |"
        }
        let (missing, needless) = (wanted.filter { !rows.contains(Substring($0)) }, rows.filter { !wanted.contains(String($0)) })
        #expect(missing.isEmpty, "docs/metrics.md lacks:\n\(missing.joined(separator: "\n"))")
        #expect(needless.isEmpty, "docs/metrics.md has, and the server does not:\n\(needless.joined(separator: "\n"))")
    }

    @Test func `requests and errors are counted by operation, and no client chooses a label or finds a name there`() async throws {
        let text = try await BusyServer.metrics.value
        for line in [
            #"nacre_requests_total{operation="records/modify",status="2xx"} 1"#, #"nacre_requests_total{operation="records/query",status="4xx"} 1"#,
            #"nacre_requests_total{operation="other",status="4xx"} 3"#, #"nacre_requests_total{operation="account/sign-in",status="2xx"} 1"#,
            #"nacre_request_errors_total{operation="records/query",code="BAD_REQUEST"} 1"#,
            #"nacre_request_duration_seconds_count{operation="records/modify"} 1"#, "nacre_backup_failing 0", "nacre_tasks_parked 0",
            #"nacre_webhook_lag_seconds{webhook="other"} 0.0"#,
            #"nacre_tasks_due{lane="push"} 0"#, #"nacre_push_messages_total{service="apple",outcome="taken"} 0"#,
            #"nacre_store_errors_total{code="full"} 0"#,
        ] {
            #expect(text.split(separator: "\n").contains { $0 == line }, "\(line)")
        }
        for (name, least) in [
            ("nacre_http_received_bytes_total", 1000), ("nacre_http_sent_bytes_total", 1000), ("nacre_store_commit_duration_seconds_count", 3),
            (#"nacre_store_events_total{event="commits"}"#, 3), (#"nacre_database_bytes{file="database"}"#, 4096), ("nacre_disk_free_bytes", 1),
        ] {
            let value = text.split(separator: "\n").first { $0.hasPrefix(name + " ") }.flatMap { Double($0.dropFirst(name.count + 1)) }
            #expect(try #require(value, "\(name)") >= Double(least), "\(name)")
        }
        for name in BusyServer.names { #expect(!text.contains(name), "\(name)") }
    }

    @Test func `a bounded number of webhooks has a series, and other has the largest lag of the rest`() {
        #expect(Metrics.levels(ofLags: [:]) == ["other": 0])
        let lags = Dictionary(uniqueKeysWithValues: (1...40).map { ("webhook\($0)", Double($0)) })
        let levels = Metrics.levels(ofLags: lags)
        #expect(levels.count == 17 && levels["webhook40"] == 40_000_000_000 && levels["webhook24"] == nil && levels["other"] == 24_000_000_000)
        #expect(Metrics.levels(ofLags: ["damaged": .infinity])["damaged"] == .max)
    }

    @Test(arguments: [
        ("/database/1/:container/:environment/:database/records/modify", "records/modify"),
        ("/database/1/:container/:environment/tokens/create", "tokens/create"), ("/device/1/:container/:environment/notifications", "notifications"),
        ("/account/1/sessions/list", "account/sessions/list"), ("/assets/1/upload/:token", "assets/1/upload"),
        ("/assets/1/download/:token/:name", "assets/1/download"), ("/healthz", nil), ("none", nil), ("/", nil),
    ])
    func `an operation is read off a route`(_ route: String, _ operation: String?) {
        #expect(FinishedRequest.operation(ofRoute: route) == operation)
    }
}

/// Debian's promtool.
enum Promtool {
    static let path = ["/usr/bin/promtool", "/usr/local/bin/promtool"].first { FileManager.default.isExecutableFile(atPath: $0) }

    static func run(_ arguments: [String], input: String = "") async throws -> (status: Int32, output: String) {
        let tool = Program(try #require(path, "promtool is missing: apt-get install prometheus"), arguments)
        let (status, output) = try await tool.run(input: Array(input.utf8), keepsErrors: true)
        return (status, String(decoding: output, as: UTF8.self))
    }
}

/// The folder of this repository.
enum Repository {
    static let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardizedFileURL
}

/// The metrics of a text, in its order.
struct MetricText {
    struct Metric: Hashable {
        var name: String
        var help: String
        var kind: String
        var labels: [String] = []

        /// The unit that Prometheus' naming gives: the last part of the name, before `_total`.
        var unit: String {
            let parts = name.split(separator: "_").filter { $0 != "total" }
            return parts.last.map(String.init).flatMap { ["seconds", "bytes"].contains($0) ? $0 : nil } ?? ""
        }
    }

    private(set) var metrics: [Metric] = []

    init(_ text: String) {
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 3).map(String.init)
            if line.hasPrefix("# HELP ") {
                metrics.append(Metric(name: words[2], help: words[3], kind: ""))
            } else if let last = metrics.indices.last {
                if line.hasPrefix("# TYPE ") {
                    metrics[last].kind = words[3]
                } else if let labels = line.firstMatch(of: /\{(.*)\}/)?.1 {
                    metrics[last].labels = labels.matches(of: /(\w+)="/).map { String($0.1) }.filter { $0 != "le" }
                }
            }
        }
    }
}

/// A whole server over SQLite that has done some of everything.
enum BusyServer {
    /// Names of users, zones, records, types and places, which no metric may have.
    static let names = ["ada@", "Workzone", "secret-note", "Diary", "iCloud.busy.server", "127.0.0.1", "made-up"]
    /// The text of its `/metrics`.
    static let metrics = Task {
        let (folder, backups) = (try TemporaryFolder(), try TemporaryFolder())
        var configuration = NacreCloudServer.ServerConfiguration(dataFolder: folder.path, logger: .silent)
        configuration.listen = ListenAddress(host: "127.0.0.1", port: 0)
        configuration.opensSignUp = true
        configuration.backups = BackupSchedule(folder: backups.path, everySeconds: 3600, keep: 1)
        let server = Server(configuration)
        let addresses = try await server.start()
        let (port, adminPort) = (try portOf(addresses.localURL), try portOf(addresses.adminURL))
        let bearer = ["Authorization": "Bearer \(try AdminFile.read(folder: folder.path).token)"]
        func post(_ target: String, _ body: String, _ headers: [String: String] = [:], to port: Int) async throws -> JSON? {
            let answer = try await ask(Question(method: "POST", target: target, headers: headers, body: Array(body.utf8)), port: port)
            return answer.json
        }
        let container = "iCloud.busy.server"
        _ = try await post("/admin/1/containers", #"{"name":"\#(container)","justInTime":"all"}"#, bearer, to: adminPort)
        let made = try await post(
            "/admin/1/tokens", #"{"container":"\#(container)","environment":"development","kind":"api"}"#, bearer, to: adminPort)
        let token = try #require(made?["token"]?.text, "\(String(describing: made))")
        let account = #"{"email":"ada@example.com","password":"correct horse battery","#
        _ = try await post("/account/1/sign-up", account + #""givenName":"Ada"}"#, to: port)
        let signedIn = try await post(
            "/account/1/sign-in", account + #""apiToken":"\#(token)","container":"\#(container)","environment":"development"}"#, to: port)
        let session = try #require(
            signedIn?["token"]?.text?.addingPercentEncoding(withAllowedCharacters: .alphanumerics), "\(String(describing: signedIn))")
        func call(_ path: String, _ body: String) async throws {
            let target = "/database/1/\(container)/development/private/\(path)?ckAPIToken=\(token)&ckWebAuthToken=\(session)"
            _ = try await post(target, body, to: port)
        }
        try await call("zones/modify", #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Workzone"}}}]}"#)
        try await call(
            "records/modify",
            #"{"zoneID":{"zoneName":"Workzone"},"operations":[{"operationType":"create","#
                + #""record":{"recordName":"secret-note","recordType":"Diary"}}]}"#
        )
        try await call("records/query", #"{"query":{}}"#)
        try await call("records/lookup", #"{"records":[{"recordName":"made-up"}]}"#)
        for target in ["/made-up", "/database/1/\(container)/development/private/made-up", "/made-up?x=1"] {
            _ = try await ask(Question(method: "GET", target: target), port: port)
        }
        var text = ""
        // The first backup and the first search through the files of assets end after the start.
        while !text.contains("nacre_asset_bytes ") || !text.contains(/nacre_backup_last_success_timestamp_seconds [1-9]/) {
            text = try await ask(Question(method: "GET", target: "/metrics"), port: adminPort).text
        }
        await server.shutdown()
        return text
    }

    private static func portOf(_ url: String) throws -> Int { try #require(ListenAddress(String(url.dropFirst("http://".count)))).port }
}
