import NacreCloudContainer
import NacreCloudStorage
import Testing

@Suite struct HexTextTests {
    @Test func `bytes come back from their digits, and what else there is in a text is refused`() {
        let bytes = Array(UInt8.min...UInt8.max)
        #expect(HexText.decode(HexText.encode(bytes)) == bytes)
        #expect(HexText.decode("") == [])
        #expect(HexText.decode("_00ff".dropFirst()) == [0x00, 0xFF])
        for text in ["0", "0f0", "0F", "0g", "g0", " 0", "00é", "0x00"] { #expect(HexText.decode(text) == nil, "\(text)") }
    }
}
