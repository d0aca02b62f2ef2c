import Glibc

/// The bytes of a large answer, whose memory goes back to the system as the client reads. The bytes stay where they
/// were written. A copy of eight megabytes into releasable pieces kept the loop for three milliseconds.
final class UnsentAnswer {
    private var bytes: [UInt8]
    private var sent = 0
    /// The offset up to which the memory has gone back.
    private var returned = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var left: Int { bytes.count - sent }

    /// Hands out the next bytes.
    /// - Parameter body: Gets at most `most` bytes, and returns the number that it took. The others come again.
    /// - Returns: The result of the body.
    func take(upTo most: Int, _ body: (UnsafeRawBufferPointer) -> Int) -> Int {
        let count = bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[sent..<sent + min(most, left)])) }
        guard count > 0 else { return count }
        sent += count
        if sent - returned >= ServerLimits.returnedAnswerBytes { returnSent() }
        return count
    }

    /// Gives back the whole pages of the sent bytes, which are not read again. They read as zeros from then on.
    private func returnSent() {
        let sent = sent
        let (first, page) = (returned, Int(getpagesize()))
        returned = bytes.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return sent }
            let start = Int(bitPattern: base)
            let (low, high) = ((start + first + page - 1) / page * page, (start + sent) / page * page)
            guard low < high else { return first }
            _ = madvise(base + (low - start), high - low, MADV_DONTNEED)
            return high - start
        }
    }
}
