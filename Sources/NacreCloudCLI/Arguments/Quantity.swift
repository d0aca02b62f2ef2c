import Foundation

/// Numbers with a unit, as they are written on a command line.
enum Quantity {
    /// Returns bytes: `20M`, a number alone or with K, M, G or T (1024, 1024², 1024³, 1024⁴). nil for other text
    /// and for numbers that are not positive.
    static func bytes(_ text: String) -> Int? {
        number(text, ["": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40])
    }

    /// Returns seconds: `24h`, a number with s, m, h or d. nil for other text and for numbers that are not positive.
    static func seconds(_ text: String) -> Int? {
        number(text, ["s": 1, "m": 60, "h": 3600, "d": 86400])
    }

    /// Returns milliseconds: `200ms`, a number with ms, s or m. nil for other text and for numbers that are not
    /// positive.
    static func milliseconds(_ text: String) -> Int? {
        number(text, ["ms": 1, "s": 1000, "m": 60_000])
    }

    /// Returns milliseconds since 1970 of a time: `15m` ago, or ISO 8601. nil for other text and for times before 1970.
    static func time(_ text: String, now: Date = Date()) -> Int64? {
        let ago = seconds(text).map { now.addingTimeInterval(-Double($0)) }
        guard let date = ago ?? (try? Date(text, strategy: .iso8601)) else { return nil }
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        return ago != nil ? Int64(max(0, milliseconds)) : milliseconds < 0 ? nil : Int64(exactly: milliseconds)
    }

    /// Returns the seconds that an option gives.
    /// - Throws: `UsageError` for a text that is no time.
    static func seconds(_ text: String, of option: Option, _ call: Call) throws -> Int {
        guard let seconds = seconds(text) else {
            throw UsageError(.invalid("--\(option.name)", "give a time, such as 12h or 7d"), path: call.path)
        }
        return seconds
    }

    private static func number(_ text: String, _ units: [String: Int]) -> Int? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int(digits), let unit = units[String(text[digits.endIndex...])] else { return nil }
        let (value, isTooLarge) = number.multipliedReportingOverflow(by: unit)
        return value > 0 && !isTooLarge ? value : nil
    }
}
