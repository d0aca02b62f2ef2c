import NacreCloudContainer
import NacreCrypto
import NacreLocks

/// Hashes the chunks of a file beside the thread that cuts and writes them. What came waits here until another thread has time for it, or until there is so
/// much that the writer hashes it itself; where all threads have work, nothing waits. Thread-safe; one writer.
final class ChunkHasher: Sendable {
    private enum Step: Sendable {
        case bytes(ArraySlice<UInt8>)
        /// The chunk ends here.
        case end
    }

    private struct Queue {
        var steps: [Step] = []
        var bytes = 0
        /// A thread hashes what waits, or will soon.
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

    /// From so many bytes on another thread is woken: on a virtual machine that takes as long as it takes to hash a quarter of them.
    private static let bytesForThread = 128 * 1024
    /// So many may wait.
    private static let bytesMax = 256 * 1024

    private let threads: FileThreads
    private let queue = Locked(Queue())
    /// Held while what was taken of the queue is hashed, so that all is in its order.
    private let work: Locked<Work>

    init(_ threads: FileThreads) throws(StoreError) {
        self.threads = threads
        do { work = Locked(try Work()) } catch { throw Self.fault(error) }
    }

    /// Takes what comes next of a chunk.
    func add(_ bytes: ArraySlice<UInt8>) {
        let (isMuch, isServed) = queue.withLock { queue in
            queue.steps.append(.bytes(bytes))
            queue.bytes += bytes.count
            let isMuch = queue.bytes >= (queue.isServed ? Self.bytesMax : Self.bytesForThread)
            return (isMuch, queue.isServed)
        }
        if isServed ? isMuch : !threads.hasFree || isMuch && !isAsked() { hash() }
    }

    /// Ends a chunk.
    func endChunk() { queue.withLock { $0.steps.append(.end) } }

    /// The digests of the next chunks that were ended, as far as they are hashed by now.
    func digests() throws(StoreError) -> [[UInt8]] {
        try Self.checked(work.withLockIfAvailable { $0.takeDigests() } ?? .success([]))
    }

    /// The digests of all other chunks that were ended.
    func rest() throws(StoreError) -> [[UInt8]] {
        try Self.checked(
            work.withLock { work in
                hash(work)
                return work.takeDigests()
            })
    }

    /// Hashes what waits, here, after what another thread has under way.
    private func hash() { work.withLock { hash($0) } }

    private func hash(_ work: Work) {
        while let steps = next() { for step in steps { work.take(step) } }
    }

    /// Has another thread hash what waits.
    /// - Returns: false where that cannot be.
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
