import CNacreMicroHTTPD
import Glibc
import NacreTelemetry

extension Exchange {
    /// How much of a streamed body libmicrohttpd asks for at once.
    private static let streamPieceBytes = 16 * 1024

    /// Hands the response to libmicrohttpd, which sends it when the call returns.
    func queue(_ prepared: PreparedResponse) -> MHD_Result {
        connection.beginResponse()
        stage = .answering
        guard let response = makeResponse(prepared) else { return .NO }
        defer { MHD_destroy_response(response) }
        for (name, value) in prepared.headers {
            if ResponseHeader.isOurs(name) { continue }
            guard ResponseHeader.isSafe(name, value), addHeader(name, value, to: response) else {
                loop.logger.log(.error, "response header refused", [.name: .string(name)])
                return queueFailure()
            }
        }
        // libmicrohttpd ends a body of chunks that it does not send: five bytes that would begin the next response.
        if isHead, case .stream = prepared.body, nacre_mhd_end_with_connection(response) != .YES { return queueFailure() }
        if prepared.closes { MHD_add_response_header(response, "Connection", "close") }
        // libmicrohttpd has its own copy now. A client that reads slowly, or never, should not make us keep two.
        self.response?.body = .none
        return MHD_queue_response(raw, UInt32(clamping: prepared.status.rawValue), response)
    }

    /// Strings that are lent make no copies, as those do that the compiler passes as arguments.
    private func addHeader(_ name: String, _ value: String, to response: OpaquePointer) -> Bool {
        name.withCString { name in value.withCString { MHD_add_response_header(response, name, $0) } } == .YES
    }

    /// What goes out where the handler's response cannot.
    private func queueFailure() -> MHD_Result {
        writer?.abandon()
        guard let response = MHD_create_response_from_buffer(0, nil, .RESPMEM_PERSISTENT) else { return .NO }
        defer { MHD_destroy_response(response) }
        MHD_add_response_header(response, "Connection", "close")
        self.response?.status = .internalServerError
        return MHD_queue_response(raw, 500, response)
    }

    private func makeResponse(_ prepared: PreparedResponse) -> OpaquePointer? {
        switch prepared.body {
        case .none:
            return MHD_create_response_from_buffer(0, nil, .RESPMEM_PERSISTENT)
        case .bytes(let bytes) where bytes.count > ServerLimits.answerPieceBytes:
            return makePieces(UnsentAnswer(bytes))
        case .bytes(let bytes):
            return bytes.withUnsafeBytes { bytes in
                // libmicrohttpd takes a mutable pointer, and only copies from it in this mode.
                MHD_create_response_from_buffer(bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
            }
        case .file(let file, let offset, let length):
            // libmicrohttpd closes what it is given; the file's own descriptor closes with the file.
            let descriptor = fcntl(file.descriptor, F_DUPFD_CLOEXEC, 0)
            guard descriptor >= 0 else { return nil }
            guard let response = MHD_create_response_from_fd_at_offset64(length, descriptor, offset) else {
                close(descriptor)
                return nil
            }
            return response
        case .content(_, let range):
            return makeStream(length: UInt64(range.count), pieceBytes: ServerLimits.answerPieceBytes)
        case .stream:
            return makeStream(length: UInt64.max, pieceBytes: Self.streamPieceBytes)
        }
    }

    /// A large answer, of which libmicrohttpd asks for the next piece when the client has taken the one before.
    private func makePieces(_ answer: UnsentAnswer) -> OpaquePointer? {
        let source = Unmanaged.passRetained(PieceSource(answer, connection, account))
        let response = MHD_create_response_from_callback(
            UInt64(answer.left), ServerLimits.answerPieceBytes,
            { context, _, buffer, size in
                guard let context, let buffer else { return streamFailed }
                let source = Unmanaged<PieceSource>.fromOpaque(context).takeUnretainedValue()
                return source.supply(UnsafeMutableRawBufferPointer(start: buffer, count: size))
            }, source.toOpaque(),
            { context in
                if let context { Unmanaged<PieceSource>.fromOpaque(context).release() }
            })
        if response == nil { source.release() }
        return response
    }

    /// - Parameter length: of the body; `UInt64.max` where nobody knows it.
    private func makeStream(length: UInt64, pieceBytes: Int) -> OpaquePointer? {
        hasPieces = length < UInt64.max
        let source = Unmanaged.passRetained(self)
        let response = MHD_create_response_from_callback(
            length, pieceBytes,
            { context, _, buffer, size in
                guard let context, let buffer else { return streamFailed }
                let exchange = Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
                return exchange.supply(UnsafeMutableRawBufferPointer(start: buffer, count: size))
            }, source.toOpaque(),
            { context in
                if let context { Unmanaged<Exchange>.fromOpaque(context).release() }
            })
        if response == nil { source.release() }
        return response
    }

    /// Fills libmicrohttpd's buffer from the handler's stream, or suspends the connection until there is something.
    private func supply(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let writer, !loop.isStopping else { return streamFailed }
        switch writer.take(into: buffer) {
        case .bytes(let count):
            if hasPieces { connection.beginPiece() }
            return count
        case .end: return hasPieces ? streamFailed : streamEnd
        case .failed: return streamFailed
        case .empty:
            suspend()
            return 0
        }
    }
}

/// Where libmicrohttpd gets the pieces of a large answer from.
private final class PieceSource {
    private let answer: UnsentAnswer
    private let connection: ServedConnection
    private let account: RequestAccount

    init(_ answer: UnsentAnswer, _ connection: ServedConnection, _ account: RequestAccount) {
        self.answer = answer
        self.connection = connection
        self.account = account
    }

    func supply(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = answer.take(into: buffer)
        guard count > 0 else { return streamFailed }
        // The piece itself waits in libmicrohttpd's buffer.
        account.countAnswer(answer.left + count)
        connection.beginPiece()
        return count
    }
}

/// `MHD_CONTENT_READER_END_OF_STREAM` and `…_WITH_ERROR`: casts in macros, which Swift does not import.
private let streamEnd = -1
private let streamFailed = -2

/// What may stand in a response's header.
enum ResponseHeader {
    /// Whether libmicrohttpd writes this header itself.
    static func isOurs(_ name: String) -> Bool {
        switch name.utf8.count {
        case 4: equalIgnoringCase(name, "Date")
        case 10: equalIgnoringCase(name, "Connection") || equalIgnoringCase(name, "Keep-Alive")
        case 14: equalIgnoringCase(name, "Content-Length")
        case 17: equalIgnoringCase(name, "Transfer-Encoding")
        default: false
        }
    }

    /// Whether name and value stay one header line: no control characters, no byte that is no token in the name.
    static func isSafe(_ name: String, _ value: String) -> Bool {
        var (name, value) = (name, value)
        return !name.isEmpty && name.withUTF8 { $0.allSatisfy(isTokenByte) } && value.withUTF8 { $0.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
    }
}
