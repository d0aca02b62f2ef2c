import Glibc
import NacreCloudStorage
import NacreCloudWire
import NacreLocks

/// Takes a file into a folder of chunks.
final class FileReceiver: AssetReceiver {
    /// The state between the sender and the thread that takes the bytes. Its lock is never held for long.
    private struct Waiting {
        /// Bytes that no thread has taken yet.
        var bytes: [UInt8] = []
        /// The number of all bytes that came.
        var size: Int64 = 0
        /// Whether a thread takes the bytes, or will soon.
        var isServed = false
        /// Whether the sender has ended and waits until all bytes are taken.
        var isEnding = false
        /// A failure on the thread, for the sender's next call.
        var failure: (any Error)?
        /// The suspended sender, while the thread is behind.
        var bringer: CheckedContinuation<Void, Never>?

        /// Whether the thread has enough work. Without it the thread leaves, and is asked again later.
        var isEnough: Bool { failure == nil && (isEnding ? !bytes.isEmpty : bytes.count >= FileReceiver.bufferBytes) }
        /// Whether the sender must wait for the thread.
        var isBehind: Bool { isServed && (isEnding || bytes.count >= FileReceiver.bufferBytes * 2) }
    }

    private struct State {
        var cuts = ContentCuts()
        /// The chunk after the last cut.
        var growing: GrowingChunk?
        /// Complete chunks that are not hashed yet, oldest first.
        var unnamed: [GrowingChunk] = []
        /// The hasher, made with the first chunk.
        var hasher: ChunkHasher?
        /// The number of chunks that were begun.
        var begun = 0
        var chunks: [AssetChunk] = []
        /// Chunks that this receiver has pinned. The text is the path of a new one's file aside.
        var pinned: [AssetChunk: String?] = [:]
        /// Chunks whose names may not be on the disk yet, and whether their bytes are.
        var unsynced: [ChunkName: Bool] = [:]
        var isReleased = false
        /// The folder, opened before the first chunk was written, so that a sync reports all failed writes.
        var disk: Int32?
    }

    /// The number of chunks from which on the whole disk is synced at once. On this server: forty chunks then take some
    /// milliseconds, and one by one four hundred.
    private static let chunksForAll = 5

    /// The bytes for which a thread is asked. While it works, twice as many may wait.
    private static let bufferBytes = 64 * 1024

    private let files: AssetFiles
    private let key: [UInt8]
    private let prefix: String
    private let waiting = Locked(Waiting())
    private let state = Locked(State())

    init(_ files: AssetFiles, key: [UInt8], prefix: String) {
        self.files = files
        self.key = key
        self.prefix = prefix
    }

    func add(_ piece: [UInt8]) async throws {
        let mustAsk = try waiting.withLock { waiting in
            if let failure = waiting.failure { throw failure }
            waiting.size += Int64(piece.count)
            if waiting.bytes.isEmpty { waiting.bytes = piece } else { waiting.bytes += piece }
            let mustAsk = !waiting.isServed && waiting.isEnough
            if mustAsk { waiting.isServed = true }
            return mustAsk
        }
        if mustAsk { try ask() }
        await whileBehind()
    }

    func finish() async throws -> ReceivedAsset {
        let (size, bytes) = waiting.withLock { waiting in
            waiting.isEnding = true
            return (waiting.size, waiting.bytes)
        }
        if size <= inlineAssetBytesMax { return inline(bytes) }
        await whileBehind()
        return try await files.threads.run { [self] in
            try state.withLock { state in
                let (rest, failure) = waiting.withLock { ($0.bytes, $0.failure) }
                if let failure { throw failure }
                try take(rest, &state)
                endChunk(&state)
                if let hasher = state.hasher { try nameChunks(try hasher.rest(), &state) }
                try moveIntoPlace(state.chunks, &state)
                return ReceivedAsset(
                    size: size, checksum: ChunkNaming.checksum(of: state.chunks, under: key), chunks: state.chunks, inline: nil)
            }
        }
    }

