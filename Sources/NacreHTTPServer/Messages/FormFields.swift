/// The fields of a body in `application/x-www-form-urlencoded`, as browsers send forms (WHATWG URL, 5.1).
package struct FormFields: Sendable {
    private var fields: [(name: String, value: String)] = []

    /// Parses a body. Fields that are not UTF-8, contain a NUL or have a malformed escape are left out.
    package init(_ body: [UInt8]) {
        for item in body.split(separator: UInt8(ascii: "&")) {
            let equals = item.firstIndex(of: UInt8(ascii: "=")) ?? item.endIndex
            let rest = equals == item.endIndex ? item[equals...] : item[(equals + 1)...]
            guard let name = Self.decoded(item[..<equals]), let value = Self.decoded(rest) else { continue }
            fields.append((name, value))
        }
    }

    /// The first field of this name, or nil.
    package subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

    /// Returns the values of all fields of this name, in order.
    package func values(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }

    private static func decoded(_ bytes: ArraySlice<UInt8>) -> String? {
        guard !bytes.contains(0) else { return nil }
        return percentDecoded(ArraySlice(bytes.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }))
    }
}
