import Glibc

/// Finds the end of a request's head as its bytes come. Each byte is looked at once.
struct HeadEnd {
    enum Found: Equatable {
        case not
        /// The head ends after this number of bytes.
        case at(Int)
        /// A line ends with a line feed alone, which other software might not take for an end.
        case bareLineFeed
    }

    private var looked = 0
    private var lineStart = 0

    /// Whether nothing was looked at.
    var isNew: Bool { looked == 0 }

    /// Whether the request line is complete.
    var hasLine: Bool { lineStart > 0 }

    /// - Parameter bytes: All bytes of the head that have come.
    mutating func find(in bytes: UnsafeRawBufferPointer) -> Found {
        guard let base = bytes.baseAddress else { return .not }
        while looked < bytes.count {
            guard let feed = memchr(base + looked, 0x0A, bytes.count - looked) else {
                looked = bytes.count
                return .not
            }
            let place = base.distance(to: UnsafeRawPointer(feed))
            guard place > lineStart, bytes[place - 1] == 0x0D else { return .bareLineFeed }
            looked = place + 1
            if place == lineStart + 1 { return .at(looked) }
            lineStart = looked
        }
        return .not
    }
}
