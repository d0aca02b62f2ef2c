import Glibc

/// How names and keys are ordered everywhere: as bytes. Nothing is copied for it.
///
/// Each answers below, at or above zero as `left` comes before, with or after `right`; a beginning of a text comes before it.
package enum ByteOrder {
    package static func compare(_ left: [UInt8], _ right: [UInt8]) -> Int {
        left.withUnsafeBufferPointer { left in
            right.withUnsafeBufferPointer { right in compare(left, right) }
        }
    }

    /// By the bytes of their UTF-8.
    package static func compare(_ left: String, _ right: String) -> Int {
        var (left, right) = (left, right)
        return left.withUTF8 { left in
            right.withUTF8 { right in compare(left, right) }
        }
    }

    /// Whether one comes before another in a direction; equal ones do not.
    package static func precedes(_ left: [UInt8], _ right: [UInt8], ascending: Bool) -> Bool {
        let order = compare(left, right)
        return ascending ? order < 0 : order > 0
    }

    /// By the bytes of their UTF-8.
    package static func precedes(_ left: String, _ right: String, ascending: Bool) -> Bool {
        let order = compare(left, right)
        return ascending ? order < 0 : order > 0
    }

    package static func compare(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Int {
        let common = min(left.count, right.count)
        guard common > 0, let first = left.baseAddress, let second = right.baseAddress else { return left.count - right.count }
        let order = Int(memcmp(first, second, common))
        return order != 0 ? order : left.count - right.count
    }
}
