/// Cuts bytes into chunks, and keeps those behind the last cut.
package struct ContentCutter: Sendable {
    package static let leastBytes = 64 * 1024
    package static let averageBytes = 256 * 1024
    package static let mostBytes = 1024 * 1024

    /// Bytes behind the last cut.
    private var pending: [UInt8] = []
    private var cuts = ContentCuts()

    package init() {}

    /// Takes the next bytes, and hands out the chunks that end in them.
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

    /// What is left at the end; nil: nothing.
    package mutating func rest() -> [UInt8]? {
        defer { (pending, cuts) = ([], ContentCuts()) }
        return pending.isEmpty ? nil : pending
    }
}

/// Where bytes are cut into chunks: their content says so, by a rolling sum over the last 64 bytes. So bytes put in or taken out change the chunks
/// around them and no other. Until `averageBytes` the sum must meet a harder condition than behind it, which keeps most chunks near that size.
///
/// Sender and server cut alike. Where it cuts is kept with the data: another table or other sizes would store again what is there.
package struct ContentCuts: Sendable {
    /// What is done with a chunk's bytes until it has `length` of them: they are passed over where `bound` is nil, and else a cut is behind the first
    /// after which the sum is below it. Below a power of two is: none of the upper bits is set, which depend on most bytes.
    private struct Stretch {
        let length: Int
        let bound: UInt64?
    }

    /// Four times as rare as the average, and four times as frequent. The sum has seen 64 bytes where the first cut may be.
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

    /// How many bytes came behind the last cut.
    private var pending = 0
    /// The rolling sum after the last of them.
    private var sum: UInt64 = 0

    package init() {}

    /// Takes the bytes of a piece from `start` on, up to the first cut. Some 3 GB/s of a core.
    /// - Returns: the place behind the cut, where the next call goes on; nil: there is none, and all of the piece was taken.
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

    private mutating func cutting(at place: Int) -> Int {
        (pending, sum) = (0, 0)
        return place
    }

    /// Brings the sum up to the end of a part of the piece, or to the place behind the first byte after which it is below `bound`.
    /// - Returns: that place; nil: there is none.
    private mutating func roll(over piece: [UInt8], _ part: Range<Int>, until bound: UInt64) -> Int? {
        var (place, sum) = (part.lowerBound, self.sum)
        defer { self.sum = sum }
        return piece.withUnsafeBufferPointer { bytes -> Int? in
            Self.gear.withUnsafeBufferPointer { gear -> Int? in
                // Four bytes at a time: what they add to the sum does not wait for the sum, which is all that each step waits for.
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
