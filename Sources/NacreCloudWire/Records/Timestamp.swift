/// A time, exactly as a framework's `Date` holds it: seconds since 2001-01-01T00:00:00Z.
///
/// `Date` counts from 2001, and adding the distance to 1970 would round its last bits away: a date that a framework
/// saved must compare equal when it comes back. Web clients see the same time as whole milliseconds since 1970.
package struct Timestamp: Hashable, Sendable, Comparable {
    package var secondsSince2001: Double

    /// Seconds from 1970-01-01T00:00:00Z to 2001-01-01T00:00:00Z.
    package static let secondsFrom1970To2001: Double = 978_307_200

    /// The largest distance from 1970 of the web's form, in milliseconds. Source: ECMAScript's time range (±8.64e15
    /// ms), within which every client can build a date.
    package static let maximumMillisecondsSince1970: Int64 = 8_640_000_000_000_000

    package init(secondsSince2001: Double) {
        self.secondsSince2001 = secondsSince2001
    }

    package init(millisecondsSince1970: Int64) {
        let (seconds, rest) = millisecondsSince1970.quotientAndRemainder(dividingBy: 1000)
        self.init(secondsSince2001: (Double(seconds) - Self.secondsFrom1970To2001) + Double(rest) / 1000)
    }

    /// Whole milliseconds since 1970, rounded to the nearest; times beyond the web's range become its ends.
    package var millisecondsSince1970: Int64 {
        let limit = Double(Self.maximumMillisecondsSince1970)
        let milliseconds = ((secondsSince2001 + Self.secondsFrom1970To2001) * 1000).rounded()
        guard milliseconds.isFinite else { return 0 }
        return Int64(min(max(milliseconds, -limit), limit))
    }

    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.secondsSince2001 < right.secondsSince2001
    }

    package static func + (left: Timestamp, seconds: Double) -> Timestamp {
        Timestamp(secondsSince2001: left.secondsSince2001 + seconds)
    }
}