    func takeUp(_ chunk: AssetChunk, isNamed: Bool) async throws -> Bool {
        try await files.threads.run { [self] in
            if state.withLock({ $0.pinned[chunk] != nil }) { return true }
            // Pin first: from here on the chunk is not removed.
            files.pin(chunk.name)
            do {
                files.willRead(chunk.name)
                let bytes = try FileCall.contents(files.path(of: chunk.name), bytesMax: chunk.size)
                guard let bytes, (try? ChunkNaming.verify(bytes, are: chunk, under: key)) != nil else {
                    files.unpin([chunk.name])
                    return false
                }
            } catch {
                files.unpin([chunk.name])
                throw error
            }
            let isOurs = state.withLock { state in
                guard !state.isReleased, state.pinned[chunk] == nil else { return false }
                state.pinned[chunk] = .some(nil)
                if !isNamed { state.unsynced[chunk.name] = false }
                return true
            }
            if !isOurs { files.unpin([chunk.name]) }
            return true
        }
    }

    func add(_ bytes: [UInt8], as chunk: AssetChunk) async throws -> Bool {
        try await files.threads.run { [self] in
            guard (try? ChunkNaming.verify(bytes, are: chunk, under: key)) != nil else { return false }
            try state.withLock { state in
                guard try begin(chunk, &state) else { return }
                let path = prefix + chunk.name.text
                try FileCall.write(bytes, to: path)
                state.pinned[chunk] = path
                try place(chunk, isOnDisk: true, &state)
            }
            return true
        }
    }

    func finish(_ chunks: [AssetChunk]) async throws -> ReceivedAsset {
        try await files.threads.run { [self] in
            try state.withLock { state in
                guard !state.isReleased, chunks.allSatisfy({ state.pinned[$0] != nil }) else {
                    throw StoreError(.closed, "A file was ended before all of it was there")
                }
                try moveIntoPlace(chunks, &state)
                return ReceivedAsset(
                    size: chunks.reduce(0) { $0 + Int64($1.size) }, checksum: ChunkNaming.checksum(of: chunks, under: key), chunks: chunks,
                    inline: nil)
            }
        }
    }

    func release() async -> [ChunkName] {
        // A small file has no chunks to clean up, and needs no thread.
        let isEmpty = state.withLockIfAvailable { state in
            state.isReleased = state.isReleased || state.begun == 0 && state.pinned.isEmpty
            return state.isReleased
        }
        if isEmpty == true { return [] }
        let names = try? await files.threads.run { [self] in
            state.withLock { state -> [ChunkName] in
                guard !state.isReleased else { return [] }
                state.isReleased = true
                (state.growing, state.unnamed) = (nil, [])
                for case let path? in state.pinned.values { try? FileCall.remove(path) }
                if let disk = state.disk { close(disk) }
                state.disk = nil
                files.unpin(state.pinned.keys.map(\.name))
                return state.pinned.compactMap { $0.value == nil ? $0.key.name : nil }
            }
        }
        return names ?? []
    }

    private func inline(_ bytes: [UInt8]) -> ReceivedAsset {
        let chunks = bytes.isEmpty ? [] : [AssetChunk(name: ChunkNaming.name(of: bytes, under: key), size: bytes.count)]
        return ReceivedAsset(size: Int64(bytes.count), checksum: ChunkNaming.checksum(of: chunks, under: key), chunks: [], inline: bytes)
    }

    // MARK: Received bytes

    /// Asks a thread to take the bytes, after its earlier jobs.
    private func ask() throws {
        do {
            try files.threads.start { [self] in serve() }
        } catch {
            waiting.withLock { $0.isServed = false }
            throw error
        }
    }

    /// Returns when the thread is not behind.
    private func whileBehind() async {
        await withCheckedContinuation { bringer in
            let isBehind = waiting.withLock { waiting in
                if waiting.isBehind { waiting.bringer = bringer }
                return waiting.isBehind
            }
            if !isBehind { bringer.resume() }
        }
    }

    /// Takes the waiting bytes on a thread, and goes on as long as no other job wants the thread.
    private func serve() {
        while let piece = nextPiece() {
            // Note the failure under the lock, so that `finish` cannot miss it.
            state.withLock { state in
                do { try take(piece, &state) } catch { waiting.withLock { $0.failure = error } }
            }
            // `start` fails if the store is closed; then the threads finish the jobs that they have.
            if files.threads.isWanted, (try? files.threads.start { [self] in serve() }) != nil { return }
        }
    }

