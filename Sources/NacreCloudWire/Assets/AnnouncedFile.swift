/// The chunks of a file, announced before its upload, so that only missing ones are sent: an extension of the Web
/// Services API.
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

    /// All chunks, in their order.
    package var chunks: [Chunk]

    package init(chunks: [Chunk]) {
        self.chunks = chunks
    }

    package var size: Int64 { chunks.reduce(0) { $0 &+ Int64($1.size) } }

    /// Bytes from which on files are announced. Ours: two average chunks; smaller files save little.
    package static let bytesMin = 2 * ContentCutter.averageBytes
}

/// The missing part of an announced file.
package struct AwaitedFile: Equatable, Sendable {
    /// The chunks to send, as indexes in the announcement.
    package var missing: [Int]
    /// Bytes of the missing chunks, in order, that the server has already.
    package var offset: Int64

    package init(missing: [Int], offset: Int64) {
        self.missing = missing
        self.offset = offset
    }
}

/// Headers of an upload in parts, named as in the IETF's draft "Resumable Uploads for HTTP".
package enum PartHeader {
    package static let offset = "Upload-Offset"
    package static let complete = "Upload-Complete"

    /// Returns a boolean of RFC 8941.
    package static func text(_ value: Bool) -> String { value ? "?1" : "?0" }
}
