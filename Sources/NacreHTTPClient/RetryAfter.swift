import Glibc

extension HTTPClient.Head {
    /// Returns the seconds that the server asks to wait (RFC 9110, 10.2.3): a number, or the time until a date such as
    /// `Sun, 06 Nov 1994 08:49:37 GMT`. It is 0 for a date that has passed, and nil for no header or another text.
    /// - Parameter now: seconds since 1970.
    package func retryAfter(at now: Double) -> Double? {
        guard let text = self["retry-after"] else { return nil }
        if let seconds = UInt64(text) { return Double(seconds) }
        return Self.seconds(ofDate: text).map { max($0 - now, 0) }
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Returns the seconds since 1970 of a date in the form that servers must send (RFC 9110, 5.6.7).
    private static func seconds(ofDate text: String) -> Double? {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 6, words[5] == "GMT", let day = Int32(words[1]), let month = months.firstIndex(of: String(words[2])),
            let year = Int32(words[3]), (1900...9999).contains(year)
        else { return nil }
        let clock = words[4].split(separator: ":", omittingEmptySubsequences: false).compactMap { Int32($0) }
        guard clock.count == 3, (1...31).contains(day), (0..<24).contains(clock[0]), (0..<60).contains(clock[1]), (0...60).contains(clock[2])
        else { return nil }
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (year - 1900, Int32(month), day)
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (clock[0], clock[1], clock[2])
        return Double(timegm(&parts))
    }
}
