import Glibc
import NacreTelemetry

extension ServerConfiguration {
    /// How log lines look: for people, or one JSON object each.
    package enum LogFormat: String, CaseIterable, Sendable {
        case text
        case json

        /// Text on a terminal, JSON elsewhere.
        package static var usual: LogFormat { isatty(STDERR_FILENO) == 1 ? .text : .json }
    }

    /// The levels that a log may have, by their names, from the most talkative on.
    package static var logLevels: [String] { LogLevel.allCases.map(\.name) }

    /// A server that logs to standard error; coloured on a terminal unless `NO_COLOR` is set.
    /// - Parameter logLevel: one of `logLevels`; nil for any other.
    package init?(dataFolder: String, logFormat: LogFormat, logLevel: String) {
        guard let level = LogLevel(name: logLevel) else { return nil }
        let wantsColours = getenv("NO_COLOR").map { $0.pointee == 0 } ?? true
        let format =
            switch logFormat {
            case .text: Logger.Format.human(colours: wantsColours && isatty(STDERR_FILENO) == 1)
            case .json: Logger.Format.json
            }
        self.init(dataFolder: dataFolder, logger: Logger(level: level, format: format, sink: FileDescriptorSink(STDERR_FILENO)).foldingRepeats())
    }
}
