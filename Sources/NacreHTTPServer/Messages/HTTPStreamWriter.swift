import CNacreSockets
import Glibc
import NacreLocks

/// A part of an open file. Only bytes in the kernel's page cache are sent.
package struct ResidentPart: Sendable {
    let descriptor: Int32
    let bytes: Range<Int>
    /// Whether the bytes just read of the file may be sent. `isWhole` is false for a short read: the kernel may still
    /// be loading the rest, and no more is read. The closure keeps the descriptor open. It is called on the loop's
    /// thread and must return at once.
    let isSound: @Sendable (_ isWhole: Bool) -> Bool

    package init(descriptor: Int32, bytes: Range<Int>, isSound: @escaping @Sendable (_ isWhole: Bool) -> Bool) {
        self.descriptor = descriptor
        self.bytes = bytes
        self.isSound = isSound
    }
}

/// The writer of a streamed response body. One task at a time.
package final class HTTPStreamWriter: Sendable {
    /// The result of the connection's read from the writer.
    enum Supply {
        case bytes(Int)
        /// No bytes now; `onBytes` will be called.
        case empty
        case end
        case failed
    }

    fileprivate struct State {
        var waiting: [UInt8] = []
        var sent = 0
        var isComplete = false
        var isFailed = false
        /// Whether the connection found no bytes and waits.
        var isStarved = false
        /// The parts of files after the bytes of `waiting`, next first.
        var parts: ArraySlice<ResidentPart> = []
        /// The bytes of the first part that were taken.
        var sentOfPart = 0
        /// The bytes that were taken of all parts of the current write.
        var sentOfParts = 0
        /// The suspended write. It is resumed with the number of bytes of parts that were taken.
        var writer: CheckedContinuation<Int, any Error>?
    }

    private let state = Locked(State())
    private let onBytes: @Sendable () -> Void
    /// The ledger of the answered request, which counts as waiting while the client does not read; nil without a
    /// ledger.
    private let ledger: RequestLedger?
    private let bufferedBytesMax: Int
    /// Whether parts of files are taken. If not, `write` takes no bytes of them.
    private let takesParts: Bool

    init(
        bufferedBytesMax: Int = ServerLimits.bufferedBytesMax, takesParts: Bool = true, ledger: RequestLedger? = nil,
        onBytes: @escaping @Sendable () -> Void
    ) {
        self.ledger = ledger
        self.bufferedBytesMax = bufferedBytesMax
        self.takesParts = takesParts
        self.onBytes = onBytes
    }

    /// The written bytes that are not taken.
    var untaken: [UInt8] { state.withLock { Array($0.waiting[$0.sent...]) } }

    /// The number of written bytes that wait to be taken; nil with parts of files, because it is unknown how much of
    /// them is in memory.
    var readyBytes: Int? { state.withLock { $0.parts.isEmpty ? $0.waiting.count - $0.sent : nil } }

    /// Sends bytes. Waits if `ServerLimits.bufferedBytesMax` or more are then untaken.
    /// - Throws: `CancellationError` if the client went away.
    package func write(_ bytes: [UInt8]) async throws {
        guard !bytes.isEmpty, !offer(bytes) else { return }
        _ = try await whileWaiting { put(bytes, $0) }
    }

    /// Sends bytes if they find room at once.
    /// - Returns: false if there is no room, a write waits already, or the client went away.
    package func offer(_ bytes: [UInt8]) -> Bool {
        let (isTaken, wasStarved) = state.withLock { state -> (Bool, Bool) in
            let left = state.waiting.count - state.sent
            guard !state.isFailed, !state.isComplete, state.writer == nil, left + bytes.count < bufferedBytesMax else { return (false, false) }
            state.add(bytes)
            defer { state.isStarved = false }
            return (true, state.isStarved)
        }
        if wasStarved { onBytes() }
        return isTaken
    }

    /// Sends parts of files, and waits until the client has taken them. They are read straight into the connection's
    /// buffer when it can take more. Only bytes in the kernel's page cache are read, so that the loop never waits for a
    /// disk.
    /// - Returns: The number of bytes taken. It is smaller if the next bytes are not in memory or not sound.
    /// - Throws: `CancellationError` if the client went away.
    package func write(_ parts: [ResidentPart]) async throws -> Int {
        guard takesParts, !parts.isEmpty else { return 0 }
        return try await whileWaiting { put(parts, $0) }
    }

    /// Suspends the writer while it waits for the client.
    private func whileWaiting(_ body: (CheckedContinuation<Int, any Error>) -> Void) async throws -> Int {
        guard let ledger else { return try await untilTold(body) }
        return try await ledger.whileWaiting(for: .client) { try await untilTold(body) }
    }

    private func untilTold(_ body: (CheckedContinuation<Int, any Error>) -> Void) async throws -> Int {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation(body)
        } onCancel: {
            abandon()
        }
    }

    private func put(_ parts: [ResidentPart], _ writer: CheckedContinuation<Int, any Error>) {
        let (isRefused, wasStarved) = state.withLock { state -> (Bool, Bool) in
            guard !state.isFailed, state.writer == nil else { return (true, false) }
            state.parts = parts[...]
            (state.sentOfPart, state.sentOfParts) = (0, 0)
            state.writer = writer
            defer { state.isStarved = false }
            return (false, state.isStarved)
        }
        if isRefused { writer.resume(throwing: CancellationError()) }
        if wasStarved { onBytes() }
    }

    private func put(_ bytes: [UInt8], _ writer: CheckedContinuation<Int, any Error>) {
        enum Outcome { case refused, taken, waits }
        let (outcome, wasStarved) = state.withLock { state -> (Outcome, Bool) in
            guard !state.isFailed, state.writer == nil else { return (.refused, false) }
            state.add(bytes)
            defer { state.isStarved = false }
            guard state.waiting.count - state.sent >= bufferedBytesMax else { return (.taken, state.isStarved) }
            state.writer = writer
            return (.waits, state.isStarved)
        }
        switch outcome {
        case .refused: writer.resume(throwing: CancellationError())
        case .taken: writer.resume(returning: 0)
        case .waits: break
        }
        if wasStarved { onBytes() }
    }

    /// Ends the body, either complete or cut so that the client sees that bytes are missing.
    func end(complete: Bool) {
        let wasStarved = state.withLock { state in
            if complete { state.isComplete = true } else { state.isFailed = true }
            defer { state.isStarved = false }
            return state.isStarved
        }
        if wasStarved { onBytes() }
    }

    /// Ends the writer, because the connection is gone. A suspended write throws.
    func abandon() {
        let writer = state.withLock { state -> CheckedContinuation<Int, any Error>? in
            state.isFailed = true
            state.parts = []
            state.waiting = []
            state.sent = 0
            defer { state.writer = nil }
            return state.writer
        }
        writer?.resume(throwing: CancellationError())
    }

    /// Moves the available bytes into the connection's buffer.
    func take(into buffer: UnsafeMutableRawBufferPointer) -> Supply {
        let (supply, writer, told) = state.withLock { state -> (Supply, CheckedContinuation<Int, any Error>?, Int) in
            if state.isFailed { return (.failed, nil, 0) }
            if state.sent == state.waiting.count, !state.parts.isEmpty { return state.takeParts(into: buffer) }
            let count = min(buffer.count, state.waiting.count - state.sent)
            guard count > 0 else {
                if state.isComplete { return (.end, nil, 0) }
                state.isStarved = true
                return (.empty, nil, 0)
            }
            state.waiting.withUnsafeBytes { waiting in
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: waiting[state.sent..<state.sent + count]))
            }
            state.sent += count
            guard state.parts.isEmpty, state.waiting.count - state.sent <= bufferedBytesMax / 2 else { return (.bytes(count), nil, 0) }
            defer { state.writer = nil }
            return (.bytes(count), state.writer, 0)
        }
        writer?.resume(returning: told)
        return supply
    }
}

