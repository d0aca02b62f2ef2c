import NacreCloudContainer
import NacreHTTPServer
import NacreLocks

/// Writes a device's events into its stream, each once and in order. Events come from two sources: the stream reads the
/// queue, and `hear` gets new events as they enter the queue, without a read.
final class EventPen: Sendable {
    private struct State {
        /// The number up to which all events are written.
        var last: Int64
        /// The queue is being read or its events are being written; new events will be found by that read.
        var isReading = true
    }

    private let writer: HTTPStreamWriter
    private let state: Locked<State>

    init(_ writer: HTTPStreamWriter, after last: Int64) {
        self.writer = writer
        state = Locked(State(last: last))
    }

    /// Writes events that were just put into the queue, unless an earlier one is still unwritten. Does so at once, on
    /// any thread.
    /// - Parameter before: the number of the event before them.
    /// - Returns: whether they were written; if not, the queue has to be read.
    func hear(_ events: [QueuedNotification], after before: Int64) -> Bool {
        state.withLock { state in
            guard !state.isReading, state.last == before, let newest = events.last, writer.offer(Self.text(of: events)) else { return false }
            state.last = newest.number
            return true
        }
    }

    /// Begins a read of the queue.
    /// - Returns: the number after which to read.
    func beginReading() -> Int64 {
        state.withLock { state in
            state.isReading = true
            return state.last
        }
    }

    /// Ends a read that found nothing.
    func endReading() { state.withLock { $0.isReading = false } }

    /// Writes the events that a read found: at least one.
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
