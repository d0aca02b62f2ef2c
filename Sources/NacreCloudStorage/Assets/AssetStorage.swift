import NacreCloudWire

/// The storage of the bytes of assets: files beside records. It is an engine of its own, beside the `Store` that keeps
/// the rows.
///
/// Bytes are cut into chunks by their content: two files with a common part share its chunks. A chunk is named by a
/// code of its content under a key of its database. The same bytes have one name in a database, and another one in
/// every other. Promises:
/// - When `finish` returns, the bytes and the path to them are on the disk.
/// - A chunk is returned as it was kept, or not at all: its bytes are checked against its name each time, except those
///   from `resident`.
/// - A chunk that a receiver has reported is not removed before `release`, whatever `remove` is asked.
/// - No call blocks the caller's thread.
package protocol AssetStorage: Sendable {
    /// Begins to receive a file.
    /// - Parameter key: the key of the database, 32 bytes.
    func receiver(under key: [UInt8]) -> any AssetReceiver

    /// Returns the name of a chunk whose bytes have this SHA-256.
    func name(ofDigest digest: [UInt8], under key: [UInt8]) -> ChunkName

    /// Returns one chunk, whole.
    /// - Throws: `StoreError.corrupt` where its bytes are not as they were kept, or are gone.
    func chunk(_ chunk: AssetChunk, under key: [UInt8]) async throws -> [UInt8]

    /// Returns the files of the first of these chunks, as far as this process wrote or verified them a short while ago.
    /// The caller sends the bytes that are in the kernel's memory. It asks `chunk` for the others, and for the first
    /// chunk without a file here.
    func resident(_ chunks: [AssetChunk]) async -> [ResidentChunk]

    /// Removes the chunks that are not needed. A chunk that does not exist is no error.
    /// - Parameter needed: returns the names among these that rows refer to. It is called once no receiver has them. A
    ///   receiver that takes one up meanwhile keeps it.
    func remove(
        _ names: [ChunkName], unless needed: @Sendable ([ChunkName]) async throws -> Set<ChunkName>
    ) async throws

    /// Returns the kept chunks whose names begin with this byte, with their sizes, in all databases.
    func chunks(in part: UInt8) async throws -> [AssetChunk]

    /// The sum of all chunks; nil: unknown until each part was asked for once.
    var usage: AssetUsage? { get }

    /// Ends what is under way. Idempotent; later calls fail with `StoreError.closed`.
    func close() async
}

extension AssetStorage {
    /// Returns none: the caller asks `chunk` for bytes that are not in files.
    package func resident(_ chunks: [AssetChunk]) async -> [ResidentChunk] { [] }
}

/// An open file that is a chunk.
package struct ResidentChunk: Sendable {
    package let descriptor: Int32
    /// Whether bytes just read from the kernel's memory are as they were kept. `isWhole` says that all bytes asked for
    /// were in memory. Otherwise the kernel may be loading the rest, which was not verified. The closure keeps the
    /// descriptor open, and does not wait.
    package let isSound: @Sendable (_ isWhole: Bool) -> Bool

    package init(descriptor: Int32, isSound: @escaping @Sendable (_ isWhole: Bool) -> Bool) {
        self.descriptor = descriptor
        self.isSound = isSound
    }
}