    /// Returns the waiting bytes if there are enough; nil: the thread leaves.
    private func nextPiece() -> [UInt8]? {
        let (piece, bringer) = waiting.withLock { waiting in
            let piece = waiting.isEnough ? waiting.bytes : nil
            if piece == nil { waiting.isServed = false } else { waiting.bytes = [] }
            guard !waiting.isBehind else { return (piece, nil as CheckedContinuation<Void, Never>?) }
            defer { waiting.bringer = nil }
            return (piece, waiting.bringer)
        }
        bringer?.resume()
        return piece
    }

    private func take(_ piece: [UInt8], _ state: inout State) throws {
        guard !state.isReleased else { return }
        var start = 0
        while start < piece.count {
            let cut = state.cuts.next(in: piece, from: start)
            let growing = try state.growing ?? beginChunk(&state)
            let part = start..<(cut ?? piece.count)
            state.hasher?.add(piece[part])
            try growing.add(piece, part)
            if cut != nil { endChunk(&state) }
            start = part.upperBound
        }
        if let hasher = state.hasher { try nameChunks(try hasher.digests(), &state) }
    }

    private func beginChunk(_ state: inout State) throws -> GrowingChunk {
        if state.disk == nil { state.disk = try FileCall.openFolder(files.folder) }
        if state.hasher == nil { state.hasher = try ChunkHasher(files.threads) }
        state.begun += 1
        let chunk = try GrowingChunk(at: "\(prefix)\(state.begun)")
        state.growing = chunk
        return chunk
    }

    /// Ends the chunk after the last cut.
    private func endChunk(_ state: inout State) {
        guard let growing = state.growing else { return }
        state.growing = nil
        state.unnamed.append(growing)
        state.hasher?.endChunk()
    }

    /// Names the hashed chunks, and keeps the new ones aside.
    private func nameChunks(_ digests: [[UInt8]], _ state: inout State) throws {
        let named = state.unnamed.prefix(digests.count)
        state.unnamed.removeFirst(named.count)
        for (growing, digest) in zip(named, digests) {
            let chunk = AssetChunk(name: ChunkNaming.name(ofDigest: digest, under: key), size: growing.size)
            state.chunks.append(chunk)
            if try begin(chunk, &state) { state.pinned[chunk] = growing.keep() }
        }
    }

    /// Pins a chunk.
    /// - Returns: Whether it must be written, because it is missing or damaged.
    private func begin(_ chunk: AssetChunk, _ state: inout State) throws -> Bool {
        guard state.pinned[chunk] == nil, !state.isReleased else { return false }
        if state.disk == nil { state.disk = try FileCall.openFolder(files.folder) }
        files.pin(chunk.name)
        state.pinned[chunk] = .some(nil)
        files.willRead(chunk.name)
        let there = try FileCall.contents(files.path(of: chunk.name), bytesMax: chunk.size)
        guard let there, (try? ChunkNaming.verify(there, are: chunk, under: key)) != nil else { return true }
        // The chunk may belong to another receiver that has not finished.
        state.unsynced[chunk.name] = false
        return false
    }

    // MARK: Paths

    /// Moves chunks to their paths, and returns when they are there on the disk. No row names them before. A receiver
    /// that finds one there, cut by a power failure, verifies it.
    private func moveIntoPlace(_ chunks: [AssetChunk], _ state: inout State) throws {
        for chunk in chunks { try place(chunk, isOnDisk: false, &state) }
        if let disk = state.disk, state.unsynced.count >= Self.chunksForAll, FileCall.tellsOfAll {
            try FileCall.syncAll(beside: disk, files.folder)
        } else if !state.unsynced.isEmpty {
            for (name, isOnDisk) in state.unsynced where !isOnDisk { try FileCall.sync(file: files.path(of: name)) }
            for folder in Set(state.unsynced.keys.map(files.subfolder(of:))) { try FileCall.sync(folder: folder) }
            try FileCall.sync(folder: files.folder)
        }
        state.unsynced = [:]
    }

    /// Moves a chunk from its file aside to its path.
    private func place(_ chunk: AssetChunk, isOnDisk: Bool, _ state: inout State) throws {
        guard case let path?? = state.pinned[chunk] else { return }
        state.unsynced[chunk.name] = isOnDisk
        try files.place(path, as: chunk)
        state.pinned[chunk] = .some(nil)
    }
}
