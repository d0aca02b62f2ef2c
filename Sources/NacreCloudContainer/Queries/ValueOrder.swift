import NacreCloudStorage
import NacreCloudWire

/// The order of values in filters: texts and names by their bytes, numbers exactly, even integers and doubles together.
/// See `docs/decisions/queries-matching.md`.
enum ValueOrder: Int, Hashable, Sendable {
    case below = -1
    case equal = 0
    case above = 1

    /// Compares two values; nil if they have no order: two different types, or different locations.
    package init?(_ left: __shared FieldValue, _ right: __shared FieldValue) {
        // Texts come first: a switch over both values copies both.
        if case .string(let left) = left, case .string(let right) = right {
            self.init(ByteOrder.compare(left, right))
            return
        }
        switch (left, right) {
        case (.reference(let left), .reference(let right)): self.init(ByteOrder.compare(left.recordName, right.recordName))
        case (.bytes(let left), .bytes(let right)): self.init(bytes: left, right)
        case (.int64(let left), .int64(let right)): self.init(numbers: left, right)
        case (.double(let left), .double(let right)): self.init(numbers: left, right)
        case (.timestamp(let left), .timestamp(let right)): self.init(numbers: left.secondsSince2001, right.secondsSince2001)
        case (.int64(let left), .double(let right)): self.init(left, right)
        case (.double(let left), .int64(let right)):
            guard let turned = ValueOrder(right, left) else { return nil }
            self = turned == .equal ? .equal : turned == .above ? .below : .above
        case (.location(let left), .location(let right)):
            guard GeoPoint(left) == GeoPoint(right) else { return nil }
            self = .equal
        default: return nil
        }
    }

    package init(bytes left: [UInt8], _ right: [UInt8]) {
        self.init(ByteOrder.compare(left, right))
    }

    /// - Parameter order: below, at or above zero.
    private init(_ order: Int) {
        self = order == 0 ? .equal : order < 0 ? .below : .above
    }

    /// Compares two numbers; nil for NaN, which records never hold.
    private init?<Number: Comparable>(numbers left: Number, _ right: Number) {
        guard left == left, right == right else { return nil }
        self = left == right ? .equal : left < right ? .below : .above
    }

    /// Compares without rounding: above 2⁵³ not every integer is a double.
    private init?(_ integer: Int64, _ double: Double) {
        guard !double.isNaN else { return nil }
        guard let whole = Int64(exactly: double.rounded(.down)) else {
            self = double < 0 ? .above : .below
            return
        }
        if integer != whole {
            self = integer < whole ? .below : .above
        } else {
            self = double == double.rounded(.down) ? .equal : .below
        }
    }
}
