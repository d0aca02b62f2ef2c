extension HTTPClient {
    package struct Request: Sendable {
        package enum Body: Sendable {
            case none
            /// Bytes in memory, which can be sent again.
            case bytes([UInt8])
            /// Bytes that are pulled piece by piece when the connection can take more; nil ends them. Sent once.
            /// - Parameter length: The length of the whole, in bytes; nil sends chunks.
            case stream(length: Int?, next: @Sendable () async throws -> [UInt8]?)
            /// Bytes of a file, which can be sent again if the part says so.
            case file(FilePart)
        }

        package enum Version: Sendable {
            /// HTTP/2 if the TLS handshake offers it, otherwise HTTP/1.1.
            case automatic
            case http1
            /// HTTP/2 from the first byte, even without TLS.
            case http2
        }

        package var method: String
        /// The absolute URL: `http` or `https`, percent-encoded.
        package var url: String
        package var headers: [Header]
        package var body: Body
        package var version: Version
        /// The longest time without traffic while connecting, sending, and waiting for the answer; nil: no limit. Time
        /// that this side takes does not count: the next piece of a body is not ready, or the answer is not read.
        package var idleTimeout: Duration?
        /// The longest time for the whole transfer, including the wait for its turn; nil: no limit.
        package var totalTimeout: Duration?
        /// The most bytes of the answer's body, after decompression, for `send`. A stream has no limit.
        package var answerBytesMax: Int
        /// Whether the server may compress its answer.
        package var takesCompression: Bool
        /// Whether the request may reach addresses that are not public. If false, a new connection to one fails with
        /// `cannotConnect`, whatever name led there. An open connection is used all the same, so use a separate client
        /// for these requests. With a proxy, the proxy's address counts.
        package var reachesPrivateAddresses = true
        /// Called on the thread of all transfers when bytes came or went. It must return at once.
        package var progress: (@Sendable (Progress) -> Void)?

        package init(
            _ method: String, _ url: String, headers: [Header] = [], body: Body = .none, version: Version = .automatic,
            idleTimeout: Duration? = .seconds(60), totalTimeout: Duration? = nil, answerBytesMax: Int = 256 << 20, takesCompression: Bool = true,
            progress: (@Sendable (Progress) -> Void)? = nil
        ) {
            self.method = method
            self.url = url
            self.headers = headers
            self.body = body
            self.version = version
            self.idleTimeout = idleTimeout
            self.totalTimeout = totalTimeout
            self.answerBytesMax = answerBytesMax
            self.takesCompression = takesCompression
            self.progress = progress
        }
    }

    package struct Header: Equatable, Sendable {
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }

        /// Whether the name has only RFC 9110's characters, and the value none that ends a line.
        var isWellFormed: Bool {
            !name.isEmpty && name.utf8.allSatisfy(Self.isOfToken) && !value.utf8.contains { $0 == 13 || $0 == 10 || $0 == 0 }
        }

        /// Whether the byte may stand in a name (RFC 9110, section 5.6.2).
        static func isOfToken(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
        }
    }

    /// Bytes of bodies up to now. An expected number is nil if it is not known.
    package struct Progress: Equatable, Sendable {
        package var sent: Int
        package var toSend: Int?
        package var received: Int
        package var toReceive: Int?
    }
}
