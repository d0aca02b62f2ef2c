import NacreLocks

extension HTTPClient {
    package struct Head: Equatable, Sendable {
        package var status: Int
        /// The headers in their order, with names in lower case.
        package var headers: [Header]
        /// The version of HTTP: "1.1" or "2".
        package var version: String

        /// The values of one header, joined with commas as in RFC 9110; nil if there is none.
        package subscript(name: String) -> String? {
            let values = headers.filter { $0.name == name }.map(\.value)
            return values.isEmpty ? nil : values.joined(separator: ", ")
        }
    }

    package struct Answer: Equatable, Sendable {
        package var head: Head
        package var body: [UInt8]

        package var status: Int { head.status }
    }

    /// An answer whose body is read as it comes. One task reads it, once. Some hundred kilobytes wait here unread. Then
    /// the transfer pauses, and the server has to wait.
    package final class AnswerStream: AsyncSequence, Sendable {
        package typealias Element = [UInt8]
        package typealias Failure = HTTPClient.Failure

        package let head: Head
        private let pipe: BodyPipe
        private let transfer: Transfer

        init(head: Head, pipe: BodyPipe, transfer: Transfer) {
            self.head = head
            self.pipe = pipe
            self.transfer = transfer
        }

        /// Whether the transfer is paused because unread bytes wait.
        var isPaused: Bool { pipe.isFull }
        /// Whether the whole body has come, or the transfer failed.
        var isOver: Bool { pipe.isOver }

        deinit {
            if !pipe.isOver { transfer.loop.post(.cancel(transfer)) }
        }

        package struct AsyncIterator: AsyncIteratorProtocol {
            let stream: AnswerStream

            package mutating func next() async throws(HTTPClient.Failure) -> [UInt8]? {
                try await stream.read()
            }

            package mutating func next(isolation actor: isolated (any Actor)?) async throws(HTTPClient.Failure) -> [UInt8]? {
                try await stream.read()
            }
        }

        package func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(stream: self)
        }

        /// Returns the bytes that came since the last call, at least one; nil at the end. Cancelling the task ends the
        /// transfer.
        private func read() async throws(HTTPClient.Failure) -> [UInt8]? {
            let result: Result<[UInt8]?, HTTPClient.Failure> = await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let makesRoom = pipe.take { continuation.resume(returning: $0) }
                    if makesRoom { transfer.loop.post(.drained(transfer)) }
                }
            } onCancel: {
                transfer.loop.post(.cancel(transfer))
            }
            return try result.get()
        }
    }
}

/// The queue between the thread that receives a body and the task that reads it.
final class BodyPipe: Sendable {
    typealias HeadTaker = @Sendable (Result<HTTPClient.Head, HTTPClient.Failure>) -> Void
    typealias Taker = @Sendable (Result<[UInt8]?, HTTPClient.Failure>) -> Void

    /// Bytes that wait unread before the transfer pauses.
    static let bytesMax = 256 << 10

    private struct State {
        var headTaker: HeadTaker?
        var taker: Taker?
        var bytes: [UInt8] = []
        var isFull = false
        var end: Result<Void, HTTPClient.Failure>?
    }

    private let state = Locked(State())

    var isFull: Bool { state.withLock { $0.isFull } }
    /// Whether no more bytes will come.
    var isOver: Bool { state.withLock { $0.end != nil } }

    // MARK: The reader

    /// Sets the function that gets the head. Called once, before the transfer starts.
    func awaitHead(_ taker: @escaping HeadTaker) {
        state.withLock { $0.headTaker = taker }
    }

    /// Hands over the waiting bytes, or those that come next.
    /// - Returns: Whether the transfer was paused and may go on.
    func take(_ taker: @escaping Taker) -> Bool {
        let (ready, makesRoom) = state.withLock { state -> (Result<[UInt8]?, HTTPClient.Failure>?, Bool) in
            if !state.bytes.isEmpty {
                let bytes = state.bytes
                let wasFull = state.isFull
                state.bytes = []
                state.isFull = false
                return (.success(bytes), wasFull)
            }
            if let end = state.end { return (end.map { nil }, false) }
            state.taker = taker
            return (nil, false)
        }
        if let ready { taker(ready) }
        return makesRoom
    }

    // MARK: The transfer's thread

    func deliver(_ head: HTTPClient.Head) {
        let taker = state.withLock { state in
            defer { state.headTaker = nil }
            return state.headTaker
        }
        taker?(.success(head))
    }

    /// - Returns: false if there is no room, and no byte was taken.
    func offer(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let (isTaken, taker) = state.withLock { state -> (Bool, Taker?) in
            if let taker = state.taker {
                state.taker = nil
                return (true, taker)
            }
            if state.bytes.count >= Self.bytesMax {
                state.isFull = true
                return (false, nil)
            }
            state.bytes.append(contentsOf: bytes)
            return (true, nil)
        }
        taker?(.success(Array(bytes)))
        return isTaken
    }

    func end(_ result: Result<Void, HTTPClient.Failure>) {
        let (headTaker, taker) = state.withLock { state -> (HeadTaker?, Taker?) in
            guard state.end == nil else { return (nil, nil) }
            state.end = result
            defer { (state.headTaker, state.taker) = (nil, nil) }
            return (state.headTaker, state.taker)
        }
        if let headTaker {
            let failure = HTTPClient.Failure(.badAnswer(.notHTTP), mayHaveArrived: true)
            headTaker(result.flatMap { .failure(failure) })
        }
        taker?(result.map { nil })
    }
}
