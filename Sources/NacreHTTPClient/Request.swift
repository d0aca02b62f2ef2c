extension HTTPClient {
    package struct Request: Sendable {
        package enum Body: Sendable {
            case none
            /// Can be sent again.
            case bytes([UInt8])
            /// Pulled piece by piece, whenever the connection can take more; nil ends it. Sent once.
            ///
            /// - Parameter length: of the whole, in bytes; nil sends it in chunks.
            case stream(length: Int?, next: @Sendable () async throws -> [UInt8]?)
            /// Can be sent again where the part says so.
            case file(FilePart)
        }

        package enum Version: Sendable {
            /// HTTP/2 where TLS's handshake offers it, or else HTTP/1.1.
            case automatic
            case http1
            /// HTTP/2 from the first byte, also without TLS.
            case http2
        }

        package var method: String
        /// Absolute, `http` or `https`, percent-encoded.
        package var url: String
        package var headers: [Header]
        package var body: Body
        package var version: Version
        /// How long nothing at all may come or go: while connecting, sending, and waiting for the answer. Time that this side takes, because a
        /// body's next piece is not there or the answer is not read, does not count. nil: no limit.
        package var idleTimeout: Duration?
        /// For the whole, the wait for its turn included. nil: no limit.
        package var totalTimeout: Duration?
        /// The most bytes of the answer's body, after decompression, of `send`; a stream has no limit.
        package var answerBytesMax: Int
        /// Whether the server may compress its answer.
        package var takesCompression: Bool
        /// false: a connection to an address that is not public is refused, whatever name led there, with `cannotConnect`. A connection that is open
        /// already is used: ask for such requests a client of their own. A proxy's address counts where there is one.
        package var reachesPrivateAddresses = true
        /// Called on the thread of all transfers whenever bytes came or went: it must return at once.
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

        /// A name of RFC 9110's characters, and a value without those that end a line.
        var isWellFormed: Bool {
            !name.isEmpty && name.utf8.allSatisfy(Self.isOfToken) && !value.utf8.contains { $0 == 13 || $0 == 10 || $0 == 0 }
        }

        /// RFC 9110, section 5.6.2.
        static func isOfToken(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
        }
    }

    /// Bytes of bodies so far. What is expected is nil where nobody has said it.
    package struct Progress: Equatable, Sendable {
        package var sent: Int
        package var toSend: Int?
        package var received: Int
        package var toReceive: Int?
    }
}
