#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Writes log lines: a static message and values that the caller names one by one, nothing else.
///
/// A line below `level` costs one comparison. A copy may carry values of its own (`with`), such as the request's id.
package struct Logger: Sendable {
    package enum Format: Sendable {
        /// One JSON object a line: `ts`, `level`, `msg`, then the values.
        case json
        /// One line for a person, with colours where the terminal takes them.
        case human(colours: Bool)
    }

    package let level: LogLevel
    package let format: Format
    private let sink: any LogSink
    private let now: @Sendable () -> LogTime
    private var values: [(LogKey, LogValue)] = []

    package init(level: LogLevel, format: Format, sink: any LogSink, now: @escaping @Sendable () -> LogTime = { .now }) {
        self.level = level
        self.format = format
        self.sink = sink
        self.now = now
    }

    /// The logger of a command: standard error, human on a terminal (plain where `NO_COLOR` is set), JSON elsewhere.
    package static func standardError(level: LogLevel) -> Logger {
        let colours = getenv("NO_COLOR").map { $0.pointee == 0 } ?? true
        let format = isatty(STDERR_FILENO) == 1 ? Format.human(colours: colours) : .json
        return Logger(level: level, format: format, sink: FileDescriptorSink(STDERR_FILENO))
    }

    /// A logger that writes nothing.
    package static let silent = Logger(level: .critical, format: .json, sink: NoSink())

    /// The same logger, whose lines all carry this value.
    package func with(_ key: LogKey, _ value: LogValue) -> Logger {
        var copy = self
        copy.values.append((key, value))
        return copy
    }

    /// Writes a line. `message` is static, so that equal events count as equal; what differs goes into the values, which are only built if needed.
    package func log(_ level: LogLevel, _ message: StaticString, _ values: @autoclosure () -> KeyValuePairs<LogKey, LogValue> = [:]) {
        guard level >= self.level else { return }
        let all = self.values + values().map { ($0.key, $0.value) }
        let time = now()
        switch format {
        case .json: sink.write(LogLine.json(time, level, message, all))
        case .human(let colours): sink.write(LogLine.human(time, level, message, all, colours: colours))
        }
    }
}

/// Where lines go. `write` is called from any thread with one whole line and its line feed; it must not block for long.
package protocol LogSink: Sendable {
    func write(_ line: [UInt8])
}

private struct NoSink: LogSink {
    func write(_ line: [UInt8]) {}
}
