import NacreLocks
import Synchronization

/// The last lines of a log, as JSON, for an operator who looks at a running server. Bounded; any thread. Lines are
/// numbered, so that a reader continues after the last one that it got. A follower may ask for more detail than the
/// server writes. Lines of that level are then made, too, and kept here alone.
package final class RecentLog: Sendable {
    /// The number of lines that are kept, our choice: an hour of a server with little to say. Memory is at most
    /// `linesMax * lineBytesMax`.
    package static let linesMax = 1000
    /// The longest line that is kept. A longer one is left out, because a cut line would not be JSON.
    static let lineBytesMax = 4096
    /// The time for which a follower counts after its last request.
    static let followSeconds = 5

    package struct Page: Sendable {
        package var lines: [String]
        /// The number of the last line that exists. Ask for the next page after it.
        package var last: Int
        /// The number of lines after the requested number that are gone.
        package var missed: Int
    }

    private struct State {
        var lines: [[UInt8]] = []
        /// The index of the oldest line in `lines`, once there are `linesMax`.
        var start = 0
        var count = 0
        var followed: (level: LogLevel, until: Int)?
    }

    private let state = Locked(State())
    /// The raw value of the lowest level that a follower wants; `Int.max` without a follower.
    private let wanted = Atomic(Int.max)

    package init() {}

    /// Whether a follower wants lines of this level. One atomic load without a follower.
    func wants(_ level: LogLevel) -> Bool { level.rawValue >= wanted.load(ordering: .relaxed) }

    func add(_ line: [UInt8], at time: LogTime) {
        guard line.count <= Self.lineBytesMax else { return }
        let second = time.milliseconds / 1000
        let isOver = state.withLock { state -> Bool in
            if state.lines.count < Self.linesMax {
                state.lines.append(line)
            } else {
                state.lines[state.start] = line
                state.start = (state.start + 1) % Self.linesMax
            }
            state.count += 1
            guard let followed = state.followed, abs(second - followed.until) > Self.followSeconds else { return false }
            state.followed = nil
            return true
        }
        if isOver { wanted.store(.max, ordering: .relaxed) }
    }

    /// Returns the lines after a number, oldest first.
    /// - Parameters:
    ///   - number: The number of the last line that the reader has; nil for all lines that are kept.
    ///   - level: Lines of this level and above are made for the next `followSeconds`; nil adds none to those that the
    ///     server writes.
    package func page(after number: Int?, following level: LogLevel?, at time: LogTime) -> Page {
        state.withLock { state in
            if let level {
                let isMore = state.followed.map { level < $0.level } ?? true
                state.followed = (isMore ? level : state.followed?.level ?? level, time.milliseconds / 1000)
                wanted.store(state.followed?.level.rawValue ?? .max, ordering: .relaxed)
            }
            let oldest = state.count - state.lines.count
            // A number above the count comes from an earlier run of the server: start at the first line.
            let from = number.map { $0 > state.count ? 0 : $0 } ?? oldest
            let first = max(from, oldest)
            let lines = (first..<state.count).map { index in
                let bytes = state.lines[(state.start + index - oldest) % state.lines.count]
                return String(decoding: bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...], as: UTF8.self)
            }
            return Page(lines: lines, last: state.count, missed: first - from)
        }
    }
}
