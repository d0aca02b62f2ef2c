import CNacreSockets
import Glibc

/// Sends one response over a socket that takes some of it at a time.
struct AnswerSender {
    enum Progress {
        /// All is sent.
        case done
        /// The socket takes no more for now.
        case full
        /// The handler's stream has nothing for now, and tells when it has.
        case starved
        /// So much was sent that others have a turn.
        case pausing
        /// The client is gone, or the body came to no good end.
        case failed
    }

    enum Body {
        case none
        case bytes(UnsentAnswer)
        case file(OpenFile, offset: UInt64, left: UInt64)
        /// Bytes that a handler writes. Of a known length, in chunks, or up to the end of the connection.
        case stream(HTTPStreamWriter, ResponseHead.Framing)
    }

    /// Bytes of one response that are sent before other connections have their turn.
    private static let turnBytes = 256 * 1024
    /// How much of a streamed body is taken at once.
    private static let pieceBytes = 64 * 1024
    /// Room for a streamed body that has nothing yet: as much as comes while that is being seen.
    private static let leastPieceBytes = 1024
    /// For a chunk's size, and the line ends around it.
    private static let frameBytes = 10

    /// What goes out before the rest of the body.
    private var text: [UInt8]
    private var sentOfText = 0
    private var body: Body
    /// Since this was made.
    private(set) var sentBytes = 0
    /// Whether the client takes the body in pieces, each in its time: it is long, and its length is known.
    let hasPieces: Bool

    /// - Parameter head: with the body behind it where that is short.
    init(_ head: [UInt8], _ body: Body) {
        text = head
        self.body = body
        hasPieces =
            switch body {
            case .none, .stream(_, .chunked), .stream(_, .none): false
            case .bytes, .file, .stream(_, .length): true
            }
    }

    /// Bytes of the body that wait in memory, where all of it does.
    var waitingBytes: Int {
        if case .bytes(let answer) = body { return answer.left }
        return 0
    }

    /// Sends as much as goes. Never blocks, but for the disk where a file is sent.
    mutating func send(to socket: Int32) -> Progress {
        let start = sentBytes
        while true {
            if sentOfText < text.count {
                // The head shares its packet with what follows at once.
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

    /// - Returns: nil: there may be more to send.
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
            // Shorter than it was when its length was told.
            if count == 0, left > 0 { return .failed }
            guard let count = took(count) else { return failure }
            let rest = left - UInt64(count)
            body = rest == 0 ? .none : .file(file, offset: offset + UInt64(count), left: rest)
            return nil
        case .stream(let writer, let framing): return take(of: writer, framing)
        }
    }

    /// Gets what the writer has as the next text.
    private mutating func take(of writer: HTTPStreamWriter, _ framing: ResponseHead.Framing) -> Progress? {
        var supply = HTTPStreamWriter.Supply.empty
        var start = 0
        // An event of a stream is some hundred bytes: of room for the largest piece each would be made and thrown away.
        let pieceBytes = min(Self.pieceBytes, max(writer.readyBytes ?? Self.pieceBytes, Self.leastPieceBytes))
        let piece = [UInt8](unsafeUninitializedCapacity: pieceBytes + 2 * Self.frameBytes) { buffer, count in
            let room = UnsafeMutableRawBufferPointer(buffer)[Self.frameBytes..<Self.frameBytes + pieceBytes]
            supply = writer.take(into: UnsafeMutableRawBufferPointer(rebasing: room))
            guard case .bytes(let taken) = supply else { return }
            (start, count) = (Self.frameBytes, Self.frameBytes + taken)
            for place in 0..<start { buffer[place] = 0 }
            guard case .chunked = framing else { return }
            // The size stands right before the bytes, whatever its length.
            let line = Array((String(taken, radix: 16) + "\r\n").utf8)
            start -= line.count
            for (place, byte) in line.enumerated() { buffer[start + place] = byte }
            (buffer[count], buffer[count + 1]) = (0x0D, 0x0A)
            count += 2
        }
        switch supply {
        case .bytes(let taken):
            (text, sentOfText) = (piece, start)
            guard case .length(let left) = framing else { return nil }
            // More bytes than were told.
            guard UInt64(taken) <= left else { return .failed }
            body = left == UInt64(taken) ? .none : .stream(writer, .length(left - UInt64(taken)))
            return nil
        case .empty: return .starved
        case .failed: return .failed
        case .end:
            switch framing {
            // Fewer bytes than were told.
            case .length(let left) where left > 0: return .failed
            case .length, .none: break
            case .chunked: text = Array("0\r\n\r\n".utf8)
            }
            body = .none
            return nil
        }
    }

    /// Counts what a call has sent; nil where it has sent nothing.
    private mutating func took(_ count: Int) -> Int? {
        guard count >= 0 else { return nil }
        sentBytes += count
        return count
    }

    /// What it means that a call has sent nothing.
    private var failure: Progress {
        switch errno {
        case EAGAIN: .full
        case EINTR: .pausing
        default: .failed
        }
    }
}
