import NacreCloudWire
import Testing

/// Tests of the cuts in files, on which stored data depends: a file that is cut otherwise is stored and sent again.
struct ContentCutterTests {
    @Test func `it cuts where it has cut since the first file was kept`() {
        let lengths = chunks(of: Self.noise(4 << 20), by: 256 * 1024).map(\.count)
        #expect(lengths == Self.lengthsOfNoise)
        #expect(chunks(of: [UInt8](repeating: 7, count: 5 << 19), by: 256 * 1024).map(\.count) == [1 << 20, 1 << 20, 1 << 19])
    }

    @Test(arguments: [1, 63, 4099, 64 * 1024 - 1, 256 * 1024, 1024 * 1024, 1_500_017])
    func `it cuts by the plain rule, however the bytes come`(piece: Int) {
        // One byte at a time is slow: a part is enough to see two cuts.
        let bytes = Self.noise(piece == 1 ? 800_000 : 3 << 19)
        #expect(chunks(of: bytes, by: piece).map(\.count) == Self.lengths(of: bytes))
    }

    @Test(arguments: [64 * 1024 - 1, 64 * 1024, 100_003, 256 * 1024 - 1, 256 * 1024, 256 * 1024 + 1])
    func `it cuts by the plain rule what repeats itself`(period: Int) {
        let once = Self.noise(period)
        let bytes = Array((0..<(5 << 18) / period).map { _ in once }.joined())
        let found = chunks(of: bytes, by: 100_000)
        #expect(found.map(\.count) == Self.lengths(of: bytes))
        #expect(Array(found.joined()) == bytes)
    }

    @Test func `it hands out every byte, in order, and begins anew behind the rest`() {
        let bytes = Self.noise(1 << 20)
        var cutter = ContentCutter()
        for _ in 0..<2 {
            var found: [UInt8] = []
            cutter.add(bytes) { found += $0 }
            found += cutter.rest() ?? []
            #expect(found == bytes)
            #expect(cutter.rest() == nil)
        }
    }

    private func chunks(of bytes: [UInt8], by piece: Int) -> [[UInt8]] {
        var cutter = ContentCutter()
        var chunks: [[UInt8]] = []
        for start in stride(from: 0, to: bytes.count, by: piece) {
            cutter.add(Array(bytes[start..<min(start + piece, bytes.count)])) { chunks.append($0) }
        }
        if let rest = cutter.rest() { chunks.append(rest) }
        return chunks
    }

    private static let lengthsOfNoise = [
        545490, 305867, 305347, 278848, 294614, 327347, 511119, 312273, 271439, 275447, 300700, 296635, 169178,
    ]

    /// Returns pseudorandom bytes, the same each time.
    private static func noise(_ count: Int) -> [UInt8] {
        var state: UInt64 = 42
        return (0..<count).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 56)
        }
    }

    /// Returns lengths by the plain rule: a sum over all bytes of the chunk, from which bytes more than 64 back are
    /// shifted out.
    private static func lengths(of bytes: [UInt8]) -> [Int] {
        var state: UInt64 = 0x6e61_6372_6520_6669
        let gear = (0..<256).map { _ -> UInt64 in
            state &+= 0x9e37_79b9_7f4a_7c15
            var value = state
            value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
            value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
            return value ^ (value >> 31)
        }
        var lengths: [Int] = []
        var (length, sum) = (0, UInt64(0))
        for byte in bytes {
            sum = sum << 1 &+ gear[Int(byte)]
            length += 1
            let mask: UInt64 = length < 256 * 1024 ? ~0 << 44 : ~0 << 48
            if length == 1024 * 1024 || length >= 64 * 1024 && sum & mask == 0 {
                lengths.append(length)
                (length, sum) = (0, 0)
            }
        }
        return length > 0 ? lengths + [length] : lengths
    }
}
