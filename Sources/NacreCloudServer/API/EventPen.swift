import NacreCloudContainer
import NacreHTTPServer
import NacreLocks

/// Writes a device's events into its stream, each once and in their order: those that the stream reads of the queue, and those that come to it as they are
/// put there, which nobody reads.
final class EventPen: Sendable {
    private struct State {
        /// Up to which number all are written that there are.
        var last: Int64
        /// The queue is read, or what was found there is written: what comes meanwhile is found there.
        var isReading = true
    }

    private let writer: HTTPStreamWriter
    private let state: Locked<State>

    init(_ writer: HTTPStreamWriter, after last: Int64) {
        self.writer = writer
        state = Locked(State(last: last))
    }

    /// Writes what was just put into the queue, if nothing of the queue before it is unwritten. At once, on any thread.
    /// - Parameter before: the number of the last one before them.
    /// - Returns: whether it did; else the queue is to be read.
    func hear(_ events: [QueuedNotification], after before: Int64) -> Bool {
        state.withLock { state in
            guard !state.isReading, state.last == before, let newest = events.last, writer.offer(Self.text(of: events)) else { return false }
            state.last = newest.number
            return true
        }
    }

    /// - Returns: behind which number it reads.
    func beginReading() -> Int64 {
        state.withLock { state in
            state.isReading = true
            return state.last
        }
    }

    /// Nothing was found.
    func endReading() { state.withLock { $0.isReading = false } }

    /// Writes what was found, which is not empty.
    func write(_ events: [QueuedNotification]) async throws {
        try await writer.write(Self.text(of: events))
        guard let newest = events.last else { return }
        state.withLock { $0.last = newest.number }
    }

    private static func text(of events: [QueuedNotification]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(events.reduce(0) { $0 + $1.json.count + 64 })
        for event in events {
            text += "id: \(event.number)\nevent: notification\ndata: ".utf8
            text += event.json
            text += "\n\n".utf8
        }
        return text
    }
}
