/// One range of a `Range` header, before the size is known (RFC 9110 §14.1.2).
enum ByteRange: Equatable {
    /// From the first to the last byte, both included; nil: to the end.
    case from(UInt64, through: UInt64?)
    /// The last bytes, of this number.
    case last(UInt64)

    /// Returns nil if the header is of another unit, malformed or has several ranges. It is then ignored, which RFC
    /// 9110 §14.2 allows.
    init?(_ header: String) {
        guard let equals = header.firstIndex(of: "="), equalIgnoringCase(header[..<equals], "bytes") else { return nil }
        let text = trimmingSpaces(header[header.index(after: equals)...])
        guard let dash = text.firstIndex(of: "-") else { return nil }
        let first = text[..<dash]
        let last = text[text.index(after: dash)...]
        if first.isEmpty {
            guard let count = Self.number(last) else { return nil }
            self = .last(count)
        } else {
            guard let start = Self.number(first) else { return nil }
            if last.isEmpty {
                self = .from(start, through: nil)
            } else {
                guard let end = Self.number(last), end >= start else { return nil }
                self = .from(start, through: end)
            }
        }
    }

    /// Reads a number. One beyond 64 bits becomes the largest, because RFC 9110 §14.1.1 wants large numbers accepted.
    private static func number(_ digits: Substring) -> UInt64? {
        guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
        return UInt64(digits) ?? .max
    }

    /// Returns the range in a body of this size, or nil if it is empty (416).
    func resolved(in size: UInt64) -> Range<UInt64>? {
        switch self {
        case .from(let start, let end):
            guard start < size else { return nil }
            return start..<(end.map { min($0, size - 1) } ?? size - 1) + 1
        case .last(let count):
            guard count > 0, size > 0 else { return nil }
            return size - min(count, size)..<size
        }
    }
}
