import NacreCloudWire
import Testing

/// Words as searches compare them.
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
}
