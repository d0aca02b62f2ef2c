import Foundation
import Glibc
import NacreCloudServer

/// A request of the log as one line for people.
enum RequestText {
    /// Whether a terminal shows the lines, and takes colours.
    static let wantsColours = isatty(STDOUT_FILENO) == 1 && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty

    /// Returns the line: columns of fixed widths, then the reason of a refusal. An exclamation mark stands before the
    /// status of a request that failed, or of which something was refused.
    static func line(_ line: AdminMessages.RequestLine, colours: Bool) -> String {
        let hasFailed = line.status >= 400 || line.refused > 0
        let place = [line.container, line.environment, line.database].compactMap(\.self).joined(separator: " ")
        let columns = [
            RequestStory.time(line.time), "\(hasFailed ? "!" : " ")\(line.status)", padded(line.operation, 22),
            padded(String(format: "%.1f ms", line.milliseconds), 10, isRight: true), padded(place.isEmpty ? "-" : place, 44),
            padded(line.client, 16), padded(line.user ?? "-", 18), line.request,
        ]
        let refusal = [
            line.code, line.refused > 0 ? "\(line.refused) of \(max(line.answered, line.refused)) items" : nil, line.reason,
        ].compactMap(\.self)
        let text = Output.withoutControls((columns + (refusal.isEmpty ? [] : [refusal.joined(separator: ": ")])).joined(separator: "  "))
        guard colours, hasFailed else { return text }
        return "\u{1B}[\(line.status >= 500 ? "1;31" : "31")m\(text)\u{1B}[0m"
    }

    private static func padded(_ text: String, _ width: Int, isRight: Bool = false) -> String {
        let space = String(repeating: " ", count: max(0, width - text.count))
        return isRight ? space + text : text + space
    }
}
