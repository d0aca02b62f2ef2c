/// HTML text. Values interpolated into a literal are escaped, for text and for values in double quotes, unless they are
/// `HTML`.
struct HTML: ExpressibleByStringInterpolation, Sendable {
    let text: String

    /// Takes text that is HTML already, which must never come from a client.
    init(trusted text: String) { self.text = text }
    init(stringLiteral text: String) { self.text = text }
    init(joining parts: [HTML]) { text = parts.map(\.text).joined() }
    init(stringInterpolation: Interpolation) { text = stringInterpolation.text }

    static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }

    struct Interpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity) }

        mutating func appendLiteral(_ literal: String) { text += literal }
        mutating func appendInterpolation(_ value: String) { text += HTML.escaped(value) }
        mutating func appendInterpolation(_ value: Int) { text += String(value) }
        mutating func appendInterpolation(_ value: HTML) { text += value.text }
        /// Appends nothing for nil.
        mutating func appendInterpolation(_ value: HTML?) { text += value?.text ?? "" }
    }
}
