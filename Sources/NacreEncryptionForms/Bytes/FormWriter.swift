/// Writes the parts of a form. A value that was made by its checked initializer has no part that is too long.
package struct FormWriter {
    package private(set) var written: [UInt8] = []

    init(capacity: Int = 0) {
        written.reserveCapacity(capacity)
    }

    mutating func raw(_ bytes: [UInt8]) {
        written += bytes
    }

    mutating func fixed(_ value: FixedBytes<some FixedLength>) {
        written += value.bytes
    }

    mutating func integer(_ value: some FixedWidthInteger & UnsignedInteger) {
        for shift in stride(from: value.bitWidth - 8, through: 0, by: -8) { written.append(UInt8(truncatingIfNeeded: value >> shift)) }
    }

    /// Writes a part behind its length of 16 bits.
    mutating func bytes(_ bytes: [UInt8]) {
        integer(UInt16(clamping: bytes.count))
        written += bytes
    }

    mutating func text(_ text: String) {
        bytes(Array(text.utf8))
    }

    mutating func list<Element>(_ elements: [Element], _ write: (inout FormWriter, Element) -> Void) {
        integer(UInt16(clamping: elements.count))
        for element in elements { write(&self, element) }
    }
}
