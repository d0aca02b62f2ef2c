import Glibc
package import NacreCloudStorage
import NacreLocks

/// Keeps the bytes of assets as files of a folder, one for each chunk: `ab/abcd…`, by the first two digits of its name.
/// A chunk is written aside, synced, moved to its path, and never changed. The next opening removes unfinished files of
/// a process that died.
package final class AssetFiles: AssetStorage {
    /// The number of threads. On this server: one writes while another reads, and more would not make a slow disk
    /// faster.
    private static let threadCount = 4

    let folder: String
    let threads: FileThreads
    private let pins = Locked(ChunkPins())
    private let counter = Locked(0)
    /// The usage of each part that was searched. Its lock is held while a chunk's file is added or removed, so that the
    /// numbers stay true.
    private let parts = Locked<[UInt8: AssetUsage]>([:])

    /// The number of files that are open for downloads.
    private let open = Locked(0)
    /// The chunks whose bytes need not be verified again for a while.
    private let sound = Locked(SoundChunks())
    /// Nanoseconds since a fixed moment, including time asleep.
    private let clock: @Sendable () -> UInt64

    private init(folder: String, threads: FileThreads, clock: @escaping @Sendable () -> UInt64) {
        self.folder = folder
        self.threads = threads
        self.clock = clock
    }

    /// Opens the folder, and creates it if it is missing, for this user alone. No other process may have it open. A
    /// full or read-only disk is no error: the folder is opened as it is.
    package static func open(
        folder: String, clock: @escaping @Sendable () -> UInt64 = SoundChunks.now
    ) async throws -> AssetFiles {
        let threads = try FileThreads(count: threadCount)
        let files = AssetFiles(folder: folder, threads: threads, clock: clock)
        do {
            try await threads.run {
                do {
                    try FileCall.makeFolder(folder)
                    try FileCall.makeFolder(files.incoming)
                    for name in try FileCall.names(in: files.incoming) { try FileCall.remove("\(files.incoming)/\(name)") }
                } catch let error as StoreError where error.code == .full || error.code == .readOnly {}
            }
        } catch {
            await threads.close()
            throw error
        }
        return files
    }

    package func close() async { await threads.close() }

    package func receiver(under key: [UInt8]) -> any AssetReceiver {
        let number = counter.withLock { counter in
            counter += 1
            return counter
        }
        return FileReceiver(self, key: key, prefix: "\(incoming)/\(number)-")
    }

    package func name(ofDigest digest: [UInt8], under key: [UInt8]) -> ChunkName { ChunkNaming.name(ofDigest: digest, under: key) }

    package func chunk(_ chunk: AssetChunk, under key: [UInt8]) async throws -> [UInt8] {
        let path = path(of: chunk.name)
        return try await threads.run { [self] in
            willRead(chunk.name)
            guard let file = try FileCall.open(path) else {
                throw StoreError.missing(chunk.name)
            }
            let (state, now) = (file.state, clock())
            let bytes = try FileCall.contents(of: file, path, bytesMax: chunk.size)
            try ChunkNaming.verify(bytes, are: chunk, under: key)
            if let state, file.state == state { sound.withLock { $0.note(chunk.name, state, at: now) } }
            return bytes
        }
    }

    package func resident(_ chunks: [AssetChunk]) async -> [ResidentChunk] {
        let now = clock()
        let known = sound.withLock { sound in
            let notes = chunks.map { sound.note(of: $0.name, at: now) }
            return zip(chunks, notes.prefix { $0 != nil }.compactMap(\.self)).map { ($0.name, $1) }
        }
        guard !known.isEmpty else { return [] }
        let files = try? await threads.run { [self] in
            var files: [ResidentChunk] = []
            for (name, note) in known {
                guard let place = OpenFileSlot(among: open), let file = try FileCall.open(path(of: name)), file.state == note.state else { break }
                files.append(
                    ResidentChunk(descriptor: file.descriptor) { [self] isWhole in
                        withExtendedLifetime(place) {
                            let now = clock()
                            return sound.withLock { sound in
                                let stands = sound.stands(note, of: name, at: now)
                                if !isWhole { sound.forget(name) }
                                return stands
                            } && file.state == note.state
                        }
                    })
            }
            return files
        }
        return files ?? []
    }

    package func remove(_ names: [ChunkName], unless needed: @Sendable ([ChunkName]) async throws -> Set<ChunkName>) async throws {
        let leaving = pins.withLock { $0.beginRemoving(names) }
        let kept = try await needed(leaving)
        try await threads.run { [self] in
            for name in leaving {
                // Inside the lock: a receiver that takes the chunk up next looks for its file afterwards.
                try pins.withLock { pins in
                    if pins.endRemoving(name), !kept.contains(name) { try discard(name) }
                }
            }
        }
    }

    package func chunks(in part: UInt8) async throws -> [AssetChunk] {
        try await threads.run { [self] in
            try parts.withLock { parts in
                let folder = subfolder(of: ChunkName([part]))
                let names = try FileCall.names(in: folder).compactMap { ChunkName(text: $0) }
                let chunks = try names.compactMap { name in try FileCall.size(path(of: name)).map { AssetChunk(name: name, size: $0) } }
                parts[part] = chunks.reduce(into: AssetUsage()) { $0.add($1.size) }
                return chunks
            }
        }
    }

    package var usage: AssetUsage? {
        parts.withLock { parts in
            guard parts.count > UInt8.max else { return nil }
            return parts.values.reduce(into: AssetUsage()) { sum, part in
                sum.chunks += part.chunks
                sum.bytes += part.bytes
            }
        }
    }

    /// Call before a chunk's file is read: the bytes that the read brings from the disk are not verified.
    func willRead(_ name: ChunkName) { sound.withLock { $0.forget(name) } }

    /// Moves a new chunk from the file aside to its path. If a chunk is there already, which rows may name, the new
    /// file is synced first.
    func place(_ aside: String, as chunk: AssetChunk) throws(StoreError) {
        let (name, path) = (chunk.name, path(of: chunk.name))
        try changing(name, to: chunk.size) { before throws(StoreError) in
            if before != nil { try FileCall.sync(file: aside) }
            try FileCall.move(aside, to: path, in: subfolder(of: name))
        }
        if let state = FileState(path: path) { sound.withLock { [now = clock()] in $0.note(name, state, at: now) } }
    }

    private func discard(_ name: ChunkName) throws(StoreError) {
        try changing(name, to: nil) { _ throws(StoreError) in try FileCall.remove(path(of: name)) }
    }

    /// Changes a chunk's file and the usage of its part.
    /// - Parameters:
    ///   - size: The size of the chunk's file after the change; nil if it is gone.
    ///   - change: The change. It gets the size before.
    private func changing(_ name: ChunkName, to size: Int?, _ change: (_ before: Int?) throws(StoreError) -> Void) throws(StoreError) {
        let part = name.bytes.first ?? 0
        let result = parts.withLock { parts -> Result<Void, StoreError> in
            do throws(StoreError) {
                let before = try FileCall.size(path(of: name))
                try change(before)
                parts[part]?.remove(before)
                parts[part]?.add(size)
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    private var incoming: String { "\(folder)/incoming" }

    func path(of name: ChunkName) -> String { "\(subfolder(of: name))/\(name.text)" }
    func subfolder(of name: ChunkName) -> String { "\(folder)/\(name.text.prefix(2))" }
    func pin(_ name: ChunkName) { pins.withLock { $0.pin(name) } }
    func unpin(_ names: some Sequence<ChunkName>) {
        pins.withLock { pins in
            for name in names { pins.unpin(name) }
        }
    }
}

/// One of the files that may be open for downloads. The last reference frees it.
private final class OpenFileSlot: Sendable {
    /// Half of the descriptors that connections leave to others (`ServerLimits.descriptorsKept`).
    private static let filesMax = 128

    private let taken: Locked<Int>

    /// Returns nil if all are taken.
    init?(among taken: Locked<Int>) {
        let isFree = taken.withLock { taken in
            if taken >= Self.filesMax { return false }
            taken += 1
            return true
        }
        guard isFree else { return nil }
        self.taken = taken
    }

    deinit { taken.withLock { $0 -= 1 } }
}