extension HTTPStreamWriter.State {
    fileprivate mutating func add(_ bytes: [UInt8]) {
        if sent == waiting.count {
            waiting = bytes
            sent = 0
        } else {
            waiting += bytes
        }
    }

    /// Reads the next bytes of the parts. The suspended write is resumed at their end, or if the next bytes are not in
    /// memory or not sound.
    fileprivate mutating func takeParts(
        into buffer: UnsafeMutableRawBufferPointer
    ) -> (HTTPStreamWriter.Supply, CheckedContinuation<Int, any Error>?, Int) {
        var count = 0
        while count < buffer.count, let part = parts.first {
            let wanted = min(buffer.count - count, part.bytes.count - sentOfPart)
            let got = nacre_read_resident(part.descriptor, buffer.baseAddress.map { $0 + count }, wanted, off_t(part.bytes.lowerBound + sentOfPart))
            let isSound = part.isSound(got == wanted)
            if got > 0, isSound {
                count += got
                sentOfPart += got
            }
            guard got == wanted, isSound else {
                parts = []
                break
            }
            if sentOfPart == part.bytes.count {
                parts.removeFirst()
                sentOfPart = 0
            }
        }
        sentOfParts += count
        if count == 0 { isStarved = true }
        guard parts.isEmpty else { return (.bytes(count), nil, 0) }
        // Drop the slice: an empty one would still keep the files open.
        parts = []
        defer { writer = nil }
        return (count > 0 ? .bytes(count) : .empty, writer, sentOfParts)
    }
}
