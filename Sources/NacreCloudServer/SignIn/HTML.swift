/// HTML text. What is put into a literal of it is escaped, for text and for values in double quotes, unless it is HTML itself.
struct HTML: ExpressibleByStringInterpolation, Sendable {
    let text: String

    /// Text that is HTML as it stands: never of anybody else's making.
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
        /// Nothing where there is nothing.
        mutating func appendInterpolation(_ value: HTML?) { text += value?.text ?? "" }
    }
}
