/// Cuts bytes into chunks, and keeps those behind the last cut.
package struct ContentCutter: Sendable {
    package static let leastBytes = 64 * 1024
    package static let averageBytes = 256 * 1024
    package static let mostBytes = 1024 * 1024

    /// Bytes behind the last cut.
    private var pending: [UInt8] = []
    private var cuts = ContentCuts()

    package init() {}

    /// Takes the next bytes, and passes on each chunk that ends in them.
    package mutating func add(_ piece: [UInt8], _ chunk: ([UInt8]) throws -> Void) rethrows {
        var start = 0
        while let end = cuts.next(in: piece, from: start) {
            var bytes: [UInt8] = []
            swap(&bytes, &pending)
            bytes += piece[start..<end]
            start = end
            try chunk(bytes)
        }
        pending += piece[start...]
    }

    /// Returns the bytes behind the last cut, and starts anew; nil: none.
    package mutating func rest() -> [UInt8]? {
        defer { (pending, cuts) = ([], ContentCuts()) }
        return pending.isEmpty ? nil : pending
    }
}

/// Finds the cuts between chunks by the content: a rolling sum over the last 64 bytes. Bytes inserted or removed
/// change only the chunks around them. Up to `averageBytes` the sum must meet a harder condition than after it, which
/// keeps most chunks near that size.
///
/// Client and server cut alike. Stored data depends on the cuts: another table or other sizes would store existing
/// bytes again.
package struct ContentCuts: Sendable {
    /// A stretch of a chunk up to `length` bytes, with its condition: a cut comes after the first byte whose sum is
    /// below `bound`; nil: no cut. The bound is a power of two: the upper bits, which depend on most bytes, must be
    /// zero.
    private struct Stretch {
        let length: Int
        let bound: UInt64?
    }

    /// Conditions four times rarer than the average, then four times more frequent. The sum has seen 64 bytes before
    /// the first possible cut.
    private static let stretches = [
        Stretch(length: ContentCutter.leastBytes - 64, bound: nil), Stretch(length: ContentCutter.leastBytes - 1, bound: 0),
        Stretch(length: ContentCutter.averageBytes - 1, bound: 1 << 44), Stretch(length: ContentCutter.mostBytes, bound: 1 << 48),
    ]

    /// A number for each byte: the first outputs of SplitMix64.
    private static let gear: [UInt64] = {
        var state: UInt64 = 0x6e61_6372_6520_6669
        return (0..<256).map { _ in
            state &+= 0x9e37_79b9_7f4a_7c15
            var value = state
            value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
            value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
            return value ^ (value >> 31)
        }
    }()

    /// The number of bytes behind the last cut.
    private var pending = 0
    /// The rolling sum after the last of them.
    private var sum: UInt64 = 0

    package init() {}

    /// Takes the bytes of a piece from `start` on, up to the first cut. Some 3 GB/s of a core.
    /// - Returns: The index behind the cut, where the next call goes on; nil: no cut, and the whole piece was taken.
    package mutating func next(in piece: [UInt8], from start: Int) -> Int? {
        let chunkStart = start - pending
        var place = start
        for stretch in Self.stretches {
            let end = min(piece.count, chunkStart + stretch.length)
            guard place < end else { continue }
            if let bound = stretch.bound, let cut = roll(over: piece, place..<end, until: bound) { return cutting(at: cut) }
            place = end
        }
        if place - chunkStart == ContentCutter.mostBytes { return cutting(at: place) }
        pending = piece.count - chunkStart
        return nil
    }

    private mutating func cutting(at index: Int) -> Int {
        (pending, sum) = (0, 0)
        return index
    }

    /// Updates the sum to the end of a part of the piece, or to the first byte after which it is below `bound`.
    /// - Returns: The index behind that byte; nil: there is none.
    private mutating func roll(over piece: [UInt8], _ part: Range<Int>, until bound: UInt64) -> Int? {
        var (place, sum) = (part.lowerBound, self.sum)
        defer { self.sum = sum }
        return piece.withUnsafeBufferPointer { bytes -> Int? in
            Self.gear.withUnsafeBufferPointer { gear -> Int? in
                // Four bytes at a time: their terms do not depend on the sum, so only the sum is a chain of dependent
                // steps.
                while place + 4 <= part.upperBound {
                    let first = gear[Int(bytes[place])]
                    let second = first << 1 &+ gear[Int(bytes[place + 1])]
                    let third = second << 1 &+ gear[Int(bytes[place + 2])]
                    let fourth = third << 1 &+ gear[Int(bytes[place + 3])]
                    let sums = (sum << 1 &+ first, sum << 2 &+ second, sum << 3 &+ third, sum << 4 &+ fourth)
                    guard sums.0 >= bound, sums.1 >= bound, sums.2 >= bound, sums.3 >= bound else { break }
                    sum = sums.3
                    place += 4
                }
                while place < part.upperBound {
                    sum = sum << 1 &+ gear[Int(bytes[place])]
                    place += 1
                    if sum < bound { return place }
                }
                return nil
            }
        }
    }
}
