import Foundation
import NacreCloudTestSupport
import NacreTelemetry
import Testing

/// Tests of what collectors are sent with OpenTelemetry's own messages: `make otlp` installs them, and names their
/// Python.
@Suite(.enabled(if: OTLPPython.path != nil, "NACRE_OTLP_PYTHON names no Python; see `make otlp`"))
struct IndependentOTLPTests {
    private static let resource = OTLPResource(attributes: [("service.name", .text("nacre")), ("number", .integer(-7))], version: "1.0")

    private func read(_ signal: String, _ form: String, _ bytes: [UInt8]) async throws -> JSON {
        let folder = try TemporaryFolder()
        let file = folder.path + "/request"
        try Data(bytes).write(to: URL(filePath: file))
        let script = Repository.url.appending(path: "Scripts/otlp/read").path
        let (status, output) = try await Program(try #require(OTLPPython.path), [script, signal, form, file]).run(input: [], keepsErrors: true)
        try #require(status == 0, "\(String(decoding: output, as: UTF8.self))")
        return try JSON(output)
    }

    @Test func `OpenTelemetry reads the same spans in both forms`() async throws {
        let trace = try #require(
            TraceContext(parent: ["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"], state: ["a=1"]))
        var span = OTLPSpan(trace: trace, id: 0xab, parentID: trace.parentID, name: "GET /x", kind: .server, start: 5, end: .max)
        span.attributes = [("text", .text("ü\"")), ("number", .integer(.min))]
        span.hasFailed = true
        let message = Self.resource.traces([span, OTLPSpan(trace: trace, id: 1, parentID: 0xab, name: "store", kind: .internal, start: 6, end: 7)])
        let json = try await read("traces", "json", message.json)
        #expect(try await read("traces", "protobuf", message.protobuf) == json)
        let first = try #require(json.at("resourceSpans[0].scopeSpans[0].spans[0]"))
        #expect(first["traceId"]?.text == trace.traceID && first["spanId"]?.text == "00000000000000ab" && first["traceState"]?.text == "a=1")
        #expect(first["parentSpanId"]?.text == "00f067aa0ba902b7" && first["kind"]?.text == "SPAN_KIND_SERVER")
        #expect(first["endTimeUnixNano"]?.text == "18446744073709551615" && first.at("status.code")?.text == "STATUS_CODE_ERROR")
        #expect(first.at("attributes[0].value.stringValue")?.text == "ü\"")
        #expect(first.at("attributes[1].value.intValue")?.text == String(Int64.min))
        #expect(json.at("resourceSpans[0].resource.attributes[1].value.intValue")?.text == "-7")
        #expect(json.at("resourceSpans[0].scopeSpans[0].spans[1].name")?.text == "store")
    }

    @Test func `OpenTelemetry reads the same metrics in both forms`() async throws {
        let telemetry = Telemetry()
        telemetry.counter(MetricKey("nacre_a_total", help: "A.", label: "kind"), "x").add(3)
        telemetry.gauge(MetricKey("nacre_b_seconds", help: "B.", unit: .seconds)).set(-1_500_000_000)
        telemetry.gauge(MetricKey("nacre_c", help: "C.")).set(-2)
        telemetry.histogram(MetricKey("nacre_d_seconds", help: "D.", unit: .seconds)).record(.milliseconds(1))
        let message = Self.resource.metrics(telemetry.snapshot, started: 1, now: 2)
        let json = try await read("metrics", "json", message.json)
        #expect(try await read("metrics", "protobuf", message.protobuf) == json)
        func metric(_ index: Int) throws -> JSON { try #require(json.at("resourceMetrics[0].scopeMetrics[0].metrics[\(index)]")) }
        let count = try metric(0)
        #expect(count.at("sum.dataPoints[0].asInt")?.text == "3" && count.at("sum.isMonotonic") == .bool(true))
        #expect(count.at("sum.aggregationTemporality")?.text == "AGGREGATION_TEMPORALITY_CUMULATIVE")
        #expect(count.at("sum.dataPoints[0].attributes[0].value.stringValue")?.text == "x")
        #expect(try metric(1).at("gauge.dataPoints[0].asDouble") == .number(-1.5) && metric(1)["unit"]?.text == "s")
        #expect(try metric(2).at("gauge.dataPoints[0].asInt")?.text == "-2")
        let histogram = try metric(3)
        #expect(histogram.at("histogram.dataPoints[0].count")?.text == "1" && histogram.at("histogram.dataPoints[0].sum") == .number(0.001))
        #expect(histogram.at("histogram.dataPoints[0].explicitBounds[6]") == .number(0.001_048_576))
        #expect(histogram.at("histogram.dataPoints[0].bucketCounts[6]")?.text == "1")
    }
}

/// The Python with OpenTelemetry's messages.
private enum OTLPPython {
    static let path = ProcessInfo.processInfo.environment["NACRE_OTLP_PYTHON"]
}
