import NacreLocks
import Testing

@testable import NacreTelemetry

/// Tests that repeated events leave a log readable.
@Suite struct LogFoldingTests {
    private let lines = Lines()
    private let second = Locked(0)

    private var logger: Logger {
        let second = second
        return Logger(level: .info, format: .json, sink: lines, now: { LogTime(milliseconds: second.withLock { $0 } * 1000) })
    }

    @Test func `what is repeated is written twenty times in ten seconds, then told as a number`() {
        let logger = logger.foldingRepeats()
        for _ in 0..<87_000 { logger.log(.notice, "again") }
        logger.log(.notice, "once")
        #expect(lines.all.count { $0.contains("\"msg\":\"again\"") } == LogFolding.linesPerSpan)
        #expect(lines.all.count == LogFolding.linesPerSpan + 1)
        second.withLock { $0 += LogFolding.spanSeconds }
        logger.writeFolded()
        let told = lines.all.filter { $0.contains("Lines were left out") }
        #expect(told.count == 1 && told[0].contains("\"name\":\"again\",\"count\":\(87_000 - LogFolding.linesPerSpan)"), "\(told)")
        logger.writeFolded()
        logger.log(.notice, "again")
        #expect(lines.all.count == LogFolding.linesPerSpan + 3)
    }

    @Test func `copies fold together, levels apart, and lines that somebody asked for are all written`() {
        let logger = logger.foldingRepeats()
        for number in 0..<30 { logger.with(.count, .int(number)).log(.warning, "same") }
        for _ in 0..<30 { logger.log(.error, "same") }
        #expect(lines.all.count == 2 * LogFolding.linesPerSpan)
        for _ in 0..<100 { logger.log(.info, "request") }
        #expect(lines.all.count == 2 * LogFolding.linesPerSpan + 100)
    }

    @Test func `an overload is told at once, and then once a minute with a count`() {
        let telemetry = Telemetry()
        let overload = OverloadLog(logger, telemetry)
        for _ in 0..<1000 { overload.report(.bodies) }
        overload.report(.answers)
        #expect(lines.all.count == 2)
        #expect(lines.all[0].contains("\"level\":\"notice\"") && lines.all[0].contains("\"count\":1,") && lines.all[0].contains("remedy"))
        second.withLock { $0 += 60 }
        overload.report(.bodies)
        #expect(lines.all.count == 3 && lines.all[2].contains("\"count\":1000,"))
        #expect(telemetry.counter(.overloaded, "bodies").value == 1001)
    }
}
