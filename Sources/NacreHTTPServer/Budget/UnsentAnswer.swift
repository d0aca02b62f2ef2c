/// The bytes of a large answer, in pieces that are given up as the client reads.
final class UnsentAnswer {
    private var pieces: [[UInt8]]
    private var next = 0
    /// Of the first piece that is left.
    private var sent = 0
    private(set) var left: Int

    init(_ bytes: [UInt8]) {
        left = bytes.count
        pieces = stride(from: 0, to: bytes.count, by: ServerLimits.answerPieceBytes).map {
            Array(bytes[$0..<min($0 + ServerLimits.answerPieceBytes, bytes.count)])
        }
    }

    /// Moves what comes next into a buffer; how much that was.
    func take(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard next < pieces.count else { return 0 }
        let count = min(buffer.count, pieces[next].count - sent)
        pieces[next].withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[sent..<sent + count])) }
        sent += count
        left -= count
        if sent == pieces[next].count {
            pieces[next] = []
            next += 1
            sent = 0
        }
        return count
    }
}
