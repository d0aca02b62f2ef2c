/// The body of a request, read once: whole with `collect`, or in pieces by `for try await`.
///
/// A small body has arrived whole before the handler starts. A larger one is read from the socket only as fast as the
/// handler asks for it: at most `ServerLimits.bufferedBodyBytesMax` and two pieces wait in memory. Reading throws
/// `HTTPError` 413 beyond the route's limit, and `CancellationError` if the client went away or the request's task was
/// cancelled.
package struct HTTPBody: Sendable, AsyncSequence {
    package typealias Element = [UInt8]

    enum Storage: Sendable {
        case whole([UInt8])
        case arriving(ByteChannel, length: Int?, RequestLedger)
    }

    let storage: Storage

    init(_ bytes: [UInt8]) { storage = .whole(bytes) }

    init(_ channel: ByteChannel, length: Int?, _ account: RequestLedger) { storage = .arriving(channel, length: length, account) }

    /// The declared or received length; nil for a chunked body that is still arriving.
    package var length: Int? {
        switch storage {
        case .whole(let bytes): bytes.count
        case .arriving(_, let length, _): length
        }
    }

    /// Returns the whole body. Its bytes are taken from the budget before they are read: a declared length at once,
    /// otherwise as they come.
    /// - Throws: `HTTPError` 413 if the body is longer than `limit` bytes, without keeping more than that; 503 if the
    ///   budget has no room.
    package func collect(upTo limit: Int = .max) async throws -> [UInt8] {
        switch storage {
        case .whole(let bytes):
            guard bytes.count <= limit else { throw HTTPError.bodyTooLarge }
            return bytes
        case .arriving(let channel, let length, let account):
            if let length, length > limit { throw HTTPError.bodyTooLarge }
            var taken = length ?? 0
            try account.takeBody(taken)
            var all: [UInt8] = []
            while let chunk = try await Self.next(of: channel, account) {
                guard all.count + chunk.count <= limit else { throw HTTPError.bodyTooLarge }
                if all.count + chunk.count > taken {
                    // An array grows by doubling.
                    let more = Swift.max(all.count, chunk.count)
                    try account.takeBody(more)
                    taken += more
                }
                if all.isEmpty { all.reserveCapacity(taken) }
                all += chunk
            }
            return all
        }
    }

    /// Returns the next piece. While none has come, the request counts as waiting for its client.
    fileprivate static func next(of channel: ByteChannel, _ account: RequestLedger) async throws -> [UInt8]? {
        channel.isReady ? try await channel.next() : try await account.whileWaiting(for: .client) { try await channel.next() }
    }

    package func makeAsyncIterator() -> Iterator { Iterator(storage: storage) }

    package struct Iterator: AsyncIteratorProtocol {
        fileprivate var storage: Storage

        /// Returns the next piece, never empty, or nil at the end.
        package mutating func next() async throws -> [UInt8]? {
            switch storage {
            case .whole(let bytes):
                storage = .whole([])
                return bytes.isEmpty ? nil : bytes
            case .arriving(let channel, _, let account):
                return try await HTTPBody.next(of: channel, account)
            }
        }
    }
}
