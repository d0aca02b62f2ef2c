import NacreCrypto
import Testing

@testable import NacreCloudServer

struct QRCodeTests {
    /// SHA-256 of the rows, `1` for a dark module, as another implementation draws them: the Python package `qrcode`
    /// 8.2, with error correction M.
    @Test(arguments: [
        ("HTTP", 0, 21, "c0b79d18eff0e39817ba69b707feeeb9588ecd2c9b47df22fcf198725f1b39a9"),
        (String(repeating: "q", count: 14), 1, 21, "39b2c7397c567a0f918f098d96abaf4e97afabb3f87349cd69171f0ee679413b"),
        (String(repeating: "q", count: 15), 2, 25, "254a86b17fb38f906268a9f3bf43f1e6263265d42c58c39f02e89f0e8341bc4e"),
        (
            "https://nacre.example/share/AAAAAAAAAAAAAAAAAAAAAA", 3, 33,
            "d8fcd1918679ec13f448d92b6cb7ac1f1e309ded935f540428c279ea77a35944"
        ),
        (String(repeating: "x", count: 90), 5, 41, "b3b99334f4f95214b9697d29ede6cb6d2e20f580cf22351cfb639ec75cb60a27"),
        (String(repeating: "y", count: 110), 6, 45, "0d8e9153677fd54519d098f18775c4d95ad2c443b46052f3d70e79417065660f"),
        (String(repeating: "w", count: 180), 4, 53, "17fbfea48a37b81d18426df64cbbe58b569ee1d9b249a0c13e252686dd652be7"),
        (
            "https://a.example/" + String(repeating: "z", count: 195), 7, 57,
            "61d7b6fd2f1f41f48df2a27796c57d22fd5faff2307c7b33071cc5c0accabb64"
        ),
    ])
    func `a text is drawn as another implementation draws it`(text: String, mask: Int, side: Int, digest: String) throws {
        let code = try #require(QRCode(text, mask: mask))
        let rows = (0..<code.side).map { row in (0..<code.side).map { code[row, $0] ? "1" : "0" }.joined() }
        #expect(code.side == side)
        #expect(Hex.encode(SHA256.digest(Array(rows.joined(separator: "\n").utf8))) == digest)
    }

    @Test func `without a mask the square is one of the eight, and a text that is too long has none`() throws {
        let text = "https://nacre.example/share/AAAAAAAAAAAAAAAAAAAAAA"
        let all = (0..<8).compactMap { QRCode(text, mask: $0)?.rows }
        #expect(all.count == 8 && Set(all).count == 8)
        #expect(all.contains(try #require(QRCode(text)).rows))
        #expect(QRCode(String(repeating: "z", count: 213)) != nil)
        #expect(QRCode(String(repeating: "z", count: 214)) == nil)
    }
}
