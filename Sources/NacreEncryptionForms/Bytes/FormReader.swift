/// Reads the parts of a form, in their order. Nothing is allocated for a length that the bytes do not have.
package struct FormReader {
    /// The longest `text`, in bytes: CloudKit's names have at most 255 characters of ASCII.
    package static let textBytesMax: Int = 255

    private let bytes: [UInt8]
    private var position: Int = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    private var remaining: Int { bytes.count - position }

    /// Returns the next bytes.
    mutating func take(_ count: Int) throws(FormFault) -> [UInt8] {
        guard count >= 0, count <= remaining else { throw .truncated }
        defer { position += count }
        return Array(bytes[position..<position + count])
    }

    /// Returns all bytes that are left.
    mutating func takeRest() -> [UInt8] {
        defer { position = bytes.count }
        return Array(bytes[position...])
    }

    mutating func end() throws(FormFault) {
        guard remaining == 0 else { throw .trailingBytes }
    }

    mutating func fixed<Kind>(_: FixedBytes<Kind>.Type = FixedBytes<Kind>.self) throws(FormFault) -> FixedBytes<Kind> {
        guard let value = FixedBytes<Kind>(try take(Kind.length)) else { throw .truncated }
        return value
    }

    mutating func integer<Integer: FixedWidthInteger & UnsignedInteger>(_: Integer.Type = Integer.self) throws(FormFault) -> Integer {
        let count = Integer.bitWidth / 8
        guard count <= remaining else { throw .truncated }
        defer { position += count }
        return bytes[position..<position + count].reduce(0) { $0 << 8 | Integer($1) }
    }

    /// Returns a part behind its length of 16 bits.
    mutating func prefixed() throws(FormFault) -> [UInt8] {
        try take(Int(try integer(UInt16.self)))
    }

    /// Returns a text. It may be empty.
    mutating func text(_ part: String) throws(FormFault) -> String {
        let bytes = try prefixed()
        guard bytes.count <= Self.textBytesMax, let text = String(validating: bytes, as: UTF8.self) else { throw .invalid(part) }
        return text
    }

    /// Returns a text that has a character at least.
    mutating func name(_ part: String) throws(FormFault) -> String {
        let name = try text(part)
        guard !name.isEmpty else { throw .invalid(part) }
        return name
    }

    /// Returns the elements of a list.
    /// - Parameter least: The bytes that the shortest element has, at least 1.
    mutating func list<Element>(
        least: Int, _ element: (inout FormReader) throws(FormFault) -> Element
    ) throws(FormFault) -> [Element] {
        let count = Int(try integer(UInt16.self))
        guard count <= remaining / least else { throw .truncated }
        var list: [Element] = []
        list.reserveCapacity(count)
        for _ in 0..<count { list.append(try element(&self)) }
        return list
    }
}

extension Sequence {
    /// Whether the names rise by the bytes of their UTF-8, and none is there twice.
    func rises(by name: KeyPath<Element, String>) -> Bool {
        zip(self, dropFirst()).allSatisfy { $0[keyPath: name].utf8.lexicographicallyPrecedes($1[keyPath: name].utf8) }
    }
}
