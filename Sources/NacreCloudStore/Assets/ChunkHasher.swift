import NacreCloudStorage
import NacreCrypto
import NacreLocks

/// Hashes the chunks of a file beside the thread that cuts and writes them. Bytes wait here until another thread is
/// free. If there are too many, or all threads are busy, the writer hashes them itself. Thread-safe; one writer.
final class ChunkHasher: Sendable {
    private enum Step: Sendable {
        case bytes(ArraySlice<UInt8>)
        /// The end of a chunk.
        case end
    }

    private struct Queue {
        var steps: [Step] = []
        var bytes = 0
        /// Whether a thread hashes the queue, or will soon.
        var isServed = false
    }

    private final class Work {
        var stream: SHA256.Stream
        var digests: [[UInt8]] = []
        var failure: CryptoError?

        init() throws(CryptoError) { stream = try SHA256.Stream() }

        func take(_ step: Step) {
            switch step {
            case .bytes(let bytes): bytes.withUnsafeBytes { stream.update($0) }
            case .end: do { digests.append(try stream.finish()) } catch { failure = error }
            }
        }

        func takeDigests() -> Result<[[UInt8]], CryptoError> {
            defer { digests = [] }
            return failure.map { .failure($0) } ?? .success(digests)
        }
    }

    /// Waiting bytes from which on another thread is woken. On a virtual machine that takes as long as hashing a
    /// quarter of them.
    private static let bytesForThread = 128 * 1024
    /// The most bytes that may wait.
    private static let bytesMax = 256 * 1024

    private let threads: FileThreads
    private let queue = Locked(Queue())
    /// The hasher's state. Its lock is held while a part of the queue is hashed, so that the order is kept.
    private let work: Locked<Work>

    init(_ threads: FileThreads) throws(StoreError) {
        self.threads = threads
        do { work = Locked(try Work()) } catch { throw Self.fault(error) }
    }

    /// Takes the next bytes of a chunk.
    func add(_ bytes: ArraySlice<UInt8>) {
        let (isMuch, isServed) = queue.withLock { queue in
            queue.steps.append(.bytes(bytes))
            queue.bytes += bytes.count
            let isMuch = queue.bytes >= (queue.isServed ? Self.bytesMax : Self.bytesForThread)
            return (isMuch, queue.isServed)
        }
        if isServed ? isMuch : !threads.hasFree || isMuch && !isAsked() { hash() }
    }

    func endChunk() { queue.withLock { $0.steps.append(.end) } }

    /// Returns the digests of ended chunks that are hashed by now, in order.
    func digests() throws(StoreError) -> [[UInt8]] {
        try Self.checked(work.withLockIfAvailable { $0.takeDigests() } ?? .success([]))
    }

    /// Returns the digests of all other ended chunks.
    func rest() throws(StoreError) -> [[UInt8]] {
        try Self.checked(
            work.withLock { work in
                hash(work)
                return work.takeDigests()
            })
    }

    /// Hashes the queue on this thread, after the work that another thread has begun.
    private func hash() { work.withLock { hash($0) } }

    private func hash(_ work: Work) {
        while let steps = next() { for step in steps { work.take(step) } }
    }

    /// Asks another thread to hash the queue.
    /// - Returns: false if no thread can be asked.
    private func isAsked() -> Bool {
        queue.withLock { $0.isServed = true }
        if (try? threads.start { [self] in hash() }) != nil { return true }
        queue.withLock { $0.isServed = false }
        return false
    }

    private func next() -> [Step]? {
        queue.withLock { queue in
            guard !queue.steps.isEmpty else {
                queue.isServed = false
                return nil
            }
            defer { (queue.steps, queue.bytes) = ([], 0) }
            return queue.steps
        }
    }

    private static func checked(_ digests: Result<[[UInt8]], CryptoError>) throws(StoreError) -> [[UInt8]] {
        do { return try digests.get() } catch { throw fault(error) }
    }

    private static func fault(_ error: CryptoError) -> StoreError {
        StoreError(.unavailable, "A chunk of an asset could not be hashed", ["reason": "\(error)"])
    }
}
