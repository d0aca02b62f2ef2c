import NacreEncryption
import NacreEncryptionForms
import Testing

/// A value of each type, with numbers whose bits are easily lost.
let samplePlaintexts: [EncryptedPlaintext] = [
    .string(""), .string("é\u{301}\u{0} 🙂"), .string(String(repeating: "x", count: 1_000)), .bytes([]), .bytes([0x80, 0, 0]),
    .bytes([UInt8](repeating: 0x80, count: 300)), .integer(.min), .integer(.max), .integer(0), .double(-0.0),
    .double(Double(bitPattern: 0x7ff0_0000_0000_0001)), .double(Double(nan: 0x1234, signaling: false)), .double(.infinity),
    .double(.leastNonzeroMagnitude),
    // Date.distantPast and distantFuture.
    .date(-63_114_076_800), .date(63_113_904_000), .date(0.1 + 0.2), sampleLocation,
    .strings([]), .strings(["", "a", "é"]), .byteStrings([[], [0], [1, 2]]), .integers([1, -1]), .doubles([-0.0, .nan]), .dates([0.1]),
    .locations([]), .emptyList,
]

private let sampleLocation = EncryptedPlaintext.location(
    .init(
        latitude: 51.5, longitude: -0.0, altitude: .nan, horizontalAccuracy: -1, verticalAccuracy: .leastNonzeroMagnitude, course: -1,
        speed: .infinity,
        timestamp: 0.3))

struct EncryptedPlaintextTests {
    @Test func `a value of each type comes back bit for bit`() throws {
        for value in samplePlaintexts {
            let bytes = value.padded
            #expect(Padding.isBucket(bytes.count))
            #expect(try #require(EncryptedPlaintext(padded: bytes)).padded == bytes, "\(value)")
        }
        #expect(EncryptedPlaintext(padded: EncryptedPlaintext.string("a").padded) == .string("a"))
        // -0.0 == 0.0, and a NaN equals nothing: the bits are compared above.
        #expect(Set(samplePlaintexts.map(\.padded)).count == samplePlaintexts.count)
    }

    @Test func `bytes that are no value are refused`() {
        let bodies: [[UInt8]] = [
            [], [0], [7], [127], [1, 0xff], [3, 1, 2, 3], [3] + [UInt8](repeating: 0, count: 9), [6] + [UInt8](repeating: 0, count: 63),
            [128, 0, 0, 0, 0], [128 + 7, 0, 0, 0, 0], [129], [129, 0, 0, 0, 1], [129, 0xff, 0xff, 0xff, 0xff],
            [129, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff],
            [129, 0, 0, 0, 1, 0, 0, 0, 1, 0xff], [131, 0, 0, 0, 1, 0, 0, 0, 1, 0], [129, 0, 0, 0, 0, 1], [255, 0, 0, 0, 0],
        ]
        for body in bodies {
            var bytes = body
            Padding.pad(&bytes)
            #expect(EncryptedPlaintext(padded: bytes) == nil, "\(body)")
        }
        for bytes in [[], [1], [1, 0x80], [1, 0x80] + [UInt8](repeating: 0, count: 30), [UInt8](repeating: 0, count: 16)] {
            #expect(EncryptedPlaintext(padded: bytes) == nil, "\(bytes)")
        }
    }
}
