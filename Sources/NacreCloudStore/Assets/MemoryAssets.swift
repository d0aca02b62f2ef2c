package import NacreCloudStorage
import NacreCloudWire
import NacreLocks

/// Keeps the bytes of assets in memory, and forgets them with the process.
package final class MemoryAssets: AssetStorage {
    /// The bytes, which several storages may share.
    private let chunks: Locked<[ChunkName: [UInt8]]>
    /// Its lock is taken before that of `chunks`.
    private let pins = Locked(ChunkPins())

    package init() { chunks = Locked([:]) }

    /// Makes another storage of the same bytes, as a second server has it: for tests.
    package init(beside other: MemoryAssets) { chunks = other.chunks }

    package func receiver(under key: [UInt8]) -> any AssetReceiver { Receiver(storage: self, key: key) }

    package func name(ofDigest digest: [UInt8], under key: [UInt8]) -> ChunkName { ChunkNaming.name(ofDigest: digest, under: key) }

    package func chunk(_ chunk: AssetChunk, under key: [UInt8]) async throws -> [UInt8] {
        let bytes = chunks.withLock { $0[chunk.name] }
        guard let bytes else { throw StoreError.missing(chunk.name) }
        try ChunkNaming.verify(bytes, are: chunk, under: key)
        return bytes
    }

    package func remove(_ names: [ChunkName], unless needed: @Sendable ([ChunkName]) async throws -> Set<ChunkName>) async throws {
        let leaving = pins.withLock { $0.beginRemoving(names) }
        let kept = try await needed(leaving)
        pins.withLock { pins in
            for name in leaving where pins.endRemoving(name) && !kept.contains(name) { chunks.withLock { $0[name] = nil } }
        }
    }

    package func chunks(in part: UInt8) async throws -> [AssetChunk] {
        chunks.withLock { chunks in
            chunks.filter { $0.key.bytes.first == part }.map { AssetChunk(name: $0.key, size: $0.value.count) }
        }
    }

    package var usage: AssetUsage? {
        chunks.withLock { chunks in chunks.values.reduce(into: AssetUsage()) { $0.add($1.count) } }
    }

    package func close() async {}

    /// Forgets all pins, as the end of a process does: for tests.
    package func end() { pins.withLock { $0 = ChunkPins() } }

    package var chunkNames: Set<ChunkName> { chunks.withLock { Set($0.keys) } }

    /// Keeps bytes that no row refers to, as a process leaves them that ends before its commit: for tests.
    package func leave(_ bytes: [UInt8], as name: ChunkName) { chunks.withLock { $0[name] = bytes } }

    /// Replaces the bytes of a chunk, for tests of damage.
    package func damage(_ name: ChunkName, _ change: (inout [UInt8]) -> Void) {
        chunks.withLock { chunks in
            if var bytes = chunks[name] {
                change(&bytes)
                chunks[name] = bytes
            }
        }
    }

    private final class Receiver: AssetReceiver {
        private struct Received {
            var cutter = ContentCutter()
            var chunks: [AssetChunk] = []
            var bytes: [ChunkName: [UInt8]] = [:]
            var size: Int64 = 0
            /// Chunks that were taken up or added one by one, and pinned at that moment.
            var pinned: Set<AssetChunk> = []
        }

        private let storage: MemoryAssets
        private let key: [UInt8]
        private let received = Locked(Received())

        init(storage: MemoryAssets, key: [UInt8]) {
            self.storage = storage
            self.key = key
        }

        func add(_ piece: [UInt8]) async throws {
            received.withLock { received in
                received.size += Int64(piece.count)
                var ends: [[UInt8]] = []
                received.cutter.add(piece) { ends.append($0) }
                for bytes in ends { take(bytes, &received) }
            }
        }

        func finish() async throws -> ReceivedAsset {
            received.withLock { received in
                if let rest = received.cutter.rest() { take(rest, &received) }
                let checksum = ChunkNaming.checksum(of: received.chunks, under: key)
                if received.size <= inlineAssetBytesMax {
                    let inline = received.chunks.flatMap { received.bytes[$0.name] ?? [] }
                    return ReceivedAsset(size: received.size, checksum: checksum, chunks: [], inline: inline)
                }
                storage.pins.withLock { pins in
                    for (name, bytes) in received.bytes {
                        pins.pin(name)
                        storage.chunks.withLock { $0[name] = bytes }
                    }
                }
                return ReceivedAsset(size: received.size, checksum: checksum, chunks: received.chunks, inline: nil)
            }
        }

        func takeUp(_ chunk: AssetChunk, isNamed: Bool) async throws -> Bool {
            if received.withLock({ $0.pinned.contains(chunk) }) { return true }
            let isThere = storage.pins.withLock { pins in
                guard let bytes = storage.chunks.withLock({ $0[chunk.name] }), (try? ChunkNaming.verify(bytes, are: chunk, under: key)) != nil
                else { return false }
                pins.pin(chunk.name)
                return true
            }
            if isThere { received.withLock { _ = $0.pinned.insert(chunk) } }
            return isThere
        }

        func add(_ bytes: [UInt8], as chunk: AssetChunk) async throws -> Bool {
            guard (try? ChunkNaming.verify(bytes, are: chunk, under: key)) != nil else { return false }
            let isNew = received.withLock { $0.pinned.insert(chunk).inserted }
            storage.pins.withLock { pins in
                if isNew { pins.pin(chunk.name) }
                storage.chunks.withLock { $0[chunk.name] = bytes }
            }
            return true
        }

        func finish(_ chunks: [AssetChunk]) async throws -> ReceivedAsset {
            guard received.withLock({ received in chunks.allSatisfy { received.pinned.contains($0) } }) else {
                throw StoreError(.closed, "A file was ended before all of it was there")
            }
            return ReceivedAsset(
                size: chunks.reduce(0) { $0 + Int64($1.size) }, checksum: ChunkNaming.checksum(of: chunks, under: key), chunks: chunks, inline: nil)
        }

        func release() async -> [ChunkName] {
            let names = received.withLock { received in
                defer { (received.bytes, received.pinned) = ([:], []) }
                return received.pinned.map(\.name) + (received.size <= inlineAssetBytesMax ? [] : Array(received.bytes.keys))
            }
            storage.pins.withLock { pins in
                for name in names { pins.unpin(name) }
            }
            return names
        }

        private func take(_ bytes: [UInt8], _ received: inout Received) {
            let name = ChunkNaming.name(of: bytes, under: key)
            received.chunks.append(AssetChunk(name: name, size: bytes.count))
            received.bytes[name] = bytes
        }
    }
}
