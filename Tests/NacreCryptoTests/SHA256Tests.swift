import NacreCloudTestSupport
import Testing

@testable import NacreCrypto

struct SHA256Tests {
    /// FIPS 180-4's examples, as NIST publishes them.
    static let published: [(message: [UInt8], digest: String)] = [
        ([], "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (Array("abc".utf8), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            Array("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        ([UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ]

    // Each is a number: an argument is written down with the test's events, and a million bytes take seconds there.
    @Test(arguments: published.indices)
    func `published messages have their published digests`(index: Int) {
        let (message, digest) = Self.published[index]
        #expect(Hex.encode(SHA256.digest(message)) == digest)
    }

    @Test(arguments: published.indices)
    func `the digest that stands in when OpenSSL fails is the same`(index: Int) {
        let (message, digest) = Self.published[index]
        let portable = message.withUnsafeBytes { SHA256.portableDigest($0) }
        #expect(Hex.encode(portable) == digest)
    }

    @Test func `pieces of any size have the digest of the whole`() throws {
        var random = SeededRandom(seed: 1)
        var stream = try SHA256.Stream()
        for length in [0, 1, 55, 56, 63, 64, 65, 127, 128, 1_000, 5_000] {
            let message = random.bytes(length)
            var rest = message[...]
            while !rest.isEmpty {
                let piece = rest.prefix(Int.random(in: 0...100, using: &random))
                stream.update(Array(piece))
                rest = rest.dropFirst(piece.count)
            }
            let digest = try stream.finish()
            #expect(digest == SHA256.digest(message), "length \(length)")
        }
    }

    @Test func `a finished stream begins again`() throws {
        var stream = try SHA256.Stream()
        stream.update(Array("something else".utf8))
        _ = try stream.finish()
        let empty = try stream.finish()
        stream.update(Array("abc".utf8))
        let digest = try stream.finish()
        #expect(empty == SHA256.digest([]))
        #expect(digest == SHA256.digest(Array("abc".utf8)))
    }

    @Test func `many tasks may digest at once`() async {
        let digests = await withTaskGroup(of: Bool.self) { group in
            for seed in 0..<64 as Range<UInt64> {
                group.addTask {
                    var random = SeededRandom(seed: seed)
                    let message = random.bytes(200)
                    let expected = SHA256.digest(message)
                    return (0..<200).allSatisfy { _ in SHA256.digest(message) == expected }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(digests == [Bool](repeating: true, count: 64))
    }
}
