import Testing

@testable import NacreHTTPServer

@Suite struct TextBytesTests {
    @Test func `a header's name is made of the letters, digits and marks that RFC 9110 lists, and of nothing else`() {
        let tokens = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
        #expect((UInt8.min...UInt8.max).filter(isTokenByte) == tokens.utf8.sorted())
    }

    @Test func `one control character anywhere is found, and a tab is none`() {
        let controls = (UInt8.min...UInt8.max).filter { !isTextByte($0) }
        #expect(controls == Array(0..<0x09) + Array(0x0A..<0x20) + [0x7F])
        for length in [1, 15, 16, 33] {
            let good = [UInt8](repeating: 0x09, count: length)
            #expect(good.withUnsafeBytes(isText))
            for (place, control) in zip(0..<length, controls) {
                var bad = good
                bad[place] = control
                #expect(!bad.withUnsafeBytes(isText))
            }
        }
        #expect([UInt8]().withUnsafeBytes(isText))
    }
}
