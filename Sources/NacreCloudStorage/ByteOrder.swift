import Glibc

/// The order of names and keys everywhere on the server: by their bytes. Comparing copies nothing.
///
/// `compare` returns a number below, at or above zero as `left` comes before, with or after `right`. A prefix comes
/// before the longer text.
package enum ByteOrder {
    package static func compare(_ left: [UInt8], _ right: [UInt8]) -> Int {
        left.withUnsafeBufferPointer { left in
            right.withUnsafeBufferPointer { right in compare(left, right) }
        }
    }

    /// Compares the bytes of the UTF-8 forms.
    package static func compare(_ left: String, _ right: String) -> Int {
        var (left, right) = (left, right)
        return left.withUTF8 { left in
            right.withUTF8 { right in compare(left, right) }
        }
    }

    /// Whether `left` comes before `right` in a direction. Equal ones do not.
    package static func precedes(_ left: [UInt8], _ right: [UInt8], ascending: Bool) -> Bool {
        let order = compare(left, right)
        return ascending ? order < 0 : order > 0
    }

    /// Whether the UTF-8 bytes of `left` come before those of `right` in a direction. Equal ones do not.
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
