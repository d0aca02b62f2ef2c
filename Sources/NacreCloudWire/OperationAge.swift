/// The seconds since a request under an operation ID was sent first, by its client's own clock. Each repetition has
/// it in a header, because the body's bytes must stay the same.
package struct OperationAge: Hashable, Sendable {
    package static let header = "X-Nacre-Operation-Age"

    package let seconds: Double

    /// Makes an age.
    /// - Parameter seconds: Below zero counts as zero.
    package init(seconds: Double) {
        self.seconds = max(seconds, 0)
    }

    /// Parses a decimal number of seconds, 0 or more; nil for any other text.
    package init?(_ text: String) {
        let isDecimal = text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: ".") }
        guard isDecimal, let seconds = Double(text), seconds.isFinite else { return nil }
        self.seconds = seconds
    }

    /// The age in seconds with three decimals, rounded up: never younger than it is.
    package var text: String {
        let milliseconds = Int64((min(seconds, 1e12) * 1000).rounded(.up))
        let rest = String(milliseconds % 1000)
        return "\(milliseconds / 1000)." + String(repeating: "0", count: 3 - rest.utf8.count) + rest
    }
}
