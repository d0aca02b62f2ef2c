package import NacreCloudStorage
import NacreLocks

/// Keeps the bytes of assets in an S3 bucket, one object for each chunk: `ab/abcd…`, as `AssetFiles` names its files. A
/// tool that copies files to a bucket can therefore move a server's assets.
///
/// A chunk is at most 1 MiB, and a part of a multipart upload at least 5, so no object is sent in parts. When its `PUT`
/// is answered, an object is whole and durable, or it is not there. One server owns a prefix of a bucket at a time; an
/// object `owner` names it.
package final class S3Assets: AssetStorage {
    private struct State {
        var pins = ChunkPins()
        /// Objects that are being removed, and the callers that wait for the end of the removal.
        var going: [ChunkName: [CheckedContinuation<Void, Never>]] = [:]
        /// Objects whose removal was not answered. It may still happen, so they are not written before this moment.
        var doubtful: [ChunkName: ContinuousClock.Instant] = [:]
        /// The usage of each part at its last listing.
        var parts: [UInt8: AssetUsage] = [:]
        var isOwned = false
        var isClosed = false
    }

    /// Seconds for which a request that was given up may still be on its way.
    private static let doubtSeconds = 120
    /// The number of objects that are removed or copied at a time.
    private static let atOnce = 8
    private static let ownerKey = "owner"

    let bucket: S3Bucket
    let slots = TransferSlots(S3Bucket.transfers)
    private let owner: String
    private let mayBegin: Bool
    private let state = Locked(State())

    private init(_ bucket: S3Bucket, owner: String, mayBegin: Bool) {
        (self.bucket, self.owner, self.mayBegin) = (bucket, owner, mayBegin)
    }

    /// Checks the owner of the bucket, and takes the bucket if it has none. If the server does not answer, that happens
    /// with the first chunk that is written or removed.
    /// - Parameters:
    ///   - owner: The name of the server's data, the same for every copy of them.
    ///   - mayBegin: Whether a bucket without an owner is taken. If not, the assets must be there already.
    /// - Throws: `StoreError`: `inUse` if the bucket belongs to another server, `unavailable` if requests are refused.
    package static func open(
        _ place: AssetBucket, owner: String, mayBegin: Bool, clock: S3Clock = .system, patience: S3Patience = S3Patience()
    ) async throws -> S3Assets {
        let assets = S3Assets(S3Bucket(place, clock: clock, patience: patience), owner: owner, mayBegin: mayBegin)
        do {
            try await assets.own()
        } catch let error as StoreError where error.code == .unavailable && error.values["status"]?.hasPrefix("4") != true {
            // The server may come back; until then each request fails with this error.
        }
        return assets
    }

    package func close() async { state.withLock { $0.isClosed = true } }

    package func receiver(under key: [UInt8]) -> any AssetReceiver { S3Receiver(self, key: key) }

    package func name(ofDigest digest: [UInt8], under key: [UInt8]) -> ChunkName { ChunkNaming.name(ofDigest: digest, under: key) }

    package func chunk(_ chunk: AssetChunk, under key: [UInt8]) async throws -> [UInt8] {
        do {
            return try await whole(chunk, under: key)
        } catch let error as StoreError where error.code == .corrupt {
            // Try again, because bytes may be altered on their way. Damaged ones fail a second time.
            return try await whole(chunk, under: key)
        }
    }

    private func whole(_ chunk: AssetChunk, under key: [UInt8]) async throws -> [UInt8] {
        try requireOpen()
        guard let bytes = try await bucket.get(Self.key(of: chunk.name), bytesMax: chunk.size) else {
            throw StoreError.missing(chunk.name)
        }
        try ChunkNaming.verify(bytes, are: chunk, under: key)
        return bytes
    }

    package func remove(_ names: [ChunkName], unless needed: @Sendable ([ChunkName]) async throws -> Set<ChunkName>) async throws {
        let leaving = state.withLock { $0.pins.beginRemoving(names) }
        let kept = try await needed(leaving)
        let going = state.withLock { state in
            leaving.filter { name in
                guard state.pins.endRemoving(name), !kept.contains(name), state.going[name] == nil else { return false }
                state.going[name] = []
                return true
            }
        }
        let results = await inTurn(going, atMost: Self.atOnce) { name in await self.discard(name) }
        for result in results { try result.get() }
    }

    private func discard(_ name: ChunkName) async -> Result<Void, any Error> {
        var result = Result<Void, any Error>.success(())
        do {
            try await own()
            try await bucket.remove(Self.key(of: name))
        } catch {
            result = .failure(error)
        }
        let waiting = state.withLock { state in
            if case .failure = result { state.doubtful[name] = .now + .seconds(Self.doubtSeconds) }
            return state.going.removeValue(forKey: name) ?? []
        }
        for continuation in waiting { continuation.resume() }
        return result
    }

    package func chunks(in part: UInt8) async throws -> [AssetChunk] {
        try requireOpen()
        let folder = "\(HexText.encode([part]))/"
        var chunks: [AssetChunk] = []
        var next: String?
        repeat {
            let page = try await bucket.list(folder, after: next)
            chunks += page.objects.compactMap { object in
                ChunkName(text: object.key.dropFirst(folder.count)).map { AssetChunk(name: $0, size: object.size) }
            }
            next = page.next
        } while next != nil
        let usage = chunks.reduce(into: AssetUsage()) { $0.add($1.size) }
        state.withLock { $0.parts[part] = usage }
        return chunks
    }

    /// The usage at the last listing of each part. No request asks for the size of a bucket.
    package var usage: AssetUsage? {
        state.withLock { state in
            guard state.parts.count > UInt8.max else { return nil }
            return state.parts.values.reduce(into: AssetUsage()) { sum, part in
                sum.chunks += part.chunks
                sum.bytes += part.bytes
            }
        }
    }

    // MARK: For receivers

    static func key(of name: ChunkName) -> String { "\(name.text.prefix(2))/\(name.text)" }

    func requireOpen() throws {
        if state.withLock({ $0.isClosed }) { throw StoreError(.closed, "The bucket of assets is closed") }
    }

    /// Pins a chunk, so that it is not removed from here on. Waits for a removal that is under way.
    /// - Throws: `StoreError.unavailable` if it is unknown whether the chunk was or will be removed.
    func pin(_ name: ChunkName) async throws {
        enum Step {
            case pinned
            case wait
            case refuse
        }
        while true {
            let step = state.withLock { state -> Step in
                if state.going[name] != nil { return .wait }
                if let end = state.doubtful[name] {
                    guard end <= .now else { return .refuse }
                    state.doubtful[name] = nil
                }
                state.pins.pin(name)
                return .pinned
            }
            switch step {
            case .pinned: return
            case .refuse:
                throw StoreError(.unavailable, "The bucket of assets has not answered whether a chunk is removed", ["chunk": name.text])
            case .wait:
                await withCheckedContinuation { continuation in
                    let waits = state.withLock { state in
                        guard state.going[name] != nil else { return false }
                        state.going[name]?.append(continuation)
                        return true
                    }
                    if !waits { continuation.resume() }
                }
            }
        }
    }

    func unpin(_ names: some Sequence<ChunkName>) {
        state.withLock { state in
            for name in names { state.pins.unpin(name) }
        }
    }

    func put(_ bytes: [UInt8], as name: ChunkName) async throws {
        try requireOpen()
        try await own()
        try await bucket.put(bytes, as: Self.key(of: name))
    }

    // MARK: The owner of the bucket

    /// Checks once that the bucket belongs to this server.
    private func own() async throws {
        if state.withLock({ $0.isOwned }) { return }
        let found = try await bucket.get(Self.ownerKey, bytesMax: owner.utf8.count)
        if let found, found != Array(owner.utf8) {
            throw StoreError(
                .inUse, "The bucket has the assets of another server",
                ["bucket": bucket.place.url, "remedy": "give this server a prefix of its own: --assets s3://BUCKET/PREFIX"])
        }
        if found == nil {
            guard mayBegin else {
                throw StoreError(
                    .inUse, "The bucket has no assets, and those of this server are in another",
                    ["bucket": bucket.place.url, "remedy": "copy all objects of the other one, the object owner too, and start again"])
            }
            try await bucket.put(Array(owner.utf8), as: Self.ownerKey)
        }
        state.withLock { $0.isOwned = true }
    }

    // MARK: Backups

    /// Copies each missing chunk into a folder beside backups. Chunks never change, so one copy is enough for all
    /// backups.
    func copy(to pool: String, isCancelled: @escaping @Sendable () -> Bool) async throws {
        let threads = try FileThreads(count: 2)
        do {
            try await threads.run { try FileCall.makeFolder(pool) }
            for part in UInt8.min ... .max {
                if isCancelled() { throw BackupControl.cancelled }
                let folder = "\(pool)/\(HexText.encode([part]))"
                let chunks = try await chunks(in: part)
                guard !chunks.isEmpty else { continue }
                let there = try await threads.run {
                    try FileCall.makeFolder(folder)
                    return Set(try FileCall.names(in: folder))
                }
                let new = chunks.filter { !there.contains($0.name.text) }
                let results = await inTurn(new, atMost: Self.atOnce) { chunk -> Result<Void, any Error> in
                    do {
                        // A chunk that was collected meanwhile is in no backup.
                        guard let bytes = try await self.bucket.get(Self.key(of: chunk.name), bytesMax: chunk.size) else { return .success(()) }
                        let path = "\(folder)/\(chunk.name.text)"
                        try await threads.run {
                            try FileCall.write(bytes, to: path + ".part")
                            try FileCall.move(path + ".part", to: path)
                        }
                        return .success(())
                    } catch {
                        return .failure(error)
                    }
                }
                for result in results { try result.get() }
                if !new.isEmpty { try await threads.run { try FileCall.sync(folder: folder) } }
            }
            try await threads.run { try FileCall.sync(folder: pool) }
        } catch {
            await threads.close()
            throw error
        }
        await threads.close()
    }
}

/// Runs the work for each item, `limit` at a time, and returns the results in any order.
private func inTurn<Item: Sendable, Value: Sendable>(
    _ items: [Item], atMost limit: Int, _ work: @escaping @Sendable (Item) async -> Value
) async -> [Value] {
    await withTaskGroup(of: Value.self) { group in
        var rest = items[...]
        var values: [Value] = []
        for item in rest.prefix(limit) { group.addTask { await work(item) } }
        rest = rest.dropFirst(limit)
        for await value in group {
            values.append(value)
            if let item = rest.popFirst() { group.addTask { await work(item) } }
        }
        return values
    }
}

/// A bound on the transfers at a time, first come first served. A receiver that waits for a slot reads no further bytes
/// of its sender.
final class TransferSlots: Sendable {
    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Locked<State>

    init(_ count: Int) { state = Locked(State(free: count)) }

    func take() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.free > 0 {
                    state.free -= 1
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    func give() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard !state.waiting.isEmpty else {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}
