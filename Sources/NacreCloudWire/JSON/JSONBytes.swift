/// Tests of eight bytes of a document at once.
enum JSONBytes {
    /// The top bit of every byte.
    @inline(__always)
    static var tops: UInt64 { 0x8080_8080_8080_8080 }

    /// Returns the top bit of each byte that needs an escape or ends a string: quote, backslash and control
    /// characters.
    ///
    /// The lowest bit set is exactly the first of these bytes; borrows make false ones only above it.
    @inline(__always)
    static func marks(in word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quote = word ^ (ones &* 0x22)
        let backslash = word ^ (ones &* 0x5C)
        return ((word &- ones &* 0x20) & ~word | (quote &- ones) & ~quote | (backslash &- ones) & ~backslash) & tops
    }
}
