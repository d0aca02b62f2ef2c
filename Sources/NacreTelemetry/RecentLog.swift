import NacreLocks
import Synchronization

/// The last lines of a log, as JSON, for who looks at a running server: by their numbers, so that a reader goes on where it was. Bounded; any thread.
///
/// While somebody follows the log in more detail than the server writes it, lines of that level are made, too, and kept here alone.
package final class RecentLog: Sendable {
    /// Ours: an hour of a server that has little to say, and at most `linesMax * lineBytesMax` of memory.
    package static let linesMax = 1000
    /// Longer lines are left out: they would not be JSON any more if they were cut.
    static let lineBytesMax = 4096
    /// How long a follower counts as one after it has asked.
    static let followSeconds = 5

    package struct Page: Sendable {
        package var lines: [String]
        /// Of the last line that there is: ask from here on.
        package var last: Int
        /// Lines after the number asked for that are gone.
        package var missed: Int
    }

    private struct State {
        var lines: [[UInt8]] = []
        /// The place of the oldest line, once there are `linesMax`.
        var start = 0
        var count = 0
        var followed: (level: LogLevel, until: Int)?
    }

    private let state = Locked(State())
    /// The raw value of the level from which on lines are wanted; beyond all: none but those that are written anyway.
    private let wanted = Atomic(Int.max)

    package init() {}

    /// Whether a line is wanted that the server itself does not write. One load where nobody follows.
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

    /// The lines behind a number, oldest first.
    /// - Parameters:
    ///   - number: nil: all that are kept.
    ///   - level: lines of this level and above are made for the next seconds; nil: those that are written alone.
    package func page(after number: Int?, following level: LogLevel?, at time: LogTime) -> Page {
        state.withLock { state in
            if let level {
                let isMore = state.followed.map { level < $0.level } ?? true
                state.followed = (isMore ? level : state.followed?.level ?? level, time.milliseconds / 1000)
                wanted.store(state.followed?.level.rawValue ?? .max, ordering: .relaxed)
            }
            let oldest = state.count - state.lines.count
            // A number of another run of the server is one of nothing here.
            let from = number.map { $0 > state.count ? 0 : $0 } ?? oldest
            let first = max(from, oldest)
            let lines = (first..<state.count).map { place in
                let bytes = state.lines[(state.start + place - oldest) % state.lines.count]
                return String(decoding: bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...], as: UTF8.self)
            }
            return Page(lines: lines, last: state.count, missed: first - from)
        }
    }
}
