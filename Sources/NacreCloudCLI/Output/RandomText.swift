enum RandomText {
    /// Returns hexadecimal digits from the system's generator, 64 bits for each word.
    static func digits(_ words: Int) -> String {
        (0..<words).map { _ in
            let word = String(UInt64.random(in: .min ... .max), radix: 16)
            return String(repeating: "0", count: 16 - word.count) + word
        }.joined()
    }
}
