import NacreLocks

/// Keeps a log readable, and its disk free, when one event repeats. The first `linesPerSpan` lines of each message in a
/// span of time are written. The rest is reported as a number.
final class LogFolding: Sendable {
    /// The lines of one message and level that a span writes.
    static let linesPerSpan = 20
    static let spanSeconds = 10

    struct Kind: Hashable {
        var level: LogLevel
        var message: String
    }

    /// The number of lines of one kind that were not written.
    struct Folded {
        var kind: Kind
        var count: Int
    }

    private struct Span {
        var start: Int
        var lines = 0
        var folded = 0
    }

    private let spans = Locked<[Kind: Span]>([:])

    /// Counts a line. Returns whether it is written, and the unreported lines of spans that are over.
    func admit(_ level: LogLevel, _ message: StaticString, _ now: LogTime) -> (isWritten: Bool, folded: [Folded]) {
        let kind = Kind(level: level, message: message.description)
        let second = now.milliseconds / 1000
        return spans.withLock { spans in
            let folded = Self.close(&spans, second)
            var span = spans[kind] ?? Span(start: second)
            let isWritten = span.lines < Self.linesPerSpan
            if isWritten { span.lines += 1 } else { span.folded += 1 }
            spans[kind] = span
            return (isWritten, folded)
        }
    }

    /// Removes the spans that are over and returns their unreported lines.
    func due(_ now: LogTime) -> [Folded] {
        spans.withLock { Self.close(&$0, now.milliseconds / 1000) }
    }

    private static func close(_ spans: inout [Kind: Span], _ second: Int) -> [Folded] {
        // A clock that was set back ends a span, too.
        let over = spans.filter { abs(second - $0.value.start) >= spanSeconds }
        for kind in over.keys { spans[kind] = nil }
        return over.filter { $0.value.folded > 0 }.map { Folded(kind: $0.key, count: $0.value.folded) }.sorted { $0.kind.message < $1.kind.message }
    }
}
