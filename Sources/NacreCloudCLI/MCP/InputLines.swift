/// Cuts the bytes of an input into lines, of which none is kept beyond a bound.
struct InputLines {
    enum Line: Equatable {
        case bytes([UInt8])
        /// A line beyond the bound; its bytes are dropped.
        case tooLong
    }

    /// Bytes of the longest line. On this server: the texts of the largest schema fit.
    static let bytesMax = 1 << 20

    private let bytesMax: Int
    private var line: [UInt8] = []
    private var isTooLong = false

    init(bytesMax: Int = Self.bytesMax) {
        self.bytesMax = bytesMax
    }

    /// Takes bytes, and returns the lines that end in them. Empty lines are left out.
    mutating func take(_ bytes: [UInt8]) -> [Line] {
        var lines: [Line] = []
        var rest = bytes[...]
        while let feed = rest.firstIndex(of: UInt8(ascii: "\n")) {
            add(rest[..<feed])
            rest = rest[(feed + 1)...]
            if let line = end() { lines.append(line) }
        }
        add(rest)
        return lines
    }

    /// Returns the last line, if the input ends without a line feed.
    mutating func end() -> Line? {
        defer { (line, isTooLong) = ([], false) }
        if isTooLong { return .tooLong }
        return line.allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r") } ? nil : .bytes(line)
    }

    private mutating func add(_ bytes: ArraySlice<UInt8>) {
        guard !isTooLong else { return }
        if line.count + bytes.count > bytesMax {
            (line, isTooLong) = ([], true)
        } else {
            line += bytes
        }
    }
}
