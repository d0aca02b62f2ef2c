import Testing

@testable import NacreHTTPServer

@Suite struct TextBytesTests {
    @Test func `a header's name is made of the letters, digits and marks that RFC 9110 lists, and of nothing else`() {
        let tokens = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
        #expect((UInt8.min...UInt8.max).filter(isTokenByte) == tokens.utf8.sorted())
    }

    @Test func `what a header says has any byte but control characters, of which a tab is none`() {
        #expect((UInt8.min...UInt8.max).filter { !isTextByte($0) } == Array(0..<0x09) + Array(0x0A..<0x20) + [0x7F])
    }
}
