import NacreCloudTestSupport
import Testing

@testable import NacreCrypto

struct RecoveryWordsTests {
    private static let list = recoveryWordList.split(whereSeparator: \.isWhitespace).map(String.init)

    @Test func `the list has 2048 words in order, of 4 to 7 letters, and none begins with another's first four`() {
        #expect(Self.list.count == 2_048 && Self.list == Self.list.sorted())
        #expect(Self.list.allSatisfy { (4...7).contains($0.count) && $0.utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) } })
        #expect(Set(Self.list.map { $0.prefix(4) }).count == 2_048)
    }

    /// Keys that were written down would be lost.
    @Test func `the list never changes`() {
        #expect(
            Hex.encode(SHA256.digest(Array(Self.list.joined(separator: " ").utf8)))
                == "31da0cdb570eddd0b335e9140289f348a4e4baeebd1cf5456081a4a5124fffee")
    }

    @Test func `the words of zeros and of ones are these`() throws {
        let zeros = try RecoveryWords.words(for: SecretBytes([UInt8](repeating: 0, count: 32)))
        #expect(zeros.dropLast() == ArraySlice(repeatElement(Self.list[0], count: 23)))
        // The checksum is the first byte of SHA-256 over 32 zeros, 0x66: the last eight bits of the last word.
        #expect(zeros.last == Self.list[0x66])
        let ones = try RecoveryWords.words(for: SecretBytes([UInt8](repeating: 0xff, count: 32)))
        #expect(ones.dropLast() == ArraySlice(repeatElement(Self.list[2_047], count: 23)))
        // Over 32 bytes of ones it is 0xaf.
        #expect(ones.last == Self.list[0x7af])
    }

    @Test func `a secret comes back from its words, however they are typed`() throws {
        var random = SeededRandom()
        for _ in 0..<50 {
            let secret = SecretBytes(random.bytes(32))
            let words = try RecoveryWords.words(for: secret)
            #expect(words.count == RecoveryWords.count)
            let numbered = words.enumerated().map { "\($0.offset + 1). \($0.element)" }.joined(separator: "\r\n")
            let lines = "  " + words.joined(separator: "\n\t ") + "\n"
            let abbreviated = words.map { String($0.prefix(4)) }.joined(separator: "-")
            let capitals = words.joined(separator: ", ").uppercased()
            for text in [words.joined(separator: " "), lines, numbered, abbreviated, capitals] {
                #expect(try RecoveryWords.secret(from: text) == secret, "\(random)")
            }
        }
    }

    @Test(arguments: 0..<24) func `a word that is not in the list is named by its place`(index: Int) throws {
        let words = try RecoveryWords.words(for: SecretBytes(Array(0..<32)))
        for wrong in ["xxxx", "abs", "a", words[index] + "x", String(words[index].prefix(3)), "é" + words[index]] {
            var changed = words
            changed[index] = wrong
            let fault = #expect(throws: RecoveryWords.Fault.self) { try RecoveryWords.secret(from: changed.joined(separator: " ")) }
            #expect(fault == .unknownWord(place: index + 1))
            #expect(fault?.description.contains("word \(index + 1) ") == true)
        }
    }

    @Test func `another number of words is refused, and text without end is not read`() throws {
        let words = try RecoveryWords.words(for: SecretBytes(Array(0..<32)))
        for (text, count) in [("", 0), (words.dropLast().joined(separator: " "), 23), ((words + ["zero"]).joined(separator: " "), 25)] {
            #expect(throws: RecoveryWords.Fault.wrongCount(count)) { try RecoveryWords.secret(from: text) }
        }
        #expect(throws: RecoveryWords.Fault.wrongCount(25)) { try RecoveryWords.secret(from: String(repeating: "zero ", count: 1_000_000)) }
    }

    /// One in 256 changes keeps the checksum: of 2,000, about 8 do, and more than 30 in no run.
    @Test func `changed and exchanged words are found by the checksum`() throws {
        var random = SeededRandom()
        var found = 0
        for _ in 0..<2_000 {
            var words = try RecoveryWords.words(for: SecretBytes(random.bytes(32)))
            let (first, second) = (Int.random(in: 0..<24, using: &random), Int.random(in: 0..<24, using: &random))
            words.swapAt(first, second)
            if first == second { words[first] = Self.list[(Self.list.firstIndex(of: words[first]) ?? 0) ^ 1] }
            do {
                _ = try RecoveryWords.secret(from: words.joined(separator: " "))
            } catch RecoveryWords.Fault.wrongChecksum {
                found += 1
            }
        }
        #expect((1_970..<2_000).contains(found), "\(random)")
    }

    @Test(arguments: [0, 31, 33]) func `a secret of another length has no words`(length: Int) {
        #expect(throws: CryptoError(.invalidKeyLength)) { try RecoveryWords.words(for: SecretBytes([UInt8](repeating: 1, count: length))) }
    }
}
