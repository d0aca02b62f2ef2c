import NacreCloudStorage
import NacreCloudWire
import NacreLocks

/// Takes a file into a bucket. Each chunk is sent as soon as it is cut, a few at a time, even if the bucket has it. A
/// question before would cost a request, too, and would not tell whether the object is whole.
final class S3Receiver: AssetReceiver {
    private struct State {
        /// Bytes that were not cut yet.
        var buffer: [UInt8] = []
        var cutter = ContentCutter()
        var size: Int64 = 0
        var chunks: [AssetChunk] = []
        var pinned: Set<AssetChunk> = []
        var isReleased = false
        var onTheirWay: [Task<Void, any Error>] = []
        /// Whether a write to the bucket failed.
        var isFailed = false
    }

    /// Bytes that are cut at once.
    private static let bufferBytes = 256 * 1024
    /// Chunks of one file that are sent at a time.
    private static let atOnce = 4

    private let assets: S3Assets
    private let key: [UInt8]
    private let state = Locked(State())

    init(_ assets: S3Assets, key: [UInt8]) {
        (self.assets, self.key) = (assets, key)
    }

    func add(_ piece: [UInt8]) async throws {
        let isFull = state.withLock { state in
            state.size += Int64(piece.count)
            state.buffer += piece
            return state.buffer.count >= Self.bufferBytes
        }
        if isFull { try await take() }
    }

    func finish() async throws -> ReceivedAsset {
        let inline = state.withLock { $0.size <= inlineAssetBytesMax ? $0.buffer : nil }
        if let inline {
            let chunks = inline.isEmpty ? [] : [AssetChunk(name: ChunkNaming.name(of: inline, under: key), size: inline.count)]
            return ReceivedAsset(size: Int64(inline.count), checksum: ChunkNaming.checksum(of: chunks, under: key), chunks: [], inline: inline)
        }
        try await take()
        if let rest = state.withLock({ $0.cutter.rest() }) { try await send(rest) }
        while let sending = state.withLock({ $0.onTheirWay.isEmpty ? nil : $0.onTheirWay.removeFirst() }) { try await sending.value }
        let (size, chunks) = state.withLock { ($0.size, $0.chunks) }
        return ReceivedAsset(size: size, checksum: ChunkNaming.checksum(of: chunks, under: key), chunks: chunks, inline: nil)
    }

    func takeUp(_ chunk: AssetChunk, isNamed: Bool) async throws -> Bool {
        if state.withLock({ $0.pinned.contains(chunk) }) { return true }
        // Pin first: from here on the chunk is not removed.
        try await assets.pin(chunk.name)
        do {
            _ = try await assets.chunk(chunk, under: key)
        } catch {
            assets.unpin([chunk.name])
            if let error = error as? StoreError, error.code == .corrupt { return false }
            throw error
        }
        keep(chunk)
        return true
    }

    func add(_ bytes: [UInt8], as chunk: AssetChunk) async throws -> Bool {
        guard (try? ChunkNaming.verify(bytes, are: chunk, under: key)) != nil else { return false }
        if state.withLock({ $0.pinned.contains(chunk) }) { return true }
        try await assets.pin(chunk.name)
        await assets.slots.take()
        defer { assets.slots.give() }
        do {
            try await assets.put(bytes, as: chunk.name)
        } catch {
            noteFailure()
            assets.unpin([chunk.name])
            throw error
        }
        keep(chunk)
        return true
    }

    func finish(_ chunks: [AssetChunk]) async throws -> ReceivedAsset {
        guard state.withLock({ state in !state.isReleased && chunks.allSatisfy { state.pinned.contains($0) } }) else {
            throw StoreError(.closed, "A file was ended before all of it was there")
        }
        return ReceivedAsset(
            size: chunks.reduce(0) { $0 + Int64($1.size) }, checksum: ChunkNaming.checksum(of: chunks, under: key), chunks: chunks, inline: nil)
    }

    func release() async -> [ChunkName] {
        let sending = state.withLock { state in
            state.isReleased = true
            defer { state.onTheirWay = [] }
            return state.onTheirWay
        }
        for task in sending { task.cancel() }
        for task in sending { _ = try? await task.value }
        let (names, isFailed) = state.withLock { state in
            defer { state.pinned = [] }
            return (state.pinned.map(\.name), state.isFailed)
        }
        assets.unpin(names)
        // A bucket that just failed would fail to remove the chunks, and leave the removals in doubt. The next search
        // for orphans removes them.
        return isFailed ? [] : names
    }

    private func noteFailure() { state.withLock { $0.isFailed = true } }

    /// Notes a chunk that was pinned for this receiver. If it was noted before, or the receiver is released, the second
    /// pin is given back.
    private func keep(_ chunk: AssetChunk) {
        let isOurs = state.withLock { !$0.isReleased && $0.pinned.insert(chunk).inserted }
        if !isOurs { assets.unpin([chunk.name]) }
    }

    private func take() async throws {
        let ends = state.withLock { state -> [[UInt8]] in
            var ends: [[UInt8]] = []
            state.cutter.add(state.buffer) { ends.append($0) }
            state.buffer = []
            return ends
        }
        for bytes in ends { try await send(bytes) }
    }

    /// Begins to send a chunk, and returns when the next one may come.
    private func send(_ bytes: [UInt8]) async throws {
        let chunk = AssetChunk(name: ChunkNaming.name(of: bytes, under: key), size: bytes.count)
        let isNew = state.withLock { state in
            state.chunks.append(chunk)
            return !state.pinned.contains(chunk) && !state.isReleased
        }
        guard isNew else { return }
        try await assets.pin(chunk.name)
        keep(chunk)
        while let first = state.withLock({ $0.onTheirWay.count < Self.atOnce ? nil : $0.onTheirWay.removeFirst() }) { try await first.value }
        await assets.slots.take()
        let task = Task { [self] in
            defer { assets.slots.give() }
            do {
                try await assets.put(bytes, as: chunk.name)
            } catch {
                noteFailure()
                throw error
            }
        }
        state.withLock { $0.onTheirWay.append(task) }
    }
}
