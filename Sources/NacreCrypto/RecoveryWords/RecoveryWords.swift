/// A secret of 32 bytes as 24 English words that a person writes down: 256 bits and a checksum of 8, in 24 numbers of
/// 11 bits. The list is our own; no two of its 2,048 words begin with the same four letters.
package enum RecoveryWords {
    /// The number of words.
    package static let count: Int = 24
    /// The length of the secret, in bytes.
    package static let secretLength: Int = 32

    /// The reason why words are no secret. It names the place of a word, from 1, and never the word.
    package enum Fault: Error, Equatable, Sendable {
        case wrongCount(Int)
        case unknownWord(place: Int)
        case wrongChecksum
    }

    private static let bitsOfWord = 11
    /// The letters that are enough to tell a word from all others.
    private static let tellingLetters = 4
    /// The longest text that is read, in bytes: more than 24 words with numbers and spaces take.
    private static let textBytesMaximum = 4_096

    private static let list: [Substring] = recoveryWordList.split(whereSeparator: \.isWhitespace)
    /// numbers[the first four letters]: the word's place in the list.
    private static let numbers: [Substring: Int] = Dictionary(
        list.enumerated().map { ($0.element.prefix(tellingLetters), $0.offset) }, uniquingKeysWith: { first, _ in first })

    /// Returns the words of a secret. Nothing wipes them.
    /// - Throws: `invalidKeyLength` for another number of bytes than 32.
    package static func words(for secret: SecretBytes) throws(CryptoError) -> [String] {
        guard secret.count == secretLength else { throw CryptoError(.invalidKeyLength) }
        var words: [String] = []
        var (bits, count) = (0, 0)
        for byte in secret.exposed + [checksum(of: secret)] {
            (bits, count) = (bits << 8 | Int(byte), count + 8)
            guard count >= bitsOfWord else { continue }
            count -= bitsOfWord
            words.append(String(list[bits >> count]))
            bits &= 1 << count - 1
        }
        return words
    }

    /// Returns the secret of 24 words. Capitals, numbers and any signs between the words do not matter, and a word may
    /// end after four letters or later.
    package static func secret(from text: String) throws(Fault) -> SecretBytes {
        guard text.utf8.count <= textBytesMaximum else { throw .wrongCount(count + 1) }
        let words = text.lowercased().split { !$0.isLetter }
        guard words.count == count else { throw .wrongCount(words.count) }
        var bytes: [UInt8] = []
        var (bits, held) = (0, 0)
        for (index, word) in words.enumerated() {
            guard let number = numbers[word.prefix(tellingLetters)], list[number].hasPrefix(word) else { throw .unknownWord(place: index + 1) }
            (bits, held) = (bits << bitsOfWord | number, held + bitsOfWord)
            while held >= 8 {
                held -= 8
                bytes.append(UInt8(bits >> held))
                bits &= 1 << held - 1
            }
        }
        let secret = SecretBytes(Array(bytes.prefix(secretLength)))
        guard bytes.last == checksum(of: secret) else { throw .wrongChecksum }
        return secret
    }

    /// Returns the first byte of the secret's SHA-256, which all but one of 256 mistakes change.
    private static func checksum(of secret: SecretBytes) -> UInt8 {
        SHA256.digest(secret.exposed)[0]
    }
}

extension RecoveryWords.Fault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .wrongCount(let count): "There are \(count) recovery words: enter all \(RecoveryWords.count), in their order"
        case .unknownWord(let place): "Recovery word \(place) is not in the list: compare it with what you wrote down"
        case .wrongChecksum: "The recovery words do not belong together: compare each, and their order, with what you wrote down"
        }
    }
}
