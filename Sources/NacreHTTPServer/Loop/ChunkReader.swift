/// Takes the chunks of a body apart (RFC 9112 §7.1). Skips extensions and trailers.
struct ChunkReader {
    enum Outcome {
        case unfinished
        case finished
        case malformed
    }

    private enum State: Equatable {
        /// In the digits of a chunk's size, of which `digits` have come.
        case size(digits: Int)
        /// In the rest of the line, after the digits.
        case line
        /// A line feed has to come: after a size, or after a chunk's bytes.
        case lineFeed, endOfChunk
        case bytes
        case endOfBytes
        /// At the beginning of a line after the last chunk.
        case trailer
        case trailerLine, trailerLineFeed, lastLineFeed
    }

    /// The longest line before a chunk, and the bytes of all trailers together. No client that we know sends any.
    static let lineBytesMax = 4 * 1024
    /// More digits would overflow.
    private static let digitsMax = 15

    private var state = State.size(digits: 0)
    /// The bytes of the chunk that have not come.
    private var left = 0
    private var lineBytes = 0

    /// Reads the bytes that have come, up to the end of the body.
    /// - Parameter body: Gets the bytes of the chunks.
    /// - Returns: The number of bytes read, and whether the body is complete.
    mutating func read(_ bytes: UnsafeRawBufferPointer, into body: inout [UInt8]) -> (count: Int, outcome: Outcome) {
        var index = 0
        while index < bytes.count {
            if state == .bytes {
                let count = min(left, bytes.count - index)
                body.append(contentsOf: bytes[index..<index + count])
                index += count
                left -= count
                if left == 0 { state = .endOfBytes }
                continue
            }
            guard let next = step(bytes[index]) else { return (index, .malformed) }
            index += 1
            if state == .lastLineFeed, next == .size(digits: 0) { return (index, .finished) }
            state = next
        }
        return (index, .unfinished)
    }

    /// Returns the state after one byte of a chunk's frame; nil if the byte is malformed. After the body's last byte it
    /// is the start state.
    private mutating func step(_ byte: UInt8) -> State? {
        lineBytes += 1
        guard lineBytes <= Self.lineBytesMax else { return nil }
        let isReturn = byte == 0x0D
        switch state {
        case .size(let digits):
            if let value = hexValue(byte) {
                guard digits < Self.digitsMax else { return nil }
                left = left << 4 | Int(value)
                return .size(digits: digits + 1)
            }
            guard digits > 0 else { return nil }
            if isReturn { return .lineFeed }
            return byte == UInt8(ascii: ";") || byte == 0x20 || byte == 0x09 ? .line : nil
        case .line: return isReturn ? .lineFeed : isTextByte(byte) ? .line : nil
        case .lineFeed:
            guard byte == 0x0A else { return nil }
            lineBytes = 0
            return left == 0 ? .trailer : .bytes
        case .endOfBytes: return isReturn ? .endOfChunk : nil
        case .endOfChunk:
            guard byte == 0x0A else { return nil }
            lineBytes = 0
            return .size(digits: 0)
        case .trailer: return isReturn ? .lastLineFeed : isTextByte(byte) ? .trailerLine : nil
        case .trailerLine: return isReturn ? .trailerLineFeed : isTextByte(byte) ? .trailerLine : nil
        case .trailerLineFeed: return byte == 0x0A ? .trailer : nil
        case .lastLineFeed: return byte == 0x0A ? .size(digits: 0) : nil
        case .bytes: return nil
        }
    }
}
