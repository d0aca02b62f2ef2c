import CNacreSockets
import Glibc
import NacreLocks

/// A part of an open file, of which only what lies in the kernel's memory is sent.
package struct ResidentPart: Sendable {
    let descriptor: Int32
    let bytes: Range<Int>
    /// Whether what was just read of the file may go out, told whether that was all that was asked for: where it was not, the kernel may be bringing in
    /// the rest, and nothing more is read. It keeps the descriptor open. Asked on the loop's thread: to be answered at once.
    let isSound: @Sendable (_ isWhole: Bool) -> Bool

    package init(descriptor: Int32, bytes: Range<Int>, isSound: @escaping @Sendable (_ isWhole: Bool) -> Bool) {
        self.descriptor = descriptor
        self.bytes = bytes
        self.isSound = isSound
    }
}

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

    fileprivate struct State {
        var waiting: [UInt8] = []
        var sent = 0
        var isComplete = false
        var isFailed = false
        /// The connection found nothing and waits.
        var isStarved = false
        /// Parts of files behind what waits. The first is the next.
        var parts: ArraySlice<ResidentPart> = []
        /// Of the first part.
        var sentOfPart = 0
        /// Of all parts that came together.
        var sentOfParts = 0
        /// It is told how many bytes of parts were taken.
        var writer: CheckedContinuation<Int, any Error>?
    }

    private let state = Locked(State())
    private let onBytes: @Sendable () -> Void
    /// Of the request that is answered, which only waits while the client does not read. nil: nobody counts it.
    private let account: RequestAccount?
    private let bufferedBytesMax: Int
    /// Whether parts of files are taken; else none of them lies in memory.
    private let takesParts: Bool

    init(
        bufferedBytesMax: Int = ServerLimits.bufferedBytesMax, takesParts: Bool = true, account: RequestAccount? = nil,
        onBytes: @escaping @Sendable () -> Void
    ) {
        self.account = account
        self.bufferedBytesMax = bufferedBytesMax
        self.takesParts = takesParts
        self.onBytes = onBytes
    }

    /// All that was written and is not taken.
    var untaken: [UInt8] { state.withLock { Array($0.waiting[$0.sent...]) } }

    /// How much of what was written waits to be taken; of parts of files nobody knows.
    var readyBytes: Int? { state.withLock { $0.parts.isEmpty ? $0.waiting.count - $0.sent : nil } }

    /// Sends bytes, and waits while `ServerLimits.bufferedBytesMax` have not been taken by the client.
    /// - Throws: `CancellationError` where the client went away.
    package func write(_ bytes: [UInt8]) async throws {
        guard !bytes.isEmpty, !offer(bytes) else { return }
        _ = try await whileWaiting { put(bytes, $0) }
    }

    /// Sends bytes if they find room at once.
    /// - Returns: false: there is none, a write waits already, or the client went away.
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

    /// Sends parts of files, and waits until the client has taken them. They are read when it can take more, straight into the connection's buffer,
    /// as far as they lie in the kernel's memory: nobody waits for a disk.
    /// - Returns: how many bytes were taken: fewer than all where the next do not lie in memory, or are not sound.
    /// - Throws: `CancellationError` where the client went away.
    package func write(_ parts: [ResidentPart]) async throws -> Int {
        guard takesParts, !parts.isEmpty else { return 0 }
        return try await whileWaiting { put(parts, $0) }
    }

    /// Waits for the client.
    private func whileWaiting(_ body: (CheckedContinuation<Int, any Error>) -> Void) async throws -> Int {
        guard let account else { return try await untilTold(body) }
        return try await account.whileWaiting(for: .client) { try await untilTold(body) }
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

    /// Moves what is there into the connection's buffer.
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

    /// Reads what comes next of the parts. Their writer is told at their end, and where the next bytes cannot be had so.
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
        // An empty slice would keep the files open.
        parts = []
        defer { writer = nil }
        return (count > 0 ? .bytes(count) : .empty, writer, sentOfParts)
    }
}
