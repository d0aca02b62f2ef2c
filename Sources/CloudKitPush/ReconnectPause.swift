/// The pause before the next attempt to connect. It doubles with each attempt in a row that brings nothing. A value
/// without a clock or randomness.
struct ReconnectPause: Equatable, Sendable {
    /// Seconds of the first pause if the server gives none, and of the longest.
    static let first = 1.0
    static let longest = 60.0

    private var base = first
    private var failures = 0

    /// Sets the first pause that the server asks for, between 0.1 second and `longest`.
    mutating func setFirst(milliseconds: Int) { base = min(max(Double(milliseconds) / 1000, 0.1), Self.longest) }

    /// Resets the pause to the first one, because bytes have arrived.
    mutating func hasHeard() { failures = 0 }

    /// Returns the seconds to wait, and counts an attempt.
    ///
    /// - Parameters:
    ///   - least: seconds that the server asks for; at most an hour counts.
    ///   - spread: a random number from 0 up to 1, which keeps many clients from reconnecting at once.
    mutating func next(atLeast least: Double = 0, spread: Double) -> Double {
        var pause = base
        for _ in 0..<failures where pause < Self.longest { pause *= 2 }
        failures += 1
        return max(min(least, 3600), min(pause, Self.longest) * (0.75 + 0.25 * spread))
    }
}
