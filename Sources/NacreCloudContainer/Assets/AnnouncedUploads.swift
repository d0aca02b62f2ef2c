import NacreCloudWire
import NacreLocks

/// Names an announced file: a code of who sends which bytes for which field, so that the same announcement finds it again.
package struct AnnouncedUploadID: Hashable, Sendable {
    let high: UInt64
    let low: UInt64

    /// Under which a row keeps it.
    var key: String { HexText.encode([high, low].flatMap(\.bigEndianBytes)) }
}

/// A file that was announced by its chunks and is being sent, in one part or several. Those that were there already, and those that came, stay until it ends.
final class AnnouncedUpload: Sendable {
    /// Who sends which bytes for which field.
    struct Purpose: Hashable, Sendable {
        var database: DatabaseID
        var zone: Int64
        var place: StoredAsset.Place
        var chunks: [AssetChunk]

        var size: Int64 { chunks.reduce(0) { $0 + Int64($1.size) } }
    }

    private struct State {
        /// Of the missing chunks.
        var received: Int
        /// Counts who sends: what comes from an earlier one is refused.
        var turn = 0
        /// A chunk is being kept.
        var isKeeping = false
        /// Who waits until it is.
        var waiting: [CheckedContinuation<Void, Never>] = []
        var isEnding = false
        var kept: StoredAsset?
        var touched: Timestamp
    }

    let id: AnnouncedUploadID
    let purpose: Purpose
    /// Places of the chunks that are to be sent.
    let missing: [Int]
    let receiver: any AssetReceiver
    private let state: Locked<State>

    /// - Parameter received: how many of the missing chunks are there already.
    init(id: AnnouncedUploadID, purpose: Purpose, missing: [Int], received: Int = 0, receiver: any AssetReceiver, at now: Timestamp) {
        (self.id, self.purpose, self.missing, self.receiver) = (id, purpose, missing, receiver)
        state = Locked(State(received: received, touched: now))
    }

    var size: Int64 { purpose.size }
    var sender: IncomingFiles.Sender { IncomingFiles.Sender(database: purpose.database, name: purpose.place.sender) }
    var touched: Timestamp { state.withLock { $0.touched } }
    var kept: StoredAsset? { state.withLock { $0.kept } }

    /// Bytes of the missing chunks that are there: whole chunks alone.
    var offset: Int64 { missing.prefix(state.withLock { $0.received }).reduce(0) { $0 + Int64(purpose.chunks[$1].size) } }

    /// Begins a part: who sent before it is refused from now on. What that sender has in hand counts: a chunk that is being kept is waited for.
    /// - Returns: the turn of its sender, and how much is there.
    func begin(at now: Timestamp) async -> (turn: Int, offset: Int64) {
        let turn = state.withLock { state in
            state.turn += 1
            state.touched = now
            return state.turn
        }
        return (turn, await settledOffset())
    }

    /// `offset`, as soon as no chunk is being kept.
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

    /// The chunk that comes next; nil: all are there.
    /// - Throws: where another has begun a part meanwhile.
    func next(in turn: Int) throws(ServerError) -> AssetChunk? {
        let received = state.withLock { $0.turn == turn ? $0.received : nil }
        guard let received else { throw .sentElsewhere }
        return received < missing.count ? purpose.chunks[missing[received]] : nil
    }

    /// Keeps the next chunk.
    /// - Parameter body: answers whether it is right; it counts then, whoever has begun a part meanwhile.
    /// - Throws: what `body` throws, and where another has begun a part before.
    func keep(in turn: Int, at now: Timestamp, _ body: () async throws -> Bool) async throws -> Bool {
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

    /// All is there, and is being made an asset: by one sender.
    /// - Throws: where another does so at this moment.
    func beginEnding(in turn: Int) throws(ServerError) {
        let isOurs = state.withLock { state in
            guard state.turn == turn, !state.isEnding else { return false }
            state.isEnding = true
            return true
        }
        guard isOurs else { throw .sentElsewhere }
    }

    func end(with asset: StoredAsset?) {
        state.withLock { state in
            state.isEnding = false
            state.kept = asset
        }
    }
}

/// The files that were announced and are on their way, as this process knows them. Thread-safe. Those of an earlier one are found by their rows.
final class AnnouncedUploads: Sendable {
    private struct State {
        var uploads: [AnnouncedUploadID: AnnouncedUpload] = [:]
        var chunks = 0
        var chunksOf: [IncomingFiles.Sender: Int] = [:]
    }

    private let state = Locked(State())

    subscript(_ id: AnnouncedUploadID) -> AnnouncedUpload? { state.withLock { $0.uploads[id] } }

    /// Whether so many chunks more have room.
    func hasRoom(for chunks: Int, of sender: IncomingFiles.Sender) -> Bool {
        state.withLock {
            $0.chunks + chunks <= Limits.announcedChunksInAll && ($0.chunksOf[sender] ?? 0) + chunks <= Limits.announcedChunks
        }
    }

    /// - Returns: false where the same was announced at the same moment.
    func add(_ upload: AnnouncedUpload) -> Bool {
        state.withLock { state in
            guard state.uploads[upload.id] == nil else { return false }
            state.uploads[upload.id] = upload
            state.chunks += upload.purpose.chunks.count
            state.chunksOf[upload.sender, default: 0] += upload.purpose.chunks.count
            return true
        }
    }

    /// Forgets those that nobody has touched for `Limits.announcedSeconds`.
    func takeOld(at now: Timestamp) -> [AnnouncedUpload] {
        state.withLock { state in
            let old = state.uploads.values.filter { $0.touched + Limits.announcedSeconds <= now }
            for upload in old {
                state.uploads[upload.id] = nil
                state.chunks -= upload.purpose.chunks.count
                let left = (state.chunksOf[upload.sender] ?? 0) - upload.purpose.chunks.count
                state.chunksOf[upload.sender] = left > 0 ? left : nil
            }
            return old
        }
    }
}
