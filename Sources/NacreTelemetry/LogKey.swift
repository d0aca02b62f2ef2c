/// The names of the values that a log line may carry besides its message. An enum, so that a name is spelt once and a
/// search finds all its uses. Add a case when you need one.
package enum LogKey: String, Sendable {
    case address
    case answerBytes = "answer_bytes"
    case attempt
    case bytes
    case code
    case component
    case container
    case cost
    case count
    case database
    case durationMilliseconds = "duration_ms"
    case environment
    case error
    case expectedReceive = "expected_receive"
    case expectedSend = "expected_send"
    case file
    case group
    case groupID = "group_id"
    case host
    case kind
    case limit
    case method
    case name
    case operation
    case path
    case port
    case quantity
    case reason
    case record
    case remedy
    case requestID = "request_id"
    case route
    case scope
    case since
    case status
    case task
    case traceID = "trace_id"
    case url
    case user
    case version
    case zone
}

/// The value of a log key. Numbers stay numbers in the JSON.
package enum LogValue: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral {
    case string(String)
    case int(Int)
    case double(Double)
    case bool(Bool)

    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int) { self = .int(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(floatLiteral value: Double) { self = .double(value) }
}

package enum LogLevel: Int, Sendable, Comparable, CaseIterable {
    case trace, debug, info, notice, warning, error, critical

    package static func < (one: LogLevel, other: LogLevel) -> Bool { one.rawValue < other.rawValue }

    package var name: String {
        switch self {
        case .trace: "trace"
        case .debug: "debug"
        case .info: "info"
        case .notice: "notice"
        case .warning: "warning"
        case .error: "error"
        case .critical: "critical"
        }
    }

    /// Creates the level of this name, for configuration; nil if there is none.
    package init?(name: String) {
        guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = level
    }
}
