/// A header's value with parameters behind it, such as `form-data; name="file"` (RFC 9110 §5.6.6).
struct HeaderParameters: Sendable {
    /// The value before the parameters, in lower case.
    let value: String
    private let parameters: [(name: String, value: String)]

    init(_ text: Substring) {
        var parts: [[UInt8]] = [[]]
        var (isQuoted, isEscaped) = (false, false)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\\") where isQuoted && !isEscaped: isEscaped = true
            case UInt8(ascii: "\"") where !isEscaped: isQuoted.toggle()
            case UInt8(ascii: ";") where !isQuoted: parts.append([])
            default:
                parts[parts.count - 1].append(byte)
                isEscaped = false
            }
        }
        let texts = parts.map { trimmingSpaces(String(decoding: $0, as: UTF8.self)[...]) }
        value = texts[0].lowercased()
        parameters = texts.dropFirst().compactMap { text in
            guard let equals = text.firstIndex(of: "=") else { return nil }
            return (String(trimmingSpaces(text[..<equals])), String(trimmingSpaces(text[text.index(after: equals)...])))
        }
    }

    /// The first parameter of this name. Names compare without case.
    subscript(name: String) -> String? { parameters.first { equalIgnoringCase($0.name, name) }?.value }
}
