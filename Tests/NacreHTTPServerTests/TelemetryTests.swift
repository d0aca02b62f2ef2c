import Foundation
import NacreLocks
import NacreTelemetry
import Testing

extension MetricKey {
    fileprivate static let things = MetricKey("things_total", help: "Things.", label: "kind")
    fileprivate static let pairs = MetricKey("pairs_total", help: "Pairs.", labels: ["one", "two"], seriesMax: 2)
    fileprivate static let levels = MetricKey("levels", help: "Levels.", label: "name")
    fileprivate static let waits = MetricKey("wait_seconds", help: "Waits.", unit: .seconds)
    fileprivate static let sizes = MetricKey("size_bytes", help: "Sizes.", unit: .bytes)
}

@Suite struct TelemetryTests {
    private final class Lines: LogSink {
        let all = Locked<[String]>([])
        func write(_ line: [UInt8]) { all.withLock { $0.append(String(decoding: line, as: UTF8.self)) } }
    }

    @Test func `metrics are written as Prometheus reads them`() {
        let telemetry = Telemetry()
        telemetry.counter(.things, "a\"b\\").add(2)
        telemetry.counter(.things, "a").add()
        telemetry.histogram(.waits).record(.milliseconds(1))
        telemetry.histogram(.waits).record(.seconds(1000))
        let text = telemetry.prometheusText()
        #expect(text.contains("# TYPE things_total counter\nthings_total{kind=\"a\"} 1\nthings_total{kind=\"a\\\"b\\\\\"} 2\n"))
        #expect(text.contains("wait_seconds_bucket{le=\"0.001048576\"} 1\n"))
        #expect(text.contains("wait_seconds_bucket{le=\"0.000524288\"} 0\n"))
        #expect(text.contains("wait_seconds_bucket{le=\"+Inf\"} 2\nwait_seconds_sum 1000.001\nwait_seconds_count 2\n"))
    }

    @Test func `a metric of two labels has its series by both, and those beyond its limit are counted together`() {
        let telemetry = Telemetry()
        for (one, two) in [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")] { telemetry.counter(.pairs, one, two).add() }
        #expect(
            telemetry.prometheusText() == """
                # HELP pairs_total Pairs.
                # TYPE pairs_total counter
                pairs_total{one="a",two="x"} 1
                pairs_total{one="a",two="y"} 1
                pairs_total{one="other",two="other"} 2

                """)
    }

    @Test func `a value on a bucket's bound belongs to that bucket`() {
        let histogram = Histogram(unit: .bytes)
        for value in [0, 1, 64, 65, 128, 1 << 26, 1 << 26 + 1, .max] as [UInt64] { histogram.record(value) }
        let counts = histogram.snapshot.counts
        #expect(counts[0] == 3 && counts[1] == 2 && counts[20] == 1 && counts[21] == 2)
    }

    @Test func `label values beyond the limit are counted together`() {
        let telemetry = Telemetry()
        for number in 0..<1000 { telemetry.counter(.things, "\(number)").add() }
        #expect(telemetry.counter(.things, "0").value == 1)
        #expect(telemetry.counter(.things, "other").value == 1000 - UInt64(Telemetry.seriesMax))
    }

    @Test func `gauges that are set together replace those before them`() {
        let telemetry = Telemetry()
        telemetry.setGauges(.levels, ["a": 1, "b": 2])
        telemetry.setGauges(.levels, ["b": 3])
        #expect(telemetry.prometheusText() == "# HELP levels Levels.\n# TYPE levels gauge\nlevels{name=\"b\"} 3\n")
    }

    @Test func `a log line is one JSON object, whatever its values are`() throws {
        let lines = Lines()
        let logger = Logger(level: .info, format: .json, sink: lines, now: { LogTime(milliseconds: 1_700_000_000_123) }).with(.requestID, "r1")
        logger.log(.debug, "not written", [.error: "x"])
        logger.log(.warning, "odd \"message\"", [.path: "a\n\"\\\u{1B}[2Jé", .count: 3, .durationMilliseconds: 1.5, .status: false])
        let line = try #require(lines.all.withLock { $0.first })
        #expect(lines.all.withLock { $0.count } == 1 && line.hasSuffix("}\n") && line.count { $0 == "\n" } == 1)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(object["ts"] as? String == "2023-11-14T22:13:20.123Z" && object["level"] as? String == "warning")
        #expect(object["msg"] as? String == "odd \"message\"" && object["request_id"] as? String == "r1")
        #expect(object["path"] as? String == "a\n\"\\\u{1B}[2Jé" && object["count"] as? Int == 3 && object["duration_ms"] as? Double == 1.5)
    }

    @Test func `a human line has no control character from a value`() {
        let lines = Lines()
        let logger = Logger(level: .trace, format: .human(colours: false), sink: lines, now: { LogTime(milliseconds: 0) })
        logger.log(.info, "hello", [.name: "a\u{1B}b\nc"])
        #expect(lines.all.withLock { $0 } == ["00:00:00.000 info     hello name=\"a\\u001bb\\nc\"\n"])
    }

    @Test func `a reader that stops loses lines and does not stop the writer`() {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        let sink = FileDescriptorSink(ends[1])
        let line = [UInt8](repeating: 65, count: 1023) + [10]
        // A pipe takes 64 KB at most; later lines are dropped.
        for _ in 0..<70 { sink.write(line) }
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        let first = read(ends[0], &buffer, buffer.count)
        sink.write(line)
        let second = read(ends[0], &buffer, buffer.count)
        let text = String(decoding: buffer[..<max(second, 0)], as: UTF8.self)
        let dropped = 70 - first / line.count
        #expect(dropped > 0)
        #expect(text.hasPrefix("{\"level\":\"warning\",\"msg\":\"log lines dropped\",\"count\":\(dropped)}\n") && text.hasSuffix("A\n"))
        close(ends[0])
        close(ends[1])
    }
}
