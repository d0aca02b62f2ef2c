import CloudContainer
import Glibc

/// A name, compared and hashed by the bytes of its UTF-8, as both engines keep and order it.
///
/// `String` itself takes canonically equivalent texts for one, and orders by Unicode: two records would become one here and two in SQL.
struct NameBytes: Hashable, Comparable, Sendable {
    let string: String

    init(_ string: String) {
        self.string = string
    }

    static func == (left: NameBytes, right: NameBytes) -> Bool {
        left.string.utf8.count == right.string.utf8.count && order(left, right) == 0
    }

    static func < (left: NameBytes, right: NameBytes) -> Bool {
        order(left, right) < 0
    }

    func hash(into hasher: inout Hasher) {
        var string = string
        string.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    /// Below, at or above zero as `left` comes before, with or after `right`.
    private static func order(_ left: NameBytes, _ right: NameBytes) -> Int {
        var (left, right) = (left.string, right.string)
        return left.withUTF8 { left in
            right.withUTF8 { right in byteOrder(left, right) }
        }
    }
}

/// The key of an index's row, ordered as bytes.
struct KeyBytes: Hashable, Comparable, Sendable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    static func < (left: KeyBytes, right: KeyBytes) -> Bool {
        left.bytes.withUnsafeBufferPointer { left in
            right.bytes.withUnsafeBufferPointer { right in byteOrder(left, right) < 0 }
        }
    }
}

/// Below, at or above zero as `left` comes before, with or after `right`; a beginning of a text comes before it.
private func byteOrder(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Int {
    let common = min(left.count, right.count)
    guard common > 0, let first = left.baseAddress, let second = right.baseAddress else { return left.count - right.count }
    let order = Int(memcmp(first, second, common))
    return order != 0 ? order : left.count - right.count
}

extension Sequence<EntryKey> {
    /// Each key once.
    var distinct: [EntryKey] {
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
