import Glibc

/// The bytes of a large answer, whose memory goes back to the system as the client reads.
///
/// They stay where they were written: to copy eight megabytes into pieces that can be given up one by one kept the loop for three milliseconds.
final class UnsentAnswer {
    private var bytes: [UInt8]
    private var sent = 0
    /// Up to where the memory has gone back.
    private var returned = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var left: Int { bytes.count - sent }

    /// Hands out what comes next.
    /// - Parameter body: gets at most so many bytes, and returns how many of them it took; the others come again.
    /// - Returns: what the body returned.
    func take(upTo most: Int, _ body: (UnsafeRawBufferPointer) -> Int) -> Int {
        let count = bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[sent..<sent + min(most, left)])) }
        guard count > 0 else { return count }
        sent += count
        if sent - returned >= ServerLimits.returnedAnswerBytes { returnSent() }
        return count
    }

    /// Gives back the whole pages of what was sent, which nobody reads again: they are zeros from then on.
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
