import Glibc
import Testing

@testable import NacreHTTPServer

/// Tests of the memory of a large answer that is being sent.
struct UnsentAnswerTests {
    private static func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) | 1 } }

    private static func take(_ most: Int, of answer: UnsentAnswer) -> [UInt8] {
        var taken: [UInt8] = []
        _ = answer.take(upTo: most) { bytes in
            taken = Array(bytes)
            return bytes.count
        }
        return taken
    }

    @Test(arguments: [0, 1, ServerLimits.answerPieceBytes, ServerLimits.returnedAnswerBytes, 1_000_003], [4095, 4096, 65_536, 2_000_000])
    func `each byte comes once and in its order, whatever is taken at a time`(count: Int, most: Int) {
        let answer = UnsentAnswer(Self.bytes(count))
        var got: [UInt8] = []
        while answer.left > 0 {
            let piece = Self.take(most, of: answer)
            #expect(piece.count == min(most, count - got.count))
            got += piece
            #expect(answer.left == count - got.count)
        }
        #expect(got == Self.bytes(count))
        #expect(Self.take(most, of: answer) == [])
    }

    @Test func `what the client has taken lies in memory no more, and what it has not does`() throws {
        let count = 4 * ServerLimits.returnedAnswerBytes
        let page = Int(getpagesize())
        var bytes = Self.bytes(count)
        let address = bytes.withUnsafeMutableBytes { $0.baseAddress.map { UInt(bitPattern: $0) } ?? 0 }
        let answer = UnsentAnswer(consume bytes)
        // Whole pages of the answer.
        let first = (Int(address) + page - 1) / page * page
        func resident(_ part: Range<Int>) throws -> Int {
            var pages = [UInt8](repeating: 0, count: part.count / page)
            let start = try #require(UnsafeMutableRawPointer(bitPattern: first + part.lowerBound))
            try #require(mincore(start, part.count, &pages) == 0)
            return pages.count { $0 & 1 == 1 }
        }
        let (half, end) = (count / 2, count - page)
        #expect(try resident(0..<end) == end / page)
        _ = Self.take(half, of: answer)
        #expect(try resident(0..<half - page) == 0)
        #expect(try resident(half..<end) == (end - half) / page)
        withExtendedLifetime(answer) {}
    }
}
