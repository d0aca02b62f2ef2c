import Glibc
import NacreCloudContainer
import NacreCloudWire
import NacreLocks

/// Takes a file into a folder of chunks.
final class FileReceiver: AssetReceiver {
    /// Between who brings bytes and the threads. Its lock is never held for long.
    private struct Waiting {
        /// Bytes that no thread has taken yet.
        var bytes: [UInt8] = []
        /// All that came.
        var size: Int64 = 0
        /// A thread was asked to take them, and has not done so.
        var isAsked = false
        /// What went wrong when nobody waited.
        var failure: (any Error)?
    }

    private struct State {
        var cutter = ContentCutter()
        var chunks: [AssetChunk] = []
        /// Chunks that this receiver has pinned; the text is the file aside in which a new one stands.
        var pinned: [ChunkName: String?] = [:]
        /// Folders whose names may not be on the disk yet.
        var unsynced: Set<String> = []
        var isReleased = false
        /// The folder, opened before the first chunk was written, so that it tells of what could not be.
        var disk: Int32?
    }

    /// New chunks from which on all of the disk is synced at once, before and after they get their places. On this server: forty chunks take twenty
    /// milliseconds then, and four hundred one by one.
    private static let chunksForAll = 5

    /// A thread is asked for so many bytes at a time, and while it works on them as many more may come.
    private static let bufferBytes = 128 * 1024

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
        let (mustAsk, isFull) = try waiting.withLock { waiting in
            if let failure = waiting.failure { throw failure }
            waiting.size += Int64(piece.count)
            waiting.bytes += piece
            let mustAsk = !waiting.isAsked && waiting.bytes.count >= Self.bufferBytes
            if mustAsk { waiting.isAsked = true }
            return (mustAsk, waiting.bytes.count >= Self.bufferBytes * 2)
        }
        if mustAsk {
            try files.threads.start { [self] in
                // Noted under the lock, so that `finish` cannot miss it.
                state.withLock { state in
                    do { try take(&state) } catch { waiting.withLock { $0.failure = error } }
                }
                waiting.withLock { $0.isAsked = false }
            }
        }
        // Where the threads are behind, who brings bytes waits for them.
        if isFull { try await files.threads.run { [self] in try state.withLock { try take(&$0) } } }
    }

    func finish() async throws -> ReceivedAsset {
        try await files.threads.run { [self] in
            try state.withLock { state in
                let (size, failure) = waiting.withLock { ($0.size, $0.failure) }
                if let failure { throw failure }
                if size <= inlineAssetBytesMax { return inline() }
                try take(&state)
                if let rest = state.cutter.rest() { try keep(rest, &state) }
                try moveIntoPlace(&state)
                return ReceivedAsset(
                    size: size, checksum: ChunkNaming.checksum(of: state.chunks, under: key), chunks: state.chunks, inline: nil)
            }
        }
    }

    func takeUp(_ chunk: AssetChunk, isNamed: Bool) async throws -> Bool {
        try await files.threads.run { [self] in
            if state.withLock({ $0.pinned[chunk.name] != nil }) { return true }
            // Pinned before it is looked for: from here on nobody removes it.
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
                guard !state.isReleased, state.pinned[chunk.name] == nil else { return false }
                state.pinned[chunk.name] = .some(nil)
                if !isNamed { state.unsynced.insert(files.subfolder(of: chunk.name)) }
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
                try keep(bytes, as: chunk.name, &state, isSynced: true)
                try place(chunk.name, &state)
            }
            return true
        }
    }

    func finish(_ chunks: [AssetChunk]) async throws -> ReceivedAsset {
        try await files.threads.run { [self] in
            try state.withLock { state in
                guard !state.isReleased, chunks.allSatisfy({ state.pinned[$0.name] != nil }) else {
                    throw StoreError(.closed, "A file was ended before all of it was there")
                }
                try moveIntoPlace(&state)
                return ReceivedAsset(
                    size: chunks.reduce(0) { $0 + Int64($1.size) }, checksum: ChunkNaming.checksum(of: chunks, under: key), chunks: chunks,
                    inline: nil)
            }
        }
    }

    func release() async -> [ChunkName] {
        let names = try? await files.threads.run { [self] in
            state.withLock { state -> [ChunkName] in
                guard !state.isReleased else { return [] }
                state.isReleased = true
                for case let path? in state.pinned.values { try? FileCall.remove(path) }
                if let disk = state.disk { close(disk) }
                state.disk = nil
                files.unpin(state.pinned.keys)
                return state.pinned.compactMap { $0.value == nil ? $0.key : nil }
            }
        }
        return names ?? []
    }

    private func inline() -> ReceivedAsset {
        let bytes = waiting.withLock { $0.bytes }
        let chunks = bytes.isEmpty ? [] : [AssetChunk(name: ChunkNaming.name(of: bytes, under: key), size: bytes.count)]
        return ReceivedAsset(size: Int64(bytes.count), checksum: ChunkNaming.checksum(of: chunks, under: key), chunks: [], inline: bytes)
    }

    private func take(_ state: inout State) throws {
        let piece = waiting.withLock { waiting in
            defer { waiting.bytes = [] }
            return waiting.bytes
        }
        var ends: [[UInt8]] = []
        state.cutter.add(piece) { ends.append($0) }
        for bytes in ends { try keep(bytes, &state) }
    }

    /// Writes a chunk aside, unless it is there. One that is there and is not what it should be is written over.
    private func keep(_ bytes: [UInt8], _ state: inout State) throws {
        let name = ChunkNaming.name(of: bytes, under: key)
        state.chunks.append(AssetChunk(name: name, size: bytes.count))
        try keep(bytes, as: name, &state, isSynced: false)
    }

    private func keep(_ bytes: [UInt8], as name: ChunkName, _ state: inout State, isSynced: Bool) throws {
        guard state.pinned[name] == nil, !state.isReleased else { return }
        files.pin(name)
        state.pinned[name] = .some(nil)
        files.willRead(name)
        if try FileCall.contents(files.path(of: name), bytesMax: bytes.count) == bytes {
            // It may be another receiver's, that has not come to its end.
            state.unsynced.insert(files.subfolder(of: name))
            return
        }
        if state.disk == nil { state.disk = try FileCall.openFolder(files.folder) }
        let path = prefix + name.text
        state.pinned[name] = path
        try FileCall.write(bytes, to: path, isSynced: isSynced)
    }

    /// The bytes of chunks are on the disk before they get their places, and their places before this returns.
    private func moveIntoPlace(_ state: inout State) throws {
        let aside = state.pinned.values.compactMap(\.self)
        let disk = aside.count >= Self.chunksForAll && FileCall.tellsOfAll ? state.disk : nil
        if let disk { try FileCall.syncAll(beside: disk, files.folder) } else { for path in aside { try FileCall.sync(file: path) } }
        for name in Array(state.pinned.keys) { try place(name, &state) }
        if let disk {
            try FileCall.syncAll(beside: disk, files.folder)
        } else {
            for folder in state.unsynced { try FileCall.sync(folder: folder) }
            if !state.unsynced.isEmpty { try FileCall.sync(folder: files.folder) }
        }
        state.unsynced = []
    }

    /// Moves a chunk that stands aside to its place.
    private func place(_ name: ChunkName, _ state: inout State) throws {
        guard case let path?? = state.pinned[name] else { return }
        let folder = files.subfolder(of: name)
        if state.unsynced.insert(folder).inserted { try FileCall.makeFolder(folder) }
        try files.place(path, as: name)
        state.pinned[name] = .some(nil)
    }
}
