import NacreCloudContainer

/// A name, compared and hashed by the bytes of its UTF-8, as both engines keep and order it.
///
/// `String` itself takes canonically equivalent texts for one, and orders by Unicode: two records would become one here and two in SQL.
struct NameBytes: Hashable, Comparable, Sendable {
    let string: String

    init(_ string: String) {
        self.string = string
    }

    static func == (left: NameBytes, right: NameBytes) -> Bool {
        left.string.utf8.count == right.string.utf8.count && ByteOrder.compare(left.string, right.string) == 0
    }

    static func < (left: NameBytes, right: NameBytes) -> Bool {
        ByteOrder.compare(left.string, right.string) < 0
    }

    func hash(into hasher: inout Hasher) {
        var string = string
        string.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

/// The key of an index's row, ordered as bytes.
struct KeyBytes: Hashable, Comparable, Sendable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    static func < (left: KeyBytes, right: KeyBytes) -> Bool {
        ByteOrder.compare(left.bytes, right.bytes) < 0
    }
}

extension [EntryKey] {
    /// So few are compared with each other: hashing them costs more.
    private static let few = 16

    /// Each key once.
    var distinct: [EntryKey] {
        if count <= Self.few {
            return indices.filter { place in !self[..<place].contains { NamedKey($0) == NamedKey(self[place]) } }.map { self[$0] }
        }
        var seen: Set<NamedKey> = []
        return filter { seen.insert(NamedKey($0)).inserted }
    }
}

extension Sequence<TaskKey> {
    var distinct: [TaskKey] {
        var seen: Set<NamedKey> = []
        return filter { seen.insert(NamedKey($0)).inserted }
    }
}

extension Sequence<String> {
    /// Each name once, by its bytes, in the order of its first appearance: a verb takes a set, whatever list it is handed.
    var distinctNames: [String] {
        var seen: Set<NameBytes> = []
        return filter { seen.insert(NameBytes($0)).inserted }
    }
}
