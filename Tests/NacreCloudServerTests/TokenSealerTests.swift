import Foundation
import NacreCloudWire
import NacreCrypto
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudServer
@testable import NacreCloudStorage

@Suite struct TokenSealerTests {
    private let old = [UInt8](repeating: 1, count: SealingKey.keyLength)
    private let new = [UInt8](repeating: 2, count: SealingKey.keyLength)

    @Test func `what is sealed opens again, and only for its purpose and binding`() throws {
        let sealer = try TokenSealer(keys: [("1", old)])
        let text = try sealer.seal([1, 2, 3], for: .webAuth, binding: "api")
        #expect(sealer.open(text, for: .webAuth, binding: "api") == [1, 2, 3])
        #expect(sealer.open(text, for: .webAuth, binding: "") == nil)
        #expect(sealer.open(text, for: .webAuth, binding: "apo") == nil)
        #expect(sealer.open(text, for: .account, binding: "api") == nil)
        #expect(sealer.open(text, for: .change, binding: "api") == nil)
    }

    @Test func `a purpose and a binding cannot be mistaken for one another`() throws {
        let sealer = try TokenSealer(keys: [("1", old)])
        // Concatenated, both would be "accountwebAuth…".
        let text = try sealer.seal([1], for: .account, binding: "webAuth")
        #expect(sealer.open(text, for: .webAuth, binding: "account") == nil)
    }

    @Test func `a text with any byte changed does not open`() throws {
        let sealer = try TokenSealer(keys: [("1", old)])
        let text = try sealer.seal(Array("a token of some length".utf8), for: .change)
        let bytes = Array(text.utf8)
        for index in bytes.indices {
            for other in [bytes[index] ^ 1, UInt8(ascii: "A"), UInt8(ascii: "="), UInt8(ascii: "."), 0] where other != bytes[index] {
                var changed = bytes
                changed[index] = other
                #expect(sealer.open(String(decoding: changed, as: UTF8.self), for: .change) == nil, "byte \(index) as \(other)")
            }
        }
        #expect(sealer.open(text, for: .change) != nil)
    }

    @Test func `a text cut short or made longer does not open`() throws {
        let sealer = try TokenSealer(keys: [("1", old)])
        let text = try sealer.seal([1, 2, 3, 4], for: .change)
        for length in 0..<text.count { #expect(sealer.open(String(text.prefix(length)), for: .change) == nil) }
        for more in ["A", "AAAA", "=", ".", "\n", " "] { #expect(sealer.open(text + more, for: .change) == nil) }
        #expect(sealer.open(String(repeating: "A", count: 100_000), for: .change) == nil)
    }

    @Test func `old keys open what they sealed, and the newest seals`() throws {
        let before = try TokenSealer(keys: [("1", old)]).seal([7], for: .account)
        let rotated = try TokenSealer(keys: [("1", old), ("2", new)])
        #expect(rotated.open(before, for: .account) == [7])
        let after = try rotated.seal([7], for: .account)
        #expect(Base64.decode(after)?.starts(with: [1, UInt8(ascii: "2")]) == true)
        #expect(try TokenSealer(keys: [("2", new)]).open(before, for: .account) == nil)
        #expect(try TokenSealer(keys: [("1", new)]).open(before, for: .account) == nil)
        // The ID names the key, and does not allow another one.
        var other = try #require(Base64.decode(before))
        other[1] = UInt8(ascii: "2")
        #expect(rotated.open(Base64.encode(other), for: .account) == nil)
    }

    @Test func `a text is as another implementation of AES-SIV computes it`() throws {
        let sealer = try TokenSealer(keys: [("1", old)])
        #expect(sealer.open("ATGrgWdj6WCRMQlKpkMLtnE52nn6") == [1, 2, 3])
    }

    @Test func `the same value gives the same text, and any decoder of base64 reads it`() throws {
        let sealer = try TokenSealer(keys: [("1", old)])
        let bytes = (0..<255).map { UInt8($0) }
        let text = try sealer.seal(bytes, for: .change)
        #expect(try sealer.seal(bytes, for: .change) == text)
        for length in 1...40 {
            let text = try sealer.seal(Array(bytes.prefix(length)), for: .change)
            #expect(Data(base64Encoded: text)?.base64EncodedString() == text)
        }
    }

    @Test func `the longest change token opens`() throws {
        let sealer = try TokenSealer(keys: [("18446744073709551615", old)])
        let name = String(repeating: "n", count: Limits.nameCharacters)
        // Its fixed parts take 60 bytes at most; a page that ends in the middle of a commit names a record.
        let bytes = [UInt8](repeating: 9, count: 60) + Array(name.utf8)
        #expect(sealer.open(try sealer.seal(bytes, for: .change), for: .change) == bytes)
    }

    @Test func `the longest marker of a query opens`() throws {
        let sealer = try TokenSealer(keys: [("1", old)])
        let position = QueryPosition(
            keys: Array(repeating: [UInt8](repeating: 255, count: Limits.indexKeyBytes + 1), count: Limits.sortsPerQuery),
            spot: .record(name: String(repeating: "😀", count: Limits.nameCharacters), zone: .min))
        let place = ChangeNumber(run: .max, seq: .max)
        let cursor = QueryCursor(digest: .max, order: .asked, position: position, seen: QueryCursor.Seen(zone: place, database: place))
        let text = try sealer.seal(cursor.bytes)
        #expect(sealer.open(text) == cursor.bytes)
    }

    @Test func `keys of a wrong length, and none at all, are refused`() {
        #expect(throws: CryptoError.self) { try TokenSealer(keys: [("1", [1, 2, 3])]) }
        #expect(throws: CryptoError.self) { try TokenSealer(keys: []) }
        #expect(throws: CryptoError.self) { try TokenSealer(keys: [(String(repeating: "1", count: 256), old)]) }
    }
}
