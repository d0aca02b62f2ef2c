import NacreLocks
import NacreTelemetry
import Testing

/// Tests of the last lines of a log, for people who look at a running server.
struct RecentLogTests {
    private static let noon = LogTime(milliseconds: 43_200_000)

    private final class Written: LogSink {
        let lines = Locked<[String]>([])
        func write(_ line: [UInt8]) { lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) } }
    }

    @Test func `the last lines are kept in their order, and what is gone is counted`() {
        let log = RecentLog()
        let logger = Logger(level: .notice, format: .json, sink: Written()) { Self.noon }.keeping(log)
        #expect(log.page(after: nil, following: nil, at: Self.noon).lines.isEmpty)
        for number in 1...RecentLog.linesMax + 5 { logger.log(.notice, "a line", [.count: .int(number)]) }
        let page = log.page(after: nil, following: nil, at: Self.noon)
        #expect(page.lines.count == RecentLog.linesMax && page.last == RecentLog.linesMax + 5 && page.missed == 0)
        #expect(page.lines.first?.hasSuffix("\"count\":6}") == true && page.lines.last?.hasSuffix("\"count\":\(RecentLog.linesMax + 5)}") == true)
        let late = log.page(after: 3, following: nil, at: Self.noon)
        #expect(late.lines.count == RecentLog.linesMax && late.missed == 2)
        let rest = log.page(after: RecentLog.linesMax + 3, following: nil, at: Self.noon)
        #expect(rest.lines.count == 2 && rest.missed == 0)
        #expect(log.page(after: page.last, following: nil, at: Self.noon).lines.isEmpty)
        // A line number of an earlier process: the answer has all lines.
        #expect(log.page(after: 1_000_000, following: nil, at: Self.noon).lines.count == RecentLog.linesMax)
    }

    @Test func `while somebody follows, lines are made that are not written, and none some seconds later`() {
        let log = RecentLog()
        let written = Written()
        let now = Locked(Self.noon)
        let logger = Logger(level: .notice, format: .json, sink: written) { now.withLock { $0 } }.keeping(log)
        logger.log(.info, "before")
        _ = log.page(after: nil, following: .info, at: Self.noon)
        logger.log(.info, "followed")
        logger.log(.debug, "less than that")
        now.withLock { $0 = LogTime(milliseconds: Self.noon.milliseconds + 60_000) }
        logger.log(.notice, "a minute later")
        logger.log(.info, "after")
        let messages = log.page(after: nil, following: nil, at: Self.noon).lines.compactMap {
            $0.split(separator: "\"msg\":\"").last?.prefix { $0 != "\"" }
        }
        #expect(messages == ["followed", "a minute later"])
        #expect(written.lines.withLock { $0.count } == 1)
    }

    @Test func `a line that is too long is left out, and no line is half`() {
        let log = RecentLog()
        let logger = Logger(level: .notice, format: .human(colours: false), sink: Written()) { Self.noon }.keeping(log)
        logger.log(.notice, "long", [.reason: .string(String(repeating: "a", count: 5000))])
        logger.log(.notice, "short")
        // JSON, whatever form the log itself has.
        #expect(log.page(after: nil, following: nil, at: Self.noon).lines == [#"{"ts":"1970-01-01T12:00:00.000Z","level":"notice","msg":"short"}"#])
    }
}
