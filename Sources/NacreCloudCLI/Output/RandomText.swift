enum RandomText {
    /// 64 bits a word, from the system's generator, as hexadecimal digits.
    static func digits(_ words: Int) -> String {
        (0..<words).map { _ in
            let word = String(UInt64.random(in: .min ... .max), radix: 16)
            return String(repeating: "0", count: 16 - word.count) + word
        }.joined()
    }
}
