import Foundation
import NacreCloudWire
import Testing

struct Base64Tests {
    @Test func `it agrees with Foundation at every length`() {
        var seed = Seed()
        for count in 0..<200 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &seed) }
            let text = Data(bytes).base64EncodedString()
            #expect(Base64.encode(bytes) == text, "\(seed)")
            #expect(Base64.decode(text) == bytes, "\(seed)")
        }
    }

    @Test(arguments: [
        "A", "AA", "AAA", "AAAAA", "=", "==", "===", "====", "A===", "AA=A", "AA==AA==", "A=AA", "AA AA===", "AAAA\n", " AAAA", "AA-_", "AAé=",
        "AAA\u{0}",
        "QR==", "QUF=", "AAA=AAAA",
    ])
    func `what is not standard base64 is refused`(_ text: String) {
        #expect(Base64.decode(text) == nil)
    }
}
