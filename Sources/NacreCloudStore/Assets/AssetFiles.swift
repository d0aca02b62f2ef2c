import Glibc
package import NacreCloudContainer
import NacreLocks

/// Keeps the bytes of assets as files of a folder, a chunk each: `ab/abcd…`, by the first two digits of its name. A chunk is written aside, synced
/// and moved to its place, and never changed; what a process that died left aside is removed by the next opening.
package final class AssetFiles: AssetStorage {
    /// On this server: one writes while another reads, and a slow disk is not made slower by many at once.
    private static let threadCount = 4

    let folder: String
    let threads: FileThreads
    private let pins = Locked(ChunkPins())
    private let counter = Locked(0)

    private init(folder: String, threads: FileThreads) {
        self.folder = folder
        self.threads = threads
    }

    /// Opens the folder, and makes it if it is missing, for this user alone. Nobody else may have it open. On a disk that takes no change it is opened
    /// as it is.
    package static func open(folder: String) async throws -> AssetFiles {
        let threads = try FileThreads(count: threadCount)
        let files = AssetFiles(folder: folder, threads: threads)
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

    package func chunk(_ chunk: AssetChunk, under key: [UInt8]) async throws -> [UInt8] {
        let path = path(of: chunk.name)
        return try await threads.run {
            guard let bytes = try FileCall.contents(path, bytesMax: chunk.size) else {
                throw StoreError(.corrupt, "A chunk of an asset is missing", ["chunk": chunk.name.text])
            }
            try ChunkNaming.verify(bytes, are: chunk, under: key)
            return bytes
        }
    }

    package func remove(_ names: [ChunkName], unless needed: @Sendable ([ChunkName]) async throws -> Set<ChunkName>) async throws {
        let leaving = pins.withLock { $0.beginRemoving(names) }
        let kept = try await needed(leaving)
        try await threads.run { [self] in
            for name in leaving {
                // Under the lock: who takes the chunk up next looks for its file afterwards.
                try pins.withLock { pins in
                    if pins.endRemoving(name), !kept.contains(name) { try FileCall.remove(path(of: name)) }
                }
            }
        }
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
