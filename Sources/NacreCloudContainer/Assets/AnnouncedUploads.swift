package import NacreCloudStorage
package import NacreCloudWire
import NacreLocks

/// The ID of an announced file: a code of its sender, its bytes and its field. The same announcement finds the file
/// again.
package struct AnnouncedUploadID: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt64

    /// The key of the file's row.
    package var key: String { HexText.encode([high, low].flatMap(\.bigEndianBytes)) }
}

/// A file that was announced by its chunks and is being sent, in one part or several. Chunks that were there already,
/// and those that arrived, stay until it ends.
package final class AnnouncedUpload: Sendable {
    /// The sender, the bytes and the field of a file.
    package struct Purpose: Hashable, Sendable {
        package var database: DatabaseID
        package var zone: Int64
        package var destination: StoredAsset.Destination
        package var chunks: [AssetChunk]

        package var size: Int64 { chunks.reduce(0) { $0 + Int64($1.size) } }
    }

    private struct State {
        /// The number of missing chunks that have arrived.
        var received: Int
        /// Counts the parts that were begun. Bytes of an earlier part are refused.
        var turn = 0
        /// A chunk is being kept.
        var isKeeping = false
        /// Callers that wait until no chunk is being kept.
        var waiting: [CheckedContinuation<Void, Never>] = []
        var isEnding = false
        var kept: StoredAsset?
        var touched: Timestamp
    }

    package let id: AnnouncedUploadID
    package let purpose: Purpose
    /// Indices of the chunks that are to be sent.
    package let missing: [Int]
    package let receiver: any AssetReceiver
    private let state: Locked<State>

    /// - Parameter received: the number of missing chunks that have arrived already.
    package init(id: AnnouncedUploadID, purpose: Purpose, missing: [Int], received: Int = 0, receiver: any AssetReceiver, at now: Timestamp) {
        (self.id, self.purpose, self.missing, self.receiver) = (id, purpose, missing, receiver)
        state = Locked(State(received: received, touched: now))
    }

    package var size: Int64 { purpose.size }
    package var sender: IncomingFiles.Sender { IncomingFiles.Sender(database: purpose.database, name: purpose.destination.sender) }
    package var touched: Timestamp { state.withLock { $0.touched } }
    package var kept: StoredAsset? { state.withLock { $0.kept } }

    /// Bytes of the missing chunks that have arrived: whole chunks alone.
    package var offset: Int64 { missing.prefix(state.withLock { $0.received }).reduce(0) { $0 + Int64(purpose.chunks[$1].size) } }

    /// Begins a part: the sender of an earlier one is refused from now on. A chunk of that sender that is being kept is
    /// waited for, and counts.
    /// - Returns: the turn of the new part, and the bytes that are there.
    package func begin(at now: Timestamp) async -> (turn: Int, offset: Int64) {
        let turn = state.withLock { state in
            state.turn += 1
            state.touched = now
            return state.turn
        }
        return (turn, await settledOffset())
    }

    /// Returns `offset`, once no chunk is being kept.
    func settledOffset() async -> Int64 {
        await withCheckedContinuation { continuation in
            let mustWait = state.withLock { state in
                if state.isKeeping { state.waiting.append(continuation) }
                return state.isKeeping
            }
            if !mustWait { continuation.resume() }
        }
        return offset
    }

    /// Returns the next chunk; nil: all are there.
    /// - Throws: where another part was begun meanwhile.
    package func next(in turn: Int) throws(ServerError) -> AssetChunk? {
        let received = state.withLock { $0.turn == turn ? $0.received : nil }
        guard let received else { throw .sentElsewhere }
        return received < missing.count ? purpose.chunks[missing[received]] : nil
    }

    /// Keeps the next chunk.
    /// - Parameter body: returns whether the chunk is right. It counts then, even if another part was begun meanwhile.
    /// - Throws: what `body` throws, and where another part was begun before.
    package func keep(in turn: Int, at now: Timestamp, _ body: () async throws -> Bool) async throws -> Bool {
        let isOurs = state.withLock { state in
            guard state.turn == turn, !state.isKeeping else { return false }
            state.isKeeping = true
            return true
        }
        guard isOurs else { throw ServerError.sentElsewhere }
        do {
            let isRight = try await body()
            endKeeping(isRight, at: now)
            return isRight
        } catch {
            endKeeping(false, at: now)
            throw error
        }
    }

    private func endKeeping(_ isThere: Bool, at now: Timestamp) {
        let waiting = state.withLock { state in
            state.isKeeping = false
            if isThere { (state.received, state.touched) = (state.received + 1, now) }
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Begins to make an asset of a file that is complete. One sender does that.
    /// - Throws: where another sender does it at this moment.
    func beginEnding(in turn: Int) throws(ServerError) {
        let isOurs = state.withLock { state in
            guard state.turn == turn, !state.isEnding else { return false }
            state.isEnding = true
            return true
        }
        guard isOurs else { throw .sentElsewhere }
    }

    package func end(with asset: StoredAsset?) {
        state.withLock { state in
            state.isEnding = false
            state.kept = asset
        }
    }
}

/// The announced files on their way that this process knows. Thread-safe. Files of an earlier process are found by
/// their rows.
final class AnnouncedUploads: Sendable {
    private struct State {
        var uploads: [AnnouncedUploadID: AnnouncedUpload] = [:]
        var chunks = 0
        var chunksOf: [IncomingFiles.Sender: Int] = [:]

        mutating func remove(_ upload: AnnouncedUpload) {
            uploads[upload.id] = nil
            chunks -= upload.purpose.chunks.count
            let left = (chunksOf[upload.sender] ?? 0) - upload.purpose.chunks.count
            chunksOf[upload.sender] = left > 0 ? left : nil
        }
    }

    private let state = Locked(State())

    package subscript(_ id: AnnouncedUploadID) -> AnnouncedUpload? { state.withLock { $0.uploads[id] } }

    /// Whether there is room for this number of further chunks.
    package func hasRoom(for chunks: Int, of sender: IncomingFiles.Sender) -> Bool {
        state.withLock {
            $0.chunks + chunks <= Limits.announcedChunksInAll && ($0.chunksOf[sender] ?? 0) + chunks <= Limits.announcedChunks
        }
    }

    /// - Returns: false where the same file was announced at the same moment.
    package func add(_ upload: AnnouncedUpload) -> Bool {
        state.withLock { state in
            guard state.uploads[upload.id] == nil else { return false }
            state.uploads[upload.id] = upload
            state.chunks += upload.purpose.chunks.count
            state.chunksOf[upload.sender, default: 0] += upload.purpose.chunks.count
            return true
        }
    }

    /// Removes and returns the uploads without a new part or chunk for `Limits.announcedSeconds`.
    func takeOld(at now: Timestamp) -> [AnnouncedUpload] {
        state.withLock { state in
            let old = state.uploads.values.filter { $0.touched + Limits.announcedSeconds <= now }
            for upload in old { state.remove(upload) }
            return old
        }
    }

    /// Forgets an upload that cannot go on.
    func remove(_ upload: AnnouncedUpload) {
        state.withLock { if $0.uploads[upload.id] === upload { $0.remove(upload) } }
    }
}
