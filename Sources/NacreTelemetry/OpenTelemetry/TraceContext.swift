/// The place of a request in a distributed trace (W3C Trace Context).
package struct TraceContext: Sendable, Hashable {
    private let high: UInt64
    private let low: UInt64
    /// The caller's span; nil if the trace begins here.
    package let parentID: UInt64?
    /// Whether the caller records the trace; nil if the trace begins here.
    package let isSampled: Bool?
    /// The caller's `tracestate`.
    package private(set) var state: String?

    /// Begins a trace with the ID of a request: a UUID, whose digits become the trace's ID. nil for other text.
    package init?(beginning requestID: String) {
        let digits = requestID.utf8.filter { $0 != UInt8(ascii: "-") }
        guard digits.count == 32, let high = Self.number(digits[..<16]), let low = Self.number(digits[16...]), high | low != 0 else { return nil }
        (self.high, self.low, parentID, isSampled) = (high, low, nil, nil)
    }

    /// Reads the headers of a request. nil if `traceparent` is missing, given twice or malformed; then `tracestate`
    /// counts for nothing, too. A malformed `tracestate` is left out alone.
    package init?(parent: [String], state: [String]) {
        guard parent.count == 1 else { return nil }
        let text = Array(parent[0].utf8)
        let dashes = [2, 35, 52]
        guard text.count >= 55, dashes.allSatisfy({ text[$0] == UInt8(ascii: "-") }), let version = Self.number(text[0..<2]), version != 0xff,
            // Later versions may have more behind a dash.
            version == 0 ? text.count == 55 : text.count == 55 || text[55] == UInt8(ascii: "-"),
            let high = Self.number(text[3..<19]), let low = Self.number(text[19..<35]), high | low != 0,
            let parentID = Self.number(text[36..<52]), parentID != 0, let flags = Self.number(text[53..<55])
        else { return nil }
        (self.high, self.low, self.parentID, isSampled) = (high, low, parentID, flags & 1 == 1)
        self.state = Self.checked(state)
    }

    /// Returns the number of lower case hexadecimal digits; nil for other text.
    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        var number: UInt64 = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt64(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return number
    }

    /// Returns the values of `tracestate` as one list; nil if it is not `key=value` with commas between, or has more
    /// than 32 members or 512 bytes.
    private static func checked(_ values: [String]) -> String? {
        let text = values.joined(separator: ",")
        guard !text.isEmpty, text.utf8.count <= 512, text.utf8.allSatisfy({ $0 == 9 || (0x20..<0x7f).contains($0) }) else { return nil }
        let members = text.split(separator: ",").map { $0.drop { $0 == " " || $0 == "\t" } }.filter { !$0.isEmpty }
        let areWellFormed = members.allSatisfy { member in
            let parts = member.split(separator: "=", omittingEmptySubsequences: false)
            return parts.count == 2 && parts.allSatisfy { !$0.isEmpty } && parts[0].utf8.allSatisfy(isOfKey)
        }
        return areWellFormed && (1...32).contains(members.count) ? text : nil
    }

    private static func isOfKey(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "_-*/@".utf8.contains(byte)
        }
    }

    /// The trace's ID in 32 lower case hexadecimal digits.
    package var traceID: String { Self.digits(high) + Self.digits(low) }
    /// The trace's ID in 16 bytes.
    package var traceIDBytes: [UInt8] { Self.bytes(high) + Self.bytes(low) }

    /// A number that is the same for all spans of the trace and evenly spread over 56 bits, for samplers.
    package var randomness: UInt64 { low & 0x00FF_FFFF_FFFF_FFFF }

    private static func digits(_ number: UInt64) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }

    /// The bytes of half a trace's ID, or of a span's, the highest first.
    static func bytes(_ number: UInt64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}
