package import NacreCloudStorage

/// A name that is compared and hashed by the bytes of its UTF-8, as both engines keep and order it. `String` treats
/// canonically equivalent texts as equal, and orders by Unicode. Two records would be one here and two in SQL.
package struct NameBytes: Hashable, Comparable, Sendable {
    package let string: String

    package init(_ string: String) {
        self.string = string
    }

    package static func == (left: NameBytes, right: NameBytes) -> Bool {
        left.string.utf8.count == right.string.utf8.count && ByteOrder.compare(left.string, right.string) == 0
    }

    package static func < (left: NameBytes, right: NameBytes) -> Bool {
        ByteOrder.compare(left.string, right.string) < 0
    }

    package func hash(into hasher: inout Hasher) {
        var string = string
        string.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

/// The key of an index row, ordered as bytes.
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
    /// The number of keys up to which they are compared with each other, because hashing them costs more.
    private static let few = 16

    /// The keys without repetitions.
    package var distinct: [EntryKey] {
        if count <= Self.few {
            return indices.filter { index in !self[..<index].contains { NamedKey($0) == NamedKey(self[index]) } }.map { self[$0] }
        }
        var seen: Set<NamedKey> = []
        return filter { seen.insert(NamedKey($0)).inserted }
    }
}

extension Sequence<TaskKey> {
    package var distinct: [TaskKey] {
        var seen: Set<NamedKey> = []
        return filter { seen.insert(NamedKey($0)).inserted }
    }
}

extension Sequence<String> {
    /// The names without repetitions, compared by their bytes, in the order of first appearance.
    package var distinctNames: [String] {
        var seen: Set<NameBytes> = []
        return filter { seen.insert(NameBytes($0)).inserted }
    }
}