/// A file that is being received. One task at a time.
/// ```swift
/// let receiver = storage.receiver(under: key)
/// while let piece = try await next() { try await receiver.add(piece) }
/// let file = try await receiver.finish()
/// // Commit rows that name `file.chunks`. Then, also after an error:
/// await receiver.release()
/// ```
package protocol AssetReceiver: Sendable {
    /// Takes the next bytes. Returns when it wants more: a slow disk slows the sender.
    /// - Throws: `StoreError.full` where the disk has no room.
    func add(_ piece: [UInt8]) async throws

    /// Ends the file.
    /// - Returns: what was kept. All of it is durable.
    func finish() async throws -> ReceivedAsset

    /// Takes up a chunk that is kept already: it stays until `release`. Several tasks may ask at a time, each for
    /// another chunk.
    /// - Parameter isNamed: whether rows name the chunk, which is then known to be durable.
    /// - Returns: whether the chunk is there, and whole.
    func takeUp(_ chunk: AssetChunk, isNamed: Bool) async throws -> Bool

    /// Keeps a whole chunk under its name, where it outlives the process. Without a row that names it, `remove` may
    /// remove it.
    /// - Returns: false where the bytes are not those of the chunk; nothing has happened then.
    func add(_ bytes: [UInt8], as chunk: AssetChunk) async throws -> Bool

    /// Ends a file of chunks that were all taken up or added one by one, with these names and sizes.
    /// - Returns: what was kept. All of it is durable.
    func finish(_ chunks: [AssetChunk]) async throws -> ReceivedAsset

    /// Ends the receiver: committed rows name what was received, or it is not wanted. To be called once, however the
    /// file ends.
    /// - Returns: the chunks that it had, which may be kept under their names by now: those that no rows name are to be
    ///   removed.
    @discardableResult
    func release() async -> [ChunkName]
}

/// The name of a chunk: 32 bytes.
package struct ChunkName: Hashable, Sendable {
    package var bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    package var text: String { HexText.encode(bytes) }

    /// Returns nil for text that `text` did not make.
    package init?(text: some StringProtocol) {
        guard let bytes = HexText.decode(text), bytes.count == 32 else { return nil }
        self.bytes = bytes
    }
}

/// Number and bytes of the chunks on the disk, including those that no record needs any longer.
package struct AssetUsage: Hashable, Sendable {
    package var chunks = 0
    package var bytes: Int64 = 0

    package init() {}

    package mutating func add(_ size: Int?) {
        guard let size else { return }
        chunks += 1
        bytes += Int64(size)
    }

    package mutating func remove(_ size: Int?) {
        guard let size else { return }
        chunks -= 1
        bytes -= Int64(size)
    }
}

/// A part of an asset's bytes.
package struct AssetChunk: Hashable, Sendable {
    package var name: ChunkName
    package var size: Int

    package init(name: ChunkName, size: Int) {
        self.name = name
        self.size = size
    }
}

extension StoreError {
    private static let missingChunk = "A chunk of an asset is missing"

    /// Returns the error of a chunk that rows name and that does not exist.
    package static func missing(_ chunk: ChunkName) -> StoreError { StoreError(.corrupt, missingChunk, ["chunk": chunk.text]) }

    package var isMissingChunk: Bool { text == Self.missingChunk }
}

/// The result of a receiver.
package struct ReceivedAsset: Hashable, Sendable {
    package var size: Int64
    /// 20 bytes that tell the content from others of its database.
    package var checksum: [UInt8]
    /// Empty where the bytes are `inline`.
    package var chunks: [AssetChunk]
    /// The bytes of a small file, which are kept in a row; nil for a larger one.
    package var inline: [UInt8]?

    package init(size: Int64, checksum: [UInt8], chunks: [AssetChunk], inline: [UInt8]?) {
        self.size = size
        self.checksum = checksum
        self.chunks = chunks
        self.inline = inline
    }
}

extension Store {
    /// Reads in each database, some hundred databases a call.
    package func eachDatabase<Value: Sendable>(
        _ read: @escaping @Sendable (DatabaseID, any ReadTransaction) throws -> Value
    ) async throws -> [Value] {
        var values: [Value] = []
        var last: RowKey? = .database(DatabaseID(rawValue: .min))
        repeat {
            let place = last
            let (found, next) = try await self.read { transaction -> ([Value], RowKey?) in
                let rows = try transaction.rows(of: .databases, after: place, limit: Limits.checkRows)
                return (try rows.compactMap(\.key.database).map { try read($0, transaction) }, rows.last?.key)
            }
            values += found
            last = next
        } while last != nil
        return values
    }

    /// Whether any asset has chunks.
    package func namesChunks() async throws -> Bool {
        try await eachDatabase { try !$1.entries(in: $0, .chunkUse, after: "", limit: 1).isEmpty }.contains(true)
    }
}

extension DatabaseID {
    /// The message whose code under the server's key is the key of a database's chunks.
    package var chunkKeyMessage: [UInt8] { rawValue.bigEndianBytes }
}
