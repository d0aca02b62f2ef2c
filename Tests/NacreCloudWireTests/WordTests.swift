import NacreCloudWire
import Testing

/// Tests of words as searches compare them.
struct WordTests {
    @Test(arguments: [
        ("The quick, brown FOX", ["quick", "brown", "fox"]),
        ("Crème brûlée", ["creme", "brulee"]),
        ("cre\u{300}me", ["creme"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("ΟΔΟΣ οδός", ["οδοσ", "οδοσ"]),
        ("Ёлка", ["елка"]),
        ("İstanbul", ["istanbul"]),
        ("don't 3rd-party x2", ["don", "t", "3rd", "party", "x2"]),
        ("ＡＢＣ１２３", ["abc123"]),
        ("日本 語", ["日", "本", "語"]),
        ("か\u{3099}く がく", ["か\u{3099}く", "か\u{3099}く"]),
        ("한국", ["\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}"]),
        ("so\u{ad}ft", ["soft"]),
        ("\u{212A}", ["k"]),
        ("🐚 … —", []),
        ("", []),
        ("to be or not to be", []),
    ]) func `a text falls into words without case, diacritics and width`(text: String, words: [String]) {
        #expect(Words.of(text).map { Array($0.unicodeScalars) } == words.map { Array($0.unicodeScalars) })
    }

    @Test(arguments: ["The quick, brown FOX to", "Crème brûlée", "か\u{3099}く がく 日本", "don't 3rd-party x2 𝔄", ""])
    func `a text has its words and no others, whole or from their beginning`(text: String) {
        let words = Words.of(text)
        for word in words + ["quick", "quic", "the", "brulee", "日", "", "x"] {
            let utf8 = Array(word.utf8)[...]
            #expect(Words.has(utf8, in: text) == words.contains { $0.utf8.elementsEqual(utf8) }, "\(word)")
            #expect(Words.has(utf8, in: text, isPrefix: true) == words.contains { $0.utf8.starts(with: utf8) }, "\(word)")
        }
    }
}
