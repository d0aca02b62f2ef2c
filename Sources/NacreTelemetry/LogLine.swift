#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

package struct LogTime: Sendable {
    /// Milliseconds since 1970, UTC.
    package let milliseconds: Int

    package init(milliseconds: Int) {
        self.milliseconds = milliseconds
    }

    package static var now: LogTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return LogTime(milliseconds: time.tv_sec * 1000 + time.tv_nsec / 1_000_000)
    }

    /// The moment as RFC 3339 in UTC, with milliseconds.
    var text: String {
        var seconds = milliseconds / 1000
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func padded(_ number: Int, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        let date = "\(padded(Int(parts.tm_year) + 1900, 4))-\(padded(Int(parts.tm_mon) + 1, 2))-\(padded(Int(parts.tm_mday), 2))"
        let time = "\(padded(Int(parts.tm_hour), 2)):\(padded(Int(parts.tm_min), 2)):\(padded(Int(parts.tm_sec), 2))"
        return "\(date)T\(time).\(padded(milliseconds % 1000, 3))Z"
    }
}

/// The two forms of a log line: JSON and human.
enum LogLine {
    static func json(_ time: LogTime, _ level: LogLevel, _ message: StaticString, _ values: [(LogKey, LogValue)]) -> [UInt8] {
        var line = "{\"ts\":\"\(time.text)\",\"level\":\"\(level.name)\",\"msg\":"
        appendJSON(message.description, to: &line)
        for (key, value) in values {
            line += ",\"\(key.rawValue)\":"
            switch value {
            case .string(let text): appendJSON(text, to: &line)
            case .int(let number): line += String(number)
            case .double(let number): line += number.isFinite ? String(number) : "null"
            case .bool(let truth): line += truth ? "true" : "false"
            }
        }
        line += "}\n"
        return Array(line.utf8)
    }

    static func human(_ time: LogTime, _ level: LogLevel, _ message: StaticString, _ values: [(LogKey, LogValue)], colours: Bool) -> [UInt8] {
        var line = "\(time.text.dropFirst(11).dropLast(1)) "
        line += colours ? "\(colour(level))\(level.name)\u{1B}[0m" : level.name
        line += String(repeating: " ", count: max(1, 9 - level.name.utf8.count)) + message.description
        for (key, value) in values {
            line += " \(key.rawValue)="
            switch value {
            // Escape as in JSON, so that no value can begin a line of its own or move the terminal's cursor.
            case .string(let text): appendJSON(text, to: &line)
            case .int(let number): line += String(number)
            case .double(let number): line += String(number)
            case .bool(let truth): line += String(truth)
            }
        }
        return Array((line + "\n").utf8)
    }

    private static func colour(_ level: LogLevel) -> String {
        switch level {
        case .trace, .debug: "\u{1B}[2m"
        case .info, .notice: "\u{1B}[32m"
        case .warning: "\u{1B}[33m"
        case .error, .critical: "\u{1B}[31m"
        }
    }

    static func appendJSON(_ text: String, to line: inout String) {
        line += "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": line += "\\\""
            case "\\": line += "\\\\"
            case "\n": line += "\\n"
            case "\r": line += "\\r"
            case "\t": line += "\\t"
            case "\u{0}"..<"\u{20}", "\u{7F}"..<"\u{A0}":
                let digits = String(scalar.value, radix: 16)
                line += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: line.unicodeScalars.append(scalar)
            }
        }
        line += "\""
    }
}
