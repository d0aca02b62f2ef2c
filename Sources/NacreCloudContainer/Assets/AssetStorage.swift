import NacreCloudWire

/// Where the bytes of assets are kept: files beside records. An engine of its own, beside the `Store` that keeps the rows.
///
/// Bytes are cut into chunks where their content says so, so that two files which share a part share its chunks. A chunk is named by a code of its
/// content under a key of its database: the same bytes have the same name in one database, and another one in every other. Promises:
/// - What `finish` has told of is on the disk, and so is the way to it.
/// - A chunk is handed out as it was kept, or not at all: its bytes are held against its name each time, but for what `resident` tells of.
/// - A chunk that a receiver has told of is not removed before `release`, whatever `remove` is asked.
/// - Nothing blocks the caller's thread.
package protocol AssetStorage: Sendable {
    /// Begins to take a file in.
    /// - Parameter key: of the database, 32 bytes.
    func receiver(under key: [UInt8]) -> any AssetReceiver

    /// How a chunk is named whose bytes have this SHA-256.
    func name(ofDigest digest: [UInt8], under key: [UInt8]) -> ChunkName

    /// One chunk, whole.
    /// - Throws: `StoreError.corrupt` where its bytes are not what was kept, or are gone.
    func chunk(_ chunk: AssetChunk, under key: [UInt8]) async throws -> [UInt8]

    /// The files of the first of these chunks whose bytes this process wrote or found right a short while ago, for who sends what of them lies in the
    /// kernel's memory. The first that is not among them, and what is not in memory, is to be asked for by `chunk`.
    func resident(_ chunks: [AssetChunk]) async -> [ResidentChunk]

    /// Removes those of the chunks that are not needed. One that is not there is no error.
    /// - Parameter needed: those of these names that rows refer to. It is asked after no receiver has them, and a receiver that takes one up
    ///   meanwhile keeps it.
    func remove(
        _ names: [ChunkName], unless needed: @Sendable ([ChunkName]) async throws -> Set<ChunkName>
    ) async throws

    /// The chunks that are kept whose names begin with this byte, whoever has them, with the sizes that they have.
    func chunks(in part: UInt8) async throws -> [AssetChunk]

    /// What all chunks take; nil: not known yet, before each part was asked for once.
    var usage: AssetUsage? { get }

    /// Ends what is under way. Idempotent; later calls fail with `StoreError.closed`.
    func close() async
}

extension AssetStorage {
    /// None: what is kept in no files is asked for by `chunk`.
    package func resident(_ chunks: [AssetChunk]) async -> [ResidentChunk] { [] }
}

/// An open file that is a chunk.
package struct ResidentChunk: Sendable {
    package let descriptor: Int32
    /// Whether what was read of the file just now, from the kernel's memory, is what was kept. It is told whether all that was asked for lay there: else the
    /// kernel may be bringing in the rest, which nobody has hashed. It keeps the descriptor open, and waits for nothing.
    package let isSound: @Sendable (_ isWhole: Bool) -> Bool

    package init(descriptor: Int32, isSound: @escaping @Sendable (_ isWhole: Bool) -> Bool) {
        self.descriptor = descriptor
        self.isSound = isSound
    }
}

/// A file that is being taken in. One task at a time.
package protocol AssetReceiver: Sendable {
    /// Takes the next bytes. Returns when it wants more, so that a slow disk slows the sender.
    /// - Throws: `StoreError.full` where the disk has no room.
    func add(_ piece: [UInt8]) async throws

    /// Ends the file.
    /// - Returns: what was kept. Everything of it is durable.
    func finish() async throws -> ReceivedAsset

    /// Takes a chunk up that is kept already: it stays until `release`. Several tasks may ask at a time, each for another chunk.
    /// - Parameter isNamed: whether rows name it, so that it is known to be durable.
    /// - Returns: whether it is there, and whole.
    func takeUp(_ chunk: AssetChunk, isNamed: Bool) async throws -> Bool

    /// Takes a whole chunk in: it stands in its place, and outlives the process. What does not name it by a row loses it to `remove`.
    /// - Returns: false where the bytes are not those of the chunk; nothing has happened then.
    func add(_ bytes: [UInt8], as chunk: AssetChunk) async throws -> Bool

    /// Ends a file of chunks that were all taken up or in one by one, with these names and these sizes.
    /// - Returns: what was kept. Everything of it is durable.
    func finish(_ chunks: [AssetChunk]) async throws -> ReceivedAsset

    /// Says that what was received is named by committed rows, or that nobody wants it. To be called once, however it ends.
    /// - Returns: the chunks that it had, which may stand in their places by now: those that no rows name are to be removed.
    @discardableResult
    func release() async -> [ChunkName]
}

/// The name of a chunk: 32 bytes.
package struct ChunkName: Hashable, Sendable {
    package var bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    package var text: String { HexText.encode(bytes) }

    /// nil for text that `text` did not make.
    package init?(text: some StringProtocol) {
        guard let bytes = HexText.decode(text), bytes.count == 32 else { return nil }
        self.bytes = bytes
    }
}

/// How large a file may be, in bytes.
package struct AssetSizes: Hashable, Sendable {
    /// Of a web client, or one with a server-to-server key.
    package var web = Limits.webAssetBytes
    /// Of the framework.
    package var native = Limits.nativeAssetBytes

    package init() {}

    package var largest: Int { max(web, native) }
    func largest(for client: Caller.Client) -> Int { client == .framework ? native : web }
}

/// What chunks take on the disk, those that no record needs any more included.
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

    /// A chunk that rows name and that is not there.
    package static func missing(_ chunk: ChunkName) -> StoreError { StoreError(.corrupt, missingChunk, ["chunk": chunk.text]) }

    var isMissingChunk: Bool { text == Self.missingChunk }
}

/// What a receiver has taken in.
package struct ReceivedAsset: Hashable, Sendable {
    package var size: Int64
    /// 20 bytes that tell the content from others of its database.
    package var checksum: [UInt8]
    /// Empty where the bytes are `inline`.
    package var chunks: [AssetChunk]
    /// Of a small file, its bytes: they are kept in a row.
    package var inline: [UInt8]?

    package init(size: Int64, checksum: [UInt8], chunks: [AssetChunk], inline: [UInt8]?) {
        self.size = size
        self.checksum = checksum
        self.chunks = chunks
        self.inline = inline
    }
}
