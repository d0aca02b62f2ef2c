#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Writes log lines: a static message and values that the caller names one by one, nothing more.
///
/// A line below `level` costs one comparison. A copy may carry values of its own (`with`), for example the request's
/// id.
///
/// ```swift
/// let logger = Logger.standardError(level: .info).with(.requestID, .string(id))
/// logger.log(.warning, "The file is missing", [.file: .string(name)])
/// ```
package struct Logger: Sendable {
    package enum Format: Sendable {
        /// One JSON object a line: `ts`, `level`, `msg`, then the values.
        case json
        /// One line for a person, with or without colours.
        case human(colours: Bool)
    }

    package let level: LogLevel
    package let format: Format
    private let sink: any LogSink
    let now: @Sendable () -> LogTime
    private var values: [(LogKey, LogValue)] = []
    private var folding: LogFolding?
    /// The buffer of the last lines, for the operator who looks at the running server.
    private var recent: RecentLog?

    package init(level: LogLevel, format: Format, sink: any LogSink, now: @escaping @Sendable () -> LogTime = { .now }) {
        self.level = level
        self.format = format
        self.sink = sink
        self.now = now
    }

    /// Returns the logger of a command, which writes to standard error. Lines are human on a terminal (plain if
    /// `NO_COLOR` is set), and JSON elsewhere.
    package static func standardError(level: LogLevel) -> Logger {
        let colours = getenv("NO_COLOR").map { $0.pointee == 0 } ?? true
        let format = isatty(STDERR_FILENO) == 1 ? Format.human(colours: colours) : .json
        return Logger(level: level, format: format, sink: FileDescriptorSink(STDERR_FILENO)).foldingRepeats()
    }

    package static let silent = Logger(level: .critical, format: .json, sink: NoSink())

    /// Returns the same logger, whose lines all carry this value.
    package func with(_ key: LogKey, _ value: LogValue) -> Logger {
        var copy = self
        copy.values.append((key, value))
        return copy
    }

    /// Returns the same logger, whose lines are also kept in `recent`. Followers of `recent` may get lines below the
    /// logger's level.
    package func keeping(_ recent: RecentLog) -> Logger {
        var copy = self
        copy.recent = recent
        return copy
    }

    /// Whether a line of this level is written or kept.
    package func takes(_ level: LogLevel) -> Bool { level >= self.level || recent?.wants(level) == true }

    /// Returns the same logger, which writes a message of level `notice` or above at most twenty times in ten seconds.
    /// A later line tells how many were left out. Lines below that level are always written: an operator who wants them
    /// wants all.
    package func foldingRepeats() -> Logger {
        var copy = self
        copy.folding = LogFolding()
        return copy
    }

    /// Reports lines that were left out, if their span is over. Call it now and then, because after a storm no line may
    /// come.
    package func writeFolded() {
        guard let folding else { return }
        let time = now()
        write(folding.due(time), time)
    }

    private func write(_ folded: [LogFolding.Folded], _ time: LogTime) {
        for line in folded {
            write(time, line.kind.level, "Lines were left out of the log", [(.name, .string(line.kind.message)), (.count, .int(line.count))])
        }
    }

    /// Writes a line. `message` is static, so that equal events count as equal. The values carry the differences. They
    /// are only built if the line is written.
    package func log(_ level: LogLevel, _ message: StaticString, _ values: @autoclosure () -> KeyValuePairs<LogKey, LogValue> = [:]) {
        guard takes(level) else { return }
        let time = now()
        if let folding, level >= .notice {
            let (isWritten, folded) = folding.admit(level, message, time)
            write(folded, time)
            guard isWritten else { return }
        }
        write(time, level, message, self.values + values().map { ($0.key, $0.value) })
    }

    private func write(_ time: LogTime, _ level: LogLevel, _ message: StaticString, _ all: [(LogKey, LogValue)]) {
        recent?.add(LogLine.json(time, level, message, all), at: time)
        guard level >= self.level else { return }
        switch format {
        case .json: sink.write(LogLine.json(time, level, message, all))
        case .human(let colours): sink.write(LogLine.human(time, level, message, all, colours: colours))
        }
    }
}

/// The destination of lines. Any thread calls `write` with one whole line and its line feed. It must not block for
/// long.
package protocol LogSink: Sendable {
    func write(_ line: [UInt8])
}

private struct NoSink: LogSink {
    func write(_ line: [UInt8]) {}
}
