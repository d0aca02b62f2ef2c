/// A name, compared and hashed by the bytes of its UTF-8, as both engines keep and order it.
///
/// `String` itself takes canonically equivalent texts for one, and orders by Unicode: two records would become one here and two in SQL.
struct NameBytes: Hashable, Comparable, Sendable {
    let string: String

    init(_ string: String) {
        self.string = string
    }

    static func == (left: NameBytes, right: NameBytes) -> Bool {
        left.string.utf8.elementsEqual(right.string.utf8)
    }

    static func < (left: NameBytes, right: NameBytes) -> Bool {
        left.string.utf8.lexicographicallyPrecedes(right.string.utf8)
    }

    func hash(into hasher: inout Hasher) {
        for byte in string.utf8 {
            hasher.combine(byte)
        }
        hasher.combine(0xff as UInt8)
    }
}

extension Sequence<String> {
    /// Each name once, by its bytes, in the order of its first appearance: a verb takes a set, whatever list it is handed.
    var distinctNames: [String] {
        var seen: Set<NameBytes> = []
        return filter { seen.insert(NameBytes($0)).inserted }
    }
}
