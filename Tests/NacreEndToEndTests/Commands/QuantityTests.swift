import Testing

@testable import NacreCloudCLI

/// Tests of sizes on a command line.
struct QuantityTests {
    @Test(
        arguments: [
            ("1", 1), ("500K", 512_000), ("2M", 2_097_152), ("3G", 3_221_225_472), ("2T", 2_199_023_255_552), ("0", nil), ("-1", nil), ("", nil),
            ("T", nil), ("2t", nil), ("2TB", nil), ("1.5G", nil), ("9000000T", nil),
        ] as [(String, Int?)])
    func `a size is a number of bytes, or one with K, M, G or T of 1024`(text: String, bytes: Int?) {
        #expect(Quantity.bytes(text) == bytes)
    }
}
