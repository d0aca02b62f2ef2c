/// Telephone numbers as they are compared, hashed and kept: E.164, a plus sign and at most 15 digits of which the first is that of a country.
package enum PhoneNumber {
    /// E.164.
    private static let digitsMax = 15
    /// On this server: no country gives shorter numbers to telephones that receive texts.
    private static let digitsMin = 7

    /// - Parameter text: as people write it: with spaces, hyphens, dots, slashes and brackets, and with `00` in the place of the plus sign.
    /// - Returns: nil for what is no number, and for one without its country: nobody knows whose that is.
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
