import NacreCrypto
import Testing

struct HMACSHA256Tests {
    /// RFC 4231, test cases 1, 2, 3, 6 and 7.
    static let published: [(key: [UInt8], message: [UInt8], code: String)] = [
        (
            [UInt8](repeating: 0x0b, count: 20), Array("Hi There".utf8),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            [UInt8](repeating: 0xaa, count: 20), [UInt8](repeating: 0xdd, count: 50),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
        ),
        (
            [UInt8](repeating: 0xaa, count: 131), Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        (
            [UInt8](repeating: 0xaa, count: 131),
            Array(
                ("This is a test using a larger than block-size key and a larger than block-size data. "
                    + "The key needs to be hashed before being used by the HMAC algorithm.").utf8),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
        ),
    ]

    @Test(arguments: published)
    func `published messages have their published codes`(key: [UInt8], message: [UInt8], code: String) {
        #expect(Hex.encode(HMACSHA256.code(for: message, key: key)) == code)
        #expect(HMACSHA256.isValid(bytes(code), for: message, key: key))
    }

    @Test func `a code damaged anywhere is not valid`() {
        let message = Array("message".utf8)
        let key = Array("key".utf8)
        for code in damaged(HMACSHA256.code(for: message, key: key)) {
            #expect(!HMACSHA256.isValid(code, for: message, key: key))
        }
    }

    @Test func `another message or another key has another code`() {
        let code = HMACSHA256.code(for: [1, 2, 3], key: [4, 5, 6])
        #expect(!HMACSHA256.isValid(code, for: [1, 2], key: [4, 5, 6]))
        #expect(!HMACSHA256.isValid(code, for: [1, 2, 3], key: [4, 5]))
        #expect(!HMACSHA256.isValid(code, for: [4, 5, 6], key: [1, 2, 3]))
    }

    @Test func `an empty message and an empty key have a code`() {
        #expect(Hex.encode(HMACSHA256.code(for: [], key: [])) == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
    }

    @Test func `equal bytes are equal, and a difference anywhere is seen`() {
        let secret: [UInt8] = Array(0..<40)
        #expect(constantTimeEquals(secret, Array(0..<40)))
        #expect(constantTimeEquals([], []))
        for other in damaged(secret) { #expect(!constantTimeEquals(secret, other)) }
    }
}
