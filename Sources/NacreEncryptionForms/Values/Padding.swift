/// The lengths to which plaintexts are padded, so that a ciphertext tells its length in steps only.
package enum Padding {
    /// The byte that ends the value. Zeros follow it.
    package static let mark: UInt8 = 0x80

    /// Returns the least bucket that holds so many bytes: a multiple of 16 up to 256 bytes, above it a length of which
    /// all but the upper five bits are zero.
    /// - Parameter count: At least 0; counts near `Int.max` have no bucket.
    package static func bucket(for count: Int) -> Int? {
        let bits = Int.bitWidth - max(count, 1).leadingZeroBitCount
        let step = count <= 256 ? 16 : 1 << (bits - 5)
        let (sum, overflows) = max(count, 1).addingReportingOverflow(step - 1)
        return overflows ? nil : sum / step * step
    }

    /// Whether a length is one of the buckets.
    package static func isBucket(_ count: Int) -> Bool {
        count > 0 && bucket(for: count) == count
    }

    /// Appends the mark, and zeros up to a bucket.
    package static func pad(_ bytes: inout [UInt8]) {
        bytes.append(mark)
        let length = bucket(for: bytes.count) ?? bytes.count
        bytes.append(contentsOf: repeatElement(0, count: length - bytes.count))
    }

    /// Returns the number of bytes before the mark; nil if the padding is another than `pad` makes.
    package static func unpaddedCount(_ padded: [UInt8]) -> Int? {
        guard let end = padded.lastIndex(where: { $0 != 0 }), padded[end] == mark, bucket(for: end + 1) == padded.count else { return nil }
        return end
    }
}
