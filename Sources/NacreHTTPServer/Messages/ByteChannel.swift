import NacreLocks

/// A bounded queue of bytes between a socket and a task, in either direction. The writer puts without waiting and is
/// told when it should stop; the reader awaits. `onRoom` is called when a writer that was told to stop may go on. The
/// call is outside the lock, on the reader's thread.
final class ByteChannel: Sendable {
    fileprivate enum Ending {
        case complete
        case failed(any Error)
    }

    fileprivate struct State {
        var chunks: [[UInt8]] = []
        /// The index of the first chunk that has not been taken: a queue without moving elements.
        var taken = 0
        var buffered = 0
        var ending: Ending?
        var reader: CheckedContinuation<[UInt8]?, any Error>?
        /// Whether the writer was told to stop and waits for `onRoom`.
        var isPaused: Bool
    }

    private let state: Locked<State>
    private let bufferedMax: Int
    private let onRoom: @Sendable () -> Void

    /// - Parameter startsPaused: Whether the first read calls `onRoom`, so that nothing is fetched before it is wanted.
    init(bufferedMax: Int, startsPaused: Bool, onRoom: @escaping @Sendable () -> Void) {
        state = Locked(State(isPaused: startsPaused))
        self.bufferedMax = bufferedMax
        self.onRoom = onRoom
    }

    /// Adds a chunk. Returns whether the writer should stop until `onRoom`. A chunk after the end is dropped.
    func put(_ chunk: [UInt8]) -> Bool {
        let (reader, isFull) = state.withLock { state -> (CheckedContinuation<[UInt8]?, any Error>?, Bool) in
            guard state.ending == nil else { return (nil, false) }
            if let reader = state.reader {
                state.reader = nil
                return (reader, false)
            }
            state.chunks.append(chunk)
            state.buffered += chunk.count
            if state.buffered >= bufferedMax { state.isPaused = true }
            return (nil, state.isPaused)
        }
        reader?.resume(returning: chunk)
        return isFull
    }

    /// Ends the bytes. Earlier bytes are still read.
    func finish() {
        end(.complete, keepsChunks: true)
    }

    /// Ends the bytes with an error, which a reader sees at once.
    func fail(_ error: any Error) {
        end(.failed(error), keepsChunks: false)
    }

    private func end(_ ending: Ending, keepsChunks: Bool) {
        let reader = state.withLock { state -> CheckedContinuation<[UInt8]?, any Error>? in
            guard state.ending == nil else { return nil }
            state.ending = ending
            if !keepsChunks { state.chunks = [] }
            defer { state.reader = nil }
            return state.reader
        }
        switch ending {
        case .complete: reader?.resume(returning: nil)
        case .failed(let error): reader?.resume(throwing: error)
        }
    }

    /// Whether the next read returns without waiting.
    var isReady: Bool { state.withLock { $0.taken < $0.chunks.count || $0.ending != nil } }

    /// Returns the next chunk, or nil at the end. One reader at a time.
    /// - Throws: The error that `fail` was given; `CancellationError` if the task is cancelled.
    func next() async throws -> [UInt8]? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { read($0) }
        } onCancel: {
            fail(CancellationError())
        }
    }

    private func read(_ reader: CheckedContinuation<[UInt8]?, any Error>) {
        enum Outcome {
            case now(Result<[UInt8]?, any Error>)
            case later
        }
        let (outcome, hasRoom) = state.withLock { state -> (Outcome, Bool) in
            if state.taken < state.chunks.count {
                let chunk = state.takeFirst()
                return (.now(.success(chunk)), state.unpause(below: bufferedMax / 2))
            }
            switch state.ending {
            case .complete: return (.now(.success(nil)), false)
            case .failed(let error): return (.now(.failure(error)), false)
            case nil: break
            }
            if state.reader != nil { return (.now(.failure(HTTPError(.internalServerError, "A body has one reader."))), false) }
            state.reader = reader
            return (.later, state.unpause(below: bufferedMax / 2))
        }
        if case .now(let result) = outcome { reader.resume(with: result) }
        if hasRoom { onRoom() }
    }
}

extension ByteChannel.State {
    fileprivate mutating func takeFirst() -> [UInt8] {
        let chunk = chunks[taken]
        chunks[taken] = []
        taken += 1
        buffered -= chunk.count
        if taken == chunks.count {
            chunks.removeAll(keepingCapacity: true)
            taken = 0
        }
        return chunk
    }

    fileprivate mutating func unpause(below low: Int) -> Bool {
        guard isPaused, buffered <= low else { return false }
        isPaused = false
        return true
    }
}
