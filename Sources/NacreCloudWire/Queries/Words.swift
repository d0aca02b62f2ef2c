/// The words of a text as searches compare them: without case, diacritics and width.
///
/// One rule for both sides: the server's index has the same words as the framework's `allTokens`.
package enum Words {
    /// Words that searches ignore. CloudKit: `CKQuery`, "Predicate Rules".
    package static let ignored: Set<String> = [
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of", "on", "or", "such",
        "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
    ]

    /// Returns the words in their order, with repetitions, without ignored ones.
    ///
    /// A word is a run of letters and digits; an ideograph is a word by itself, because its scripts have no spaces.
    package static func of(_ text: String) -> [String] {
        var splitter = WordSplitter()
        splitter.split(text)
        return splitter.words
    }

    /// Returns whether a text has a word, as `of` finds them. Makes no `String` of the others.
    /// - Parameters:
    ///   - word: The word's UTF-8.
    ///   - isPrefix: Whether a word that begins with `word` counts too.
    package static func has(_ word: ArraySlice<UInt8>, in text: String, isPrefix: Bool = false) -> Bool {
        var splitter = WordSplitter(sought: word, isPrefix: isPrefix)
        splitter.split(text)
        return splitter.isFound
    }
}

private struct WordSplitter {
    private(set) var words: [String] = []
    /// The word that is searched; nil: all words are collected.
    private var sought: ArraySlice<UInt8>?
    private var isPrefix = false
    private(set) var isFound = false
    private var word: [UInt8] = []
    /// Whether marks on the letter before are diacritics, which are dropped. In other scripts they are part of the
    /// spelling.
    private var dropsMarks = true

    init() {}

    init(sought: ArraySlice<UInt8>, isPrefix: Bool) {
        self.sought = sought
        self.isPrefix = isPrefix
    }

    mutating func split(_ text: String) {
        let unused = self
        var text = text
        let isASCII = text.withUTF8 { utf8 in
            for byte in utf8 {
                if byte >= 0x80 { return false }
                take(ascii: byte)
            }
            return true
        }
        if !isASCII {
            self = unused
            for scalar in text.unicodeScalars { take(scalar) }
        }
        endWord()
    }

    private mutating func take(ascii byte: UInt8) {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): word.append(byte)
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): word.append(byte | 0x20)
        default: endWord()
        }
        dropsMarks = true
    }

    private mutating func take(_ scalar: Unicode.Scalar) {
        if scalar.isASCII {
            take(ascii: UInt8(truncatingIfNeeded: scalar.value))
        } else if let fullWidth = Self.narrow(scalar) {
            take(ascii: fullWidth)
        } else if let parts = Decompositions.of(scalar) {
            for part in parts { take(whole: part) }
        } else {
            take(whole: scalar)
        }
    }

    /// Takes a scalar.
    /// - Parameter scalar: One that does not decompose.
    private mutating func take(whole scalar: Unicode.Scalar) {
        if scalar.isASCII { return take(ascii: UInt8(truncatingIfNeeded: scalar.value)) }
        let properties = scalar.properties
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .spacingMark:
            if !word.isEmpty, !dropsMarks { append(scalar) }
        case .format:
            break  // joiners and soft hyphens stand inside words
        default:
            if properties.isIdeographic {
                endWord()
                append(scalar)
                endWord()
            } else if properties.isAlphabetic || properties.numericType != nil {
                for upper in properties.uppercaseMapping.unicodeScalars {
                    for lower in upper.properties.lowercaseMapping.unicodeScalars { append(lower) }
                }
                dropsMarks = scalar.value < Self.endOfCyrillic
            } else {
                endWord()
            }
        }
    }

    /// The end of the scalars of Latin, Greek and Cyrillic; no other script with marks is below it.
    private static let endOfCyrillic: UInt32 = 0x530

    private static func narrow(_ scalar: Unicode.Scalar) -> UInt8? {
        (0xff01...0xff5e).contains(scalar.value) ? UInt8(scalar.value - 0xfee0) : nil
    }

    private mutating func append(_ scalar: Unicode.Scalar) {
        word.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    }

    private mutating func endWord() {
        guard !word.isEmpty else { return }
        defer {
            word.removeAll(keepingCapacity: true)
            dropsMarks = true
        }
        if let sought {
            guard isPrefix ? word.starts(with: sought) : word[...] == sought else { return }
            isFound = isFound || !Words.ignored.contains(String(decoding: word, as: UTF8.self))
            return
        }
        let text = String(decoding: word, as: UTF8.self)
        if !Words.ignored.contains(text) { words.append(text) }
    }
}

/// Full canonical decompositions.
private enum Decompositions {
    private static let steps: [UInt32: [Unicode.Scalar]] = {
        let text = CanonicalDecompositions.text.withUTF8Buffer { String(decoding: $0, as: UTF8.self) }
        var steps: [UInt32: [Unicode.Scalar]] = [:]
        for row in text.split(separator: ",") {
            let scalars = row.split(whereSeparator: \.isWhitespace).compactMap { UInt32($0, radix: 16).flatMap(Unicode.Scalar.init) }
            if let first = scalars.first { steps[first.value] = Array(scalars.dropFirst()) }
        }
        return steps.mapValues { first in
            var parts = first
            while let index = parts.firstIndex(where: { steps[$0.value] != nil }) {
                parts.replaceSubrange(index...index, with: steps[parts[index].value] ?? [])
            }
            return parts
        }
    }()

    /// Returns the decomposition of a scalar; nil where it has none.
    static func of(_ scalar: Unicode.Scalar) -> [Unicode.Scalar]? {
        hangul(scalar) ?? steps[scalar.value]
    }

    /// Decomposes a Hangul syllable: a leading consonant, a vowel and perhaps a trailing consonant. Unicode, chapter
    /// 3.12.
    private static func hangul(_ scalar: Unicode.Scalar) -> [Unicode.Scalar]? {
        guard (0xac00...0xd7a3).contains(scalar.value) else { return nil }
        let place = scalar.value - 0xac00
        let parts = [0x1100 + place / 588, 0x1161 + place % 588 / 28, place % 28 == 0 ? 0 : 0x11a7 + place % 28]
        return parts.filter { $0 != 0 }.compactMap(Unicode.Scalar.init)
    }
}
