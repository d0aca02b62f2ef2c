/// Comparisons of entity tags (RFC 9110 §8.8.3.2).
enum EntityTag {
    /// Whether `If-None-Match` names the tag, by weak comparison, or is `*`.
    static func anyMatches(_ headers: [String], _ tag: String) -> Bool {
        let wanted = opaque(tag[...])
        for header in headers {
            var rest = header[...]
            while let item = nextItem(&rest) {
                if item == "*" || opaque(item) == wanted { return true }
            }
        }
        return false
    }

    /// Whether `If-Range` names the tag, by strong comparison: a weak tag never matches.
    static func isSame(_ condition: String, _ tag: String?) -> Bool {
        guard let tag else { return false }
        return condition == tag && !condition.hasPrefix("W/")
    }

    private static func opaque(_ tag: Substring) -> Substring {
        tag.hasPrefix("W/") ? tag.dropFirst(2) : tag
    }

    /// Returns the next tag of a list. Commas inside quotes belong to the tag.
    private static func nextItem(_ list: inout Substring) -> Substring? {
        while let first = list.utf8.first, first == UInt8(ascii: ",") || first == 0x20 || first == 0x09 { list.removeFirst() }
        guard !list.isEmpty else { return nil }
        var isQuoted = false
        let end =
            list.utf8.firstIndex { byte in
                if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
                return byte == UInt8(ascii: ",") && !isQuoted
            } ?? list.endIndex
        defer { list = list[end...] }
        return trimmingSpaces(list[..<end])
    }
}
