/// Telephone numbers in the form in which they are compared, hashed and stored: E.164, a plus sign and at most 15
/// digits that begin with the country's.
package enum PhoneNumber {
    /// Digits at most: E.164.
    private static let digitsMax = 15
    /// Digits at least. On this server: no country has shorter numbers for telephones that receive texts.
    private static let digitsMin = 7

    /// Normalises a number.
    /// - Parameter text: The number as people write it, with spaces, hyphens, dots, slashes and brackets, and with
    ///   `00` or a plus sign.
    /// - Returns: nil for a text that is no number, and for a number without its country, which is ambiguous.
    package static func normalised(_ text: String) -> String? {
        guard text.utf8.count <= 64 else { return nil }
        var digits = ""
        var isInternational = false
        for character in text.unicodeScalars {
            switch character {
            case "+" where digits.isEmpty && !isInternational: isInternational = true
            case "0"..."9": digits.unicodeScalars.append(character)
            case " ", "-", ".", "/", "(", ")", "\u{A0}": break
            default: return nil
            }
        }
        if !isInternational {
            guard digits.hasPrefix("00") else { return nil }
            digits.removeFirst(2)
        }
        guard (digitsMin...digitsMax).contains(digits.count), !digits.hasPrefix("0") else { return nil }
        return "+" + digits
    }
}
