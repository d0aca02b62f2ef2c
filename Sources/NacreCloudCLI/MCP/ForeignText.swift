/// Text from a database, an app or a log on its way to an agent: nothing in it hides, and by default it names nobody.
enum ForeignText {
    /// Characters of a value that are shown. Ours: longer values say little more, and fill an agent's context.
    static let charactersMax = 2000

    /// Returns a text with at most `charactersMax` characters, all visible.
    static func bounded(_ text: String) -> String {
        let text = visible(text)
        guard text.unicodeScalars.count > charactersMax else { return text }
        return "\(String(String.UnicodeScalarView(text.unicodeScalars.prefix(charactersMax))))… (cut: \(text.utf8.count) bytes in all)"
    }

    /// Returns a text without e-mail addresses and phone numbers.
    static func anonymous(_ text: String) -> String { withoutNumbers(withoutAddresses(text)) }

    /// Returns a text with its invisible characters written out. A person who reads along sees what the agent sees.
    static func visible(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isHidden) else { return text }
        return text.unicodeScalars.reduce(into: "") { shown, scalar in
            if isHidden(scalar) {
                shown += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                shown.unicodeScalars.append(scalar)
            }
        }
    }

    /// Whether a character shows nothing: controls but the line feed and the tab, marks of direction, zero widths but
    /// those that join emoji and letters, and the tags in which ASCII can be hidden.
    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0a: false
        case 0..<0x20, 0x7f..<0xa0, 0x200b, 0x200e, 0x200f, 0x2028...0x202e, 0x2060...0x206f, 0xfeff, 0xfff9...0xfffb, 0xe0000...0xe0fff: true
        default: false
        }
    }

    /// Returns a text without e-mail addresses: each `@` goes with the letters around it.
    private static func withoutAddresses(_ text: String) -> String {
        guard text.contains("@") else { return text }
        func isOfAddress(_ scalar: Unicode.Scalar) -> Bool {
            scalar.properties.isAlphabetic || scalar.properties.numericType != nil || "._%+-'!#$&*/=?^`{|}~".unicodeScalars.contains(scalar)
        }
        var shown: [Unicode.Scalar] = []
        var rest = Array(text.unicodeScalars)[...]
        while let at = rest.firstIndex(of: "@") {
            let host = rest[(at + 1)...].prefix(while: isOfAddress)
            let name = rest[..<at].reversed().prefix(while: isOfAddress).count
            if name > 0, !host.isEmpty {
                shown += rest[..<(at - name)]
                shown += Array("[e-mail address]".unicodeScalars)
            } else {
                shown += rest[..<host.endIndex]
            }
            rest = rest[host.endIndex...]
        }
        return String(String.UnicodeScalarView(shown + rest))
    }

    /// Digits of an international phone number, by E.164 and the shortest that are in use.
    private static let phoneDigits = 7...15

    /// Returns a text without phone numbers: a plus and 7 to 15 digits, with spaces, dots, dashes and brackets.
    private static func withoutNumbers(_ text: String) -> String {
        guard text.contains("+") else { return text }
        var shown: [Unicode.Scalar] = []
        var rest = Array(text.unicodeScalars)[...]
        while let plus = rest.firstIndex(of: "+") {
            let number = rest[(plus + 1)...].prefix { ("0"..."9").contains($0) || " .-()/\u{a0}".unicodeScalars.contains($0) }
            let digits = number.count { ("0"..."9").contains($0) }
            shown += rest[..<plus]
            let end = number.lastIndex { ("0"..."9").contains($0) }.map { $0 + 1 } ?? (plus + 1)
            shown += phoneDigits.contains(digits) ? Array("[phone number]".unicodeScalars) : Array(rest[plus..<end])
            rest = rest[end...]
        }
        return String(String.UnicodeScalarView(shown + rest))
    }
}
