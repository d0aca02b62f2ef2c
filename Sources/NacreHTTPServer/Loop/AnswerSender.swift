import CNacreSockets
import Glibc

/// Sends one response over a non-blocking socket that takes part of it at a time.
struct AnswerSender {
    enum Progress {
        case done
        /// The socket takes no more for now.
        case full
        /// The handler's stream has no bytes for now, and calls back when it has.
        case starved
        /// The turn's bytes are sent: other connections come first.
        case pausing
        /// The client is gone, or the body is longer or shorter than announced.
        case failed
    }

    enum Body {
        case none
        case bytes(UnsentAnswer)
        case file(OpenFile, offset: UInt64, left: UInt64)
        /// Bytes that a handler writes: of a known length, in chunks, or up to the end of the connection.
        case stream(HTTPStreamWriter, ResponseHead.Framing)
    }

    /// Bytes of one response that are sent before other connections have their turn.
    private static let turnBytes = 256 * 1024
    /// The largest piece of a streamed body that is taken at once, in bytes.
    private static let pieceBytes = 64 * 1024
    /// The least room for a piece of a streamed body: bytes may arrive after `readyBytes` was read.
    private static let leastPieceBytes = 1024
    /// The bytes for a chunk's size and the line end behind it.
    private static let frameBytes = 10

    /// The bytes that go out before the rest of the body.
    private var text: [UInt8]
    private var sentOfText = 0
    private var body: Body
    /// Bytes sent since this sender was made.
    private(set) var sentBytes = 0
    /// Whether the client must take the body in pieces, each before a deadline: the body's length is known and it is
    /// not in `text`.
    let hasPieces: Bool

    /// - Parameter head: The head, with the body behind it if the body is short.
    init(_ head: [UInt8], _ body: Body) {
        text = head
        self.body = body
        hasPieces =
            switch body {
            case .none, .stream(_, .chunked), .stream(_, .none): false
            case .bytes, .file, .stream(_, .length): true
            }
    }

    /// The unsent bytes of a body that lies in memory; 0 for other bodies.
    var waitingBytes: Int {
        if case .bytes(let answer) = body { return answer.left }
        return 0
    }

    /// Sends as much as the socket takes. Never blocks, except for the disk when a file is sent.
    mutating func send(to socket: Int32) -> Progress {
        let start = sentBytes
        while true {
            if sentOfText < text.count {
                // The head shares its packet with the first bytes of the body.
                let flags = isBodyThere ? Int32(MSG_NOSIGNAL) | Int32(MSG_MORE) : Int32(MSG_NOSIGNAL)
                let sentBefore = sentOfText
                let count = text.withUnsafeBytes { Glibc.send(socket, $0.baseAddress.map { $0 + sentBefore }, $0.count - sentBefore, flags) }
                guard let count = took(count) else { return failure }
                sentOfText += count
                if sentOfText < text.count { continue }
                (text, sentOfText) = ([], 0)
            }
            if isBodyOver { return .done }
            if sentBytes - start >= Self.turnBytes { return .pausing }
            if let progress = sendBody(to: socket) { return progress }
        }
    }

    private var isBodyOver: Bool { if case .none = body { true } else { false } }

    /// Whether bytes of the body can be sent right now.
    private var isBodyThere: Bool {
        switch body {
        case .none, .stream: false
        case .bytes, .file: true
        }
    }

    /// - Returns: nil if there may be more to send.
    private mutating func sendBody(to socket: Int32) -> Progress? {
        switch body {
        case .none: return .done
        case .bytes(let answer):
            let most = min(answer.left, Self.turnBytes)
            let count = answer.take(upTo: most) { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard took(count) != nil else { return failure }
            if answer.left == 0 { body = .none }
            return nil
        case .file(let file, let offset, let left):
            var place = off_t(clamping: offset)
            let most = min(left, UInt64(Self.turnBytes))
            let count = sendfile(socket, file.descriptor, &place, Int(most))
            // The file is shorter than it was when its length was sent.
            if count == 0, left > 0 { return .failed }
            guard let count = took(count) else { return failure }
            let rest = left - UInt64(count)
            body = rest == 0 ? .none : .file(file, offset: offset + UInt64(count), left: rest)
            return nil
        case .stream(let writer, let framing): return take(of: writer, framing)
        }
    }

    /// Makes the writer's next bytes the next text.
    private mutating func take(of writer: HTTPStreamWriter, _ framing: ResponseHead.Framing) -> Progress? {
        var supply = HTTPStreamWriter.Supply.empty
        var start = 0
        // An event of a stream is some hundred bytes, so a buffer for the largest piece would be wasteful.
        let pieceBytes = min(Self.pieceBytes, max(writer.readyBytes ?? Self.pieceBytes, Self.leastPieceBytes))
        let piece = [UInt8](unsafeUninitializedCapacity: pieceBytes + 2 * Self.frameBytes) { buffer, count in
            let room = UnsafeMutableRawBufferPointer(buffer)[Self.frameBytes..<Self.frameBytes + pieceBytes]
            supply = writer.take(into: UnsafeMutableRawBufferPointer(rebasing: room))
            guard case .bytes(let taken) = supply else { return }
            (start, count) = (Self.frameBytes, Self.frameBytes + taken)
            for index in 0..<start { buffer[index] = 0 }
            guard case .chunked = framing else { return }
            // The size ends right before the bytes, however long it is.
            let line = Array((String(taken, radix: 16) + "\r\n").utf8)
            start -= line.count
            for (index, byte) in line.enumerated() { buffer[start + index] = byte }
            (buffer[count], buffer[count + 1]) = (0x0D, 0x0A)
            count += 2
        }
        switch supply {
        case .bytes(let taken):
            (text, sentOfText) = (piece, start)
            guard case .length(let left) = framing else { return nil }
            // The handler wrote more bytes than it announced.
            guard UInt64(taken) <= left else { return .failed }
            body = left == UInt64(taken) ? .none : .stream(writer, .length(left - UInt64(taken)))
            return nil
        case .empty: return .starved
        case .failed: return .failed
        case .end:
            switch framing {
            // The handler wrote fewer bytes than it announced.
            case .length(let left) where left > 0: return .failed
            case .length, .none: break
            case .chunked: text = Array("0\r\n\r\n".utf8)
            }
            body = .none
            return nil
        }
    }

    /// Counts the bytes that a call has sent; nil if the call failed.
    private mutating func took(_ count: Int) -> Int? {
        guard count >= 0 else { return nil }
        sentBytes += count
        return count
    }

    /// The progress that `errno` of a failed call stands for.
    private var failure: Progress {
        switch errno {
        case EAGAIN: .full
        case EINTR: .pausing
        default: .failed
        }
    }
}
