import Glibc

/// Finds where the head of a request ends, as its bytes come: each is looked at once.
struct HeadEnd {
    enum Found: Equatable {
        case not
        /// After so many bytes.
        case at(Int)
        /// A line ends with a line feed alone, which another reader could take for no end.
        case bareLineFeed
    }

    private var looked = 0
    private var lineStart = 0

    /// Whether nothing was looked at.
    var isNew: Bool { looked == 0 }

    /// Whether the request line is complete.
    var hasLine: Bool { lineStart > 0 }

    /// - Parameter bytes: all of the head that has come.
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
