import NacreLocks

/// Where a streamed response body is written. One task at a time.
package final class HTTPStreamWriter: Sendable {
    /// What the connection finds when it can send.
    enum Supply {
        case bytes(Int)
        /// Nothing now; `onBytes` will be called.
        case empty
        case end
        case failed
    }

    private struct State {
        var waiting: [UInt8] = []
        var sent = 0
        var isComplete = false
        var isFailed = false
        /// The connection found nothing and waits.
        var isStarved = false
        var writer: CheckedContinuation<Void, any Error>?
    }

    private let state = Locked(State())
    private let onBytes: @Sendable () -> Void
    private let bufferedBytesMax: Int

    init(bufferedBytesMax: Int = ServerLimits.bufferedBytesMax, onBytes: @escaping @Sendable () -> Void) {
        self.bufferedBytesMax = bufferedBytesMax
        self.onBytes = onBytes
    }

    /// All that was written and is not taken.
    var untaken: [UInt8] { state.withLock { Array($0.waiting[$0.sent...]) } }

    /// Sends bytes, and waits while `ServerLimits.bufferedBytesMax` have not been taken by the client.
    /// - Throws: `CancellationError` where the client went away.
    package func write(_ bytes: [UInt8]) async throws {
        guard !bytes.isEmpty else { return }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { put(bytes, $0) }
        } onCancel: {
            abandon()
        }
    }

    private func put(_ bytes: [UInt8], _ writer: CheckedContinuation<Void, any Error>) {
        enum Outcome { case refused, taken, waits }
        let (outcome, wasStarved) = state.withLock { state -> (Outcome, Bool) in
            guard !state.isFailed, state.writer == nil else { return (.refused, false) }
            if state.sent == state.waiting.count {
                state.waiting = bytes
                state.sent = 0
            } else {
                state.waiting += bytes
            }
            defer { state.isStarved = false }
            guard state.waiting.count - state.sent >= bufferedBytesMax else { return (.taken, state.isStarved) }
            state.writer = writer
            return (.waits, state.isStarved)
        }
        switch outcome {
        case .refused: writer.resume(throwing: CancellationError())
        case .taken: writer.resume()
        case .waits: break
        }
        if wasStarved { onBytes() }
    }

    /// Ends the body: complete, or cut so that the client sees that something is missing.
    func end(complete: Bool) {
        let wasStarved = state.withLock { state in
            if complete { state.isComplete = true } else { state.isFailed = true }
            defer { state.isStarved = false }
            return state.isStarved
        }
        if wasStarved { onBytes() }
    }

    /// The connection is gone: each writer is told.
    func abandon() {
        let writer = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            state.isFailed = true
            state.waiting = []
            state.sent = 0
            defer { state.writer = nil }
            return state.writer
        }
        writer?.resume(throwing: CancellationError())
    }

    /// Moves what is there into the connection's buffer.
    func take(into buffer: UnsafeMutableRawBufferPointer) -> Supply {
        let (supply, writer) = state.withLock { state -> (Supply, CheckedContinuation<Void, any Error>?) in
            if state.isFailed { return (.failed, nil) }
            let count = min(buffer.count, state.waiting.count - state.sent)
            guard count > 0 else {
                if state.isComplete { return (.end, nil) }
                state.isStarved = true
                return (.empty, nil)
            }
            state.waiting.withUnsafeBytes { waiting in
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: waiting[state.sent..<state.sent + count]))
            }
            state.sent += count
            guard state.waiting.count - state.sent <= bufferedBytesMax / 2 else { return (.bytes(count), nil) }
            defer { state.writer = nil }
            return (.bytes(count), state.writer)
        }
        writer?.resume()
        return supply
    }
}
