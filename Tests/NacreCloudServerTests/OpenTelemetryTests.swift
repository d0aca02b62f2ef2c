import Foundation
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer
import NacreLocks
import NacreTelemetry
import Testing

@testable import NacreCloudServer

/// Tests of traces and metrics for a collector, which is a socket of the test.
@Suite(.timeLimit(.minutes(2))) struct OpenTelemetryTests {
    private static let traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let parent = ["traceparent": "00-\(traceID)-00f067aa0ba902b7-01", "tracestate": "a=1"]

    /// A server whose spans go to a collector.
    private struct Scene {
        let server: TestServer
        let collector: PushService
        let telemetry = Telemetry()
        let exporter: TraceExporter

        /// - Parameter environment: more variables than the endpoint.
        init(_ environment: [String: String] = ["OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"]) async throws {
            (server, collector) = (try await TestServer(), try PushService())
            let configuration = try #require(
                OpenTelemetryConfiguration(environment: environment.merging(["OTEL_EXPORTER_OTLP_ENDPOINT": collector.url]) { $1 }))
            #expect(configuration.faults.isEmpty)
            var ofServer = NacreCloudServer.ServerConfiguration(dataFolder: server.folder.path, logger: server.log.logger)
            (ofServer.clock, ofServer.publicURL) = (server.clock.serverClock, "https://notes.example.com")
            exporter = try #require(OpenTelemetry(configuration, of: ofServer, telemetry).traces)
        }

        /// Answers a request by the server's routes, with spans.
        @discardableResult func respond(_ question: Question) async -> Answer {
            let hub = ChangeHub(sleep: server.clock.serverClock.sleep)
            let router = server.server.publicRouter(
                server.cloud, server.authenticator, hub, PasswordHasher(cost: .least), observers: [exporter]
            ) { true }
            return Answer(await router.respond(to: question.inProcess))
        }

        /// Has a span made of a request of which nothing is measured but its length.
        func observe() {
            let request = Question(method: "GET", target: "/healthz").inProcess
            exporter.observe(FinishedRequest(request, HTTPResponse(.ok), WorkMeter(), ended: server.clock.now, took: .seconds(1)))
        }

        func lookup(_ headers: [String: String] = [:]) async -> Answer {
            let target = "/database/1/\(TestServer.container)/development/private/records/lookup"
            let query = "ckAPIToken=\(server.names["api"] ?? "")&ckWebAuthToken=\(server.names["ada.escaped"] ?? "")"
            return await respond(
                Question(
                    method: "POST", target: target + "?" + query, headers: headers, body: Array(#"{"records":[{"recordName":"secret-note"}]}"#.utf8)))
        }

        func end() async {
            await exporter.stop()
            collector.close()
        }
    }

    private func attributes(_ json: JSON?) -> [String: String] {
        guard case .array(let all) = json else { return [:] }
        return Dictionary(
            all.compactMap { one in
                (one["key"]?.text).flatMap { key in (one.at("value.stringValue") ?? one.at("value.intValue"))?.text.map { (key, $0) } }
            }, uniquingKeysWith: { first, _ in first })
    }

    @Test func `a request is a span in its caller's trace, with no user, record, address or query`() async throws {
        let scene = try await Scene([
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b", "OTEL_SERVICE_NAME": "notes",
            "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test,service.name=other",
        ])
        let answer = await scene.lookup(Self.parent)
        await scene.end()
        let seen = try #require(scene.collector.seen.first)
        #expect(seen.target == "/v1/traces" && seen.headers["Content-Type"] == "application/json" && seen.headers["X-Key"] == "a b")
        let json = try JSON(seen.body)
        let resource = attributes(json.at("resourceSpans[0].resource.attributes"))
        #expect(resource["service.name"] == "notes" && resource["deployment.environment.name"] == "test" && resource["service.version"] != nil)
        let span = try #require(json.at("resourceSpans[0].scopeSpans[0].spans[0]"))
        #expect(span["traceId"]?.text == Self.traceID && span["parentSpanId"]?.text == "00f067aa0ba902b7" && span["traceState"]?.text == "a=1")
        #expect(span["spanId"]?.text?.count == 16 && span["kind"] == .number(2) && span["status"] == nil)
        let route = "/database/1/:container/:environment/:database/records/lookup"
        #expect(span["name"]?.text == "POST \(route)")
        #expect(
            attributes(span["attributes"]) == [
                "http.request.method": "POST", "http.route": route, "http.response.status_code": "200", "url.scheme": "https",
                "nacre.request_id": answer.header("X-Request-Id") ?? "", "nacre.operation": "records/lookup", "nacre.container": TestServer.container,
                "nacre.environment": "development", "nacre.database": "private",
            ])
        let end = UInt64((scene.server.clock.now.secondsSince2001 + 978_307_200) * 1e9)
        #expect(span["endTimeUnixNano"]?.text == String(end))
        #expect(try #require(span["startTimeUnixNano"]?.text.flatMap { UInt64($0) }) < end)
        let text = String(decoding: seen.body, as: UTF8.self)
        for name in ["secret-note", "ada@example.com", "ckAPIToken", scene.server.names["ada.name"] ?? "?"] {
            #expect(!text.contains(name), "\(name)")
        }
    }

    @Test func `a path that names nothing of the server gives no attribute, and a trace begins with the request's ID`() async throws {
        let scene = try await Scene()
        let answer = await scene.respond(Question(method: "BREW", target: "/database/1/not%20a%20container/made-up/secret/x?y=z"))
        await scene.end()
        let seen = try #require(scene.collector.seen.first)
        let span = try #require(try JSON(seen.body).at("resourceSpans[0].scopeSpans[0].spans[0]"))
        #expect(span["name"]?.text == "_OTHER" && span["parentSpanId"] == nil)
        #expect(span["traceId"]?.text == answer.header("X-Request-Id")?.replacingOccurrences(of: "-", with: ""))
        let known = attributes(span["attributes"])
        #expect(Set(known.keys).isDisjoint(with: ["http.route", "nacre.container", "nacre.environment", "nacre.database"]), "\(known)")
    }

    @Test func `what was measured of a request is a span below it, within its time`() throws {
        let meter = WorkMeter()
        meter.note { ($0.waited, $0.stored, $0.encoded) = (.milliseconds(10), .milliseconds(20), .seconds(9)) }
        let request = FinishedRequest(
            Question(method: "GET", target: "/").inProcess, HTTPResponse(.internalServerError), meter,
            ended: Timestamp(millisecondsSince1970: 1000), took: .milliseconds(100))
        let ids = Locked(UInt64(0))
        let spans = RequestSpans(request, try #require(request.trace), scheme: "http") {
            ids.withLock { id in
                id += 1
                return id
            }
        }.all
        #expect(spans.map(\.name) == ["GET", "wait", "store", "encode"] && spans.map(\.hasFailed) == [true, false, false, false])
        #expect(spans.map(\.parentID) == [nil, 1, 1, 1] && spans.map(\.id) == [1, 2, 3, 4])
        #expect(spans.map { [$0.start / 1_000_000, $0.end / 1_000_000] } == [[900, 1000], [900, 910], [910, 930], [930, 1000]])
    }

    @Test func `the log of a request names the trace that a client sends, and CORS allows its headers`() async throws {
        let server = try await TestServer()
        let target = "/database/1/\(TestServer.container)/development/public/records/query"
        _ = await server.respond(Question(method: "POST", target: target, headers: Self.parent))
        _ = await server.respond(Question(method: "POST", target: target, headers: ["traceparent": "00-malformed"]))
        let lines = server.log.objects("request")
        #expect(lines.map { $0["trace_id"] } == [.string(Self.traceID), nil])
        let preflight = await server.respond(Question(method: "OPTIONS", target: target, headers: ["Origin": "https://example.com"]))
        #expect(preflight.header("Access-Control-Allow-Headers")?.contains("traceparent, tracestate") == true)
    }

    @Test func `a collector that is busy is asked again after the pause that it names, and the spans are sent once`() async throws {
        let scene = try await Scene(["OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"])
        scene.collector.answerNext(.init(status: 503, headers: ["Retry-After": "7"]), .init(status: 200))
        _ = await scene.lookup()
        scene.exporter.start()
        await scene.server.clock.sleeps(for: 5)
        scene.server.clock.advance(5)
        await scene.server.clock.sleeps(for: 7)
        scene.server.clock.advance(7)
        // The next rest begins once the batch is taken.
        await scene.server.clock.sleeps(for: 5)
        await scene.end()
        let seen = scene.collector.seen
        #expect(seen.count == 2 && seen[0].body == seen[1].body)
        #expect(seen[0].headers["Content-Encoding"] == "gzip" && seen[0].headers["Content-Type"] == "application/x-protobuf")
        #expect(seen[0].body.prefix(2) == [0x1f, 0x8b])
        #expect(scene.telemetry.counter(.otlpDropped, "traces").value == 0)
    }

    @Test func `a full batch is sent at once, and one that waits for a busy collector is sent once more at the end`() async throws {
        let scene = try await Scene(["OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "2"])
        scene.collector.answerNext(.init(status: 503, headers: ["Retry-After": "30"]))
        scene.exporter.start()
        await scene.server.clock.sleeps(for: 5)
        for _ in 0..<2 { scene.observe() }
        await scene.server.clock.sleeps(for: 30)
        await scene.end()
        let seen = scene.collector.seen
        #expect(seen.count == 2 && seen[0].body == seen[1].body && scene.telemetry.counter(.otlpDropped, "traces").value == 0)
    }

    @Test func `spans that are never taken or find the queue full are counted, and told once until some are taken`() async throws {
        let scene = try await Scene(["OTEL_BSP_MAX_QUEUE_SIZE": "2", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1"])
        scene.collector.answerNext(.init(status: 400), .init(status: 200), .init(status: 400))
        for _ in 0..<3 { scene.observe() }
        let dropped = scene.telemetry.counter(.otlpDropped, "traces")
        // No export has begun: the queue holds two.
        #expect(dropped.value == 1)
        await scene.exporter.stop()
        #expect(dropped.value == 2 && scene.server.log.objects("Telemetry is dropped: the OpenTelemetry collector does not take it").count == 1)
        await scene.exporter.stop()
        #expect(dropped.value == 2 && scene.collector.seen.count == 2)
        scene.observe()
        await scene.end()
        #expect(dropped.value == 3 && scene.server.log.objects("Telemetry is dropped: the OpenTelemetry collector does not take it").count == 2)
    }

    @Test func `spans that a collector rejects of an export that it takes are counted, and told once until it takes a whole one`() async throws {
        let scene = try await Scene(["OTEL_EXPORTER_OTLP_PROTOCOL": "http/json", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1"])
        let partial = #"{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}"#
        let whole = #"{"partialSuccess":{"errorMessage":"a warning"}}"#
        for body in [partial, partial, whole, partial] { scene.collector.answerNext(.init(status: 200, body: body)) }
        let dropped = scene.telemetry.counter(.otlpDropped, "traces")
        var told: [Int] = []
        for _ in 0..<4 {
            scene.observe()
            await scene.exporter.stop()
            told.append(scene.server.log.objects("Telemetry is dropped: the OpenTelemetry collector does not take it").count)
        }
        #expect(dropped.value == 6 && told == [1, 1, 1, 2] && scene.collector.seen.count == 4)
        let line = scene.server.log.objects("Telemetry is dropped: the OpenTelemetry collector does not take it").first
        #expect(line?["reason"] == .string("rejected: too old"))
        await scene.end()
    }

    @Test(
        arguments: [
            ([], nil), ([0x0a, 0x00], nil), ([0x0a, 0x02, 0x08, 0x05], 5), ([0x0a, 0x05, 0x08, 0xac, 0x02, 0x12, 0x00], 300),
            // A warning, a negative number, a number too large, and a field that is new.
            ([0x0a, 0x03, 0x12, 0x01, 0x61], nil), ([0x0a, 0x0b, 0x08] + [UInt8](repeating: 0xff, count: 9) + [0x01], nil),
            ([0x0a, 0x0a, 0x08] + [UInt8](repeating: 0xff, count: 8) + [0x7f], Int(Int32.max)), ([0x15, 0, 0, 0, 0, 0x0a, 0x02, 0x08, 0x05], 5),
            // Malformed.
            ([0x0a, 0x09, 0x08, 0x05], nil), ([0xff], nil), ([0x0a, 0x02, 0x08, 0x85], nil), ([0x0b, 0x0a, 0x02, 0x08, 0x05], nil),
        ] as [([UInt8], Int?)])
    func `the rejected number is read from a collector's answer, and an unreadable answer counts as none`(body: [UInt8], rejected: Int?) {
        #expect(OTLPPartialSuccess(body, isJSON: false)?.rejected == rejected)
        #expect(OTLPPartialSuccess(body, isJSON: true) == nil)
    }

    @Test(
        arguments: [
            ("always_on", nil, [true, true, true]), ("always_off", nil, [false, false, false]), ("parentbased_always_on", nil, [true, false, true]),
            ("parentbased_always_off", nil, [true, false, false]), ("traceidratio", "0", [false, false, false]),
            ("parentbased_traceidratio", "0.9", [true, false, true]), ("parentbased_traceidratio", "0.2", [true, false, false]),
        ] as [(String, String?, [Bool])])
    func `a sampler takes a caller's sampled trace, one that is not, and one that begins here`(
        _ name: String, _ ratio: String?, _ taken: [Bool]
    ) throws {
        var environment = ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_TRACES_SAMPLER": name]
        environment["OTEL_TRACES_SAMPLER_ARG"] = ratio
        let sampler = try #require(OpenTelemetryConfiguration(environment: environment)).sampler
        let traces = [
            TraceContext(parent: ["00-\(Self.traceID)-00f067aa0ba902b7-01"], state: []),
            TraceContext(parent: ["00-\(Self.traceID)-00f067aa0ba902b7-00"], state: []),
            // The last seven bytes are half of their most.
            TraceContext(beginning: "4bf92f35-77b3-4da6-a380-000000000000"),
        ]
        #expect(try traces.map { sampler.takes(try #require($0)) } == taken)
    }

    @Test func `the standard variables say where and how telemetry goes`() throws {
        #expect(OpenTelemetryConfiguration(environment: [:]) == nil)
        let endpoint = ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318/"]
        #expect(OpenTelemetryConfiguration(environment: endpoint.merging(["OTEL_SDK_DISABLED": "true"]) { $1 }) == nil)
        let usual = try #require(OpenTelemetryConfiguration(environment: endpoint))
        #expect(usual.traces?.url == "http://collector:4318/v1/traces" && usual.metrics?.url == "http://collector:4318/v1/metrics")
        #expect(usual.traces?.timeout == .seconds(10) && usual.traces?.isJSON == false && usual.queueSpans == 2048 && usual.batchSpans == 512)
        #expect(usual.delay == .seconds(5) && usual.metricInterval == .seconds(60) && usual.service == "nacre" && usual.faults.isEmpty)
        let own = try #require(
            OpenTelemetryConfiguration(
                environment: endpoint.merging([
                    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://traces.example.com/in", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json",
                    "OTEL_METRICS_EXPORTER": "none", "OTEL_EXPORTER_OTLP_TIMEOUT": "2500", "OTEL_BSP_SCHEDULE_DELAY": "100",
                    "OTEL_BSP_MAX_QUEUE_SIZE": "100", "OTEL_EXPORTER_OTLP_CERTIFICATE": "/ca.pem",
                ]) { $1 }))
        #expect(own.traces?.url == "https://traces.example.com/in" && own.traces?.isJSON == true && own.metrics == nil)
        #expect(own.traces?.timeout == .milliseconds(2500) && own.delay == .milliseconds(100) && own.authorityFile == "/ca.pem")
        #expect(own.queueSpans == 100 && own.batchSpans == 100)
    }

    @Test(arguments: [
        ["OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"], ["OTEL_EXPORTER_OTLP_TIMEOUT": "soon"], ["OTEL_TRACES_SAMPLER": "mine"],
        ["OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "2"], ["OTEL_EXPORTER_OTLP_HEADERS": "secret"],
        ["OTEL_BSP_MAX_QUEUE_SIZE": "0"], ["OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4318"], ["OTEL_TRACES_EXPORTER": "zipkin"],
    ])
    func `a value that is not understood is named, and counts as not set`(_ environment: [String: String]) throws {
        let endpoint = ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"]
        let configuration = try #require(OpenTelemetryConfiguration(environment: endpoint.merging(environment) { $1 }))
        let fault = try #require(configuration.faults.first)
        #expect(environment.keys.contains { fault.hasPrefix($0) } && !fault.contains("secret"), "\(fault)")
        #expect(configuration.traces?.isJSON != true && configuration.sampler.ratio == 1 && configuration.queueSpans == 2048)
    }

    @Test func `a server sends its metrics now and then, and its last spans at its end`() async throws {
        let (folder, collector, clock) = (try TemporaryFolder(), try PushService(), TestClock())
        defer { collector.close() }
        var configuration = NacreCloudServer.ServerConfiguration(dataFolder: folder.path, logger: .silent)
        configuration.listen = ListenAddress(host: "127.0.0.1", port: 0)
        configuration.clock = clock.serverClock
        configuration.openTelemetry = OpenTelemetryConfiguration(
            environment: [
                "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json", "OTEL_BSP_SCHEDULE_DELAY": "99999",
                "OTEL_METRIC_EXPORT_INTERVAL": "61000",
            ])
        let server = Server(configuration)
        let addresses = try await server.start()
        let port = try #require(ListenAddress(String(addresses.localURL.dropFirst("http://".count)))).port
        #expect(try await ask(Question(method: "GET", target: "/healthz"), port: port).status == 200)
        await clock.sleeps(for: 61)
        clock.advance(61)
        // The next pause begins once the metrics are sent.
        await clock.sleeps(for: 61)
        await server.shutdown()
        let targets = collector.seen.map(\.target)
        #expect(targets.contains("/v1/metrics") && targets.last == "/v1/traces", "\(targets)")
        let json = try JSON(try #require(collector.seen.first { $0.target == "/v1/metrics" }).body)
        var metrics: [JSON] = []
        if case .array(let all) = json.at("resourceMetrics[0].scopeMetrics[0].metrics") { metrics = all }
        func metric(_ name: String) throws -> JSON { try #require(metrics.first { $0["name"]?.text == name }, "\(name)") }
        let requests = try metric("nacre_requests_total")
        #expect(requests.at("sum.isMonotonic") == .bool(true) && requests.at("sum.aggregationTemporality") == .number(2))
        let duration = try metric("nacre_request_duration_seconds")
        #expect(duration["unit"]?.text == "s" && duration.at("histogram.dataPoints[0].count")?.text == "1")
        #expect(try metric("nacre_disk_free_bytes").at("gauge.dataPoints[0].asInt")?.text != nil)
    }
}
