/// How long ago, by its client's own clock, a request under an operation ID was sent for the first time. Sent with each repetition, in a header,
/// because the body's bytes must stay the same.
package struct OperationAge: Hashable, Sendable {
    package static let header = "X-Nacre-Operation-Age"

    package let seconds: Double

    /// - Parameter seconds: below zero counts as zero.
    package init(seconds: Double) {
        self.seconds = max(seconds, 0)
    }

    /// nil for anything but a decimal number of seconds, 0 or more.
    package init?(_ text: String) {
        let isDecimal = text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: ".") }
        guard isDecimal, let seconds = Double(text), seconds.isFinite else { return nil }
        self.seconds = seconds
    }

    /// In whole milliseconds, rounded up: never younger than it is.
    package var text: String {
        let milliseconds = Int64((min(seconds, 1e12) * 1000).rounded(.up))
        let rest = String(milliseconds % 1000)
        return "\(milliseconds / 1000)." + String(repeating: "0", count: 3 - rest.utf8.count) + rest
    }
}
