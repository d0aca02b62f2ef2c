/// Cuts bytes into chunks where their content says so: a rolling sum over the last 64 bytes decides. So bytes put in or taken out change the chunks
/// around them and no other. Until `averageBytes` the sum must meet a harder condition than behind it, which keeps most chunks near that size.
///
/// Sender and server cut alike. Where it cuts is kept with the data: another table or other sizes would store again what is there.
package struct ContentCutter: Sendable {
    package static let leastBytes = 64 * 1024
    package static let averageBytes = 256 * 1024
    package static let mostBytes = 1024 * 1024

    /// Of the sum's upper bits, because they depend on most bytes: four times as rare as the average, and four times as frequent.
    private static let hardMask: UInt64 = ~0 << 44
    private static let easyMask: UInt64 = ~0 << 48

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

    /// Bytes behind the last cut.
    private var pending: [UInt8] = []
    /// So many of them were looked at.
    private var seen = 0
    private var sum: UInt64 = 0

    package init() {}

    /// Takes the next bytes, and hands out the chunks that end in them.
    package mutating func add(_ piece: [UInt8], _ chunk: ([UInt8]) throws -> Void) rethrows {
        pending += piece
        while let end = nextCut() {
            try chunk(Array(pending[..<end]))
            pending.removeFirst(end)
            (seen, sum) = (0, 0)
        }
    }

    /// What is left at the end; nil: nothing.
    package mutating func rest() -> [UInt8]? {
        defer { (pending, seen, sum) = ([], 0, 0) }
        return pending.isEmpty ? nil : pending
    }

    private mutating func nextCut() -> Int? {
        var (place, sum) = (max(seen, Self.leastBytes - 64), self.sum)
        let end = min(pending.count, Self.mostBytes)
        let cut: Int? = pending.withUnsafeBufferPointer { bytes in
            Self.gear.withUnsafeBufferPointer { gear in
                while place < end {
                    sum = (sum << 1) &+ gear[Int(bytes[place])]
                    place += 1
                    guard place >= Self.leastBytes else { continue }
                    if sum & (place < Self.averageBytes ? Self.hardMask : Self.easyMask) == 0 { return place }
                }
                return place == Self.mostBytes ? place : nil
            }
        }
        (seen, self.sum) = (place, sum)
        return cut
    }
}
