/// What a sender says of a file before it sends it, so that it sends no more of it than lacks: an extension of the Web Services API.
package struct AnnouncedFile: Equatable, Sendable {
    /// A part of the file, at most `ContentCutter.mostBytes` long.
    package struct Chunk: Hashable, Sendable {
        package var size: Int
        /// SHA-256 of its bytes.
        package var digest: [UInt8]

        package init(size: Int, digest: [UInt8]) {
            self.size = size
            self.digest = digest
        }
    }

    /// All of them, in their order.
    package var chunks: [Chunk]

    package init(chunks: [Chunk]) {
        self.chunks = chunks
    }

    package var size: Int64 { chunks.reduce(0) { $0 &+ Int64($1.size) } }

    /// Files from this size on are announced. Ours: two chunks of the average; of smaller ones there is little to spare.
    package static let bytesMin = 2 * ContentCutter.averageBytes
}

/// What lacks of a file that was announced.
package struct AwaitedFile: Equatable, Sendable {
    /// The chunks that are to be sent, as places in the announcement.
    package var missing: [Int]
    /// So many of their bytes are there already.
    package var offset: Int64

    package init(missing: [Int], offset: Int64) {
        self.missing = missing
        self.offset = offset
    }
}

/// What a transfer in parts says in its head: names of the IETF's draft "Resumable Uploads for HTTP".
package enum PartHeader {
    package static let offset = "Upload-Offset"
    package static let complete = "Upload-Complete"

    /// A boolean of RFC 8941.
    package static func text(_ value: Bool) -> String { value ? "?1" : "?0" }
}
