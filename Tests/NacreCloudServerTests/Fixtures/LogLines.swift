import Foundation
import NacreLocks
import NacreTelemetry

/// Keeps the lines of a server's log.
final class LogLines: LogSink {
    private let lines = Locked<[[UInt8]]>([])

    func write(_ line: [UInt8]) {
        lines.withLock { $0.append(line) }
    }

    var logger: Logger { Logger(level: .debug, format: .json, sink: self) }

    var texts: [String] { lines.withLock { $0 }.map { String(decoding: $0, as: UTF8.self) } }

    /// Returns the lines with this message, decoded from JSON.
    func objects(_ message: String) -> [JSON] {
        lines.withLock { $0 }.compactMap { try? JSON($0) }.filter { $0["msg"] == .string(message) }
    }
}
