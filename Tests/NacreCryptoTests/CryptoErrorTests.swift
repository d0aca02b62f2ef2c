import NacreCrypto
import Testing

struct CryptoErrorTests {
    @Test func `each code has a text of its own, which does not depend on what failed`() {
        let texts = CryptoError.Code.allCases.map { CryptoError($0, libraryError: 12345).description }
        #expect(Set(texts).count == CryptoError.Code.allCases.count)
        #expect(texts == CryptoError.Code.allCases.map { CryptoError($0).description })
    }

    @Test func `a failure of OpenSSL is numbered, and is not blamed for the next`() throws {
        let error = #expect(throws: CryptoError.self) { try P256.PrivateKey(pem: "no key") }
        #expect(error?.code == .malformedKey)
        #expect(error?.libraryError != 0)
        let next = #expect(throws: CryptoError.self) { try SealingKey([]) }
        #expect(next == CryptoError(.invalidKeyLength))
    }
}
