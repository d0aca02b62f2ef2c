/// How long to wait before the stream is asked for again: longer each time that nothing came. A value without a clock or randomness.
struct ReconnectPause: Equatable, Sendable {
    /// The first pause where the server says none, and the longest, in seconds.
    static let first = 1.0
    static let longest = 60.0

    private var base = first
    private var failures = 0

    /// The server asks for this first pause.
    mutating func setFirst(milliseconds: Int) { base = min(max(Double(milliseconds) / 1000, 0.1), Self.longest) }

    /// Something came: the next pause is the first again.
    mutating func hasHeard() { failures = 0 }

    /// - Parameters:
    ///   - least: seconds that the server asks for.
    ///   - spread: 0 up to 1, random, so that many clients do not come back at once.
    mutating func next(atLeast least: Double = 0, spread: Double) -> Double {
        var pause = base
        for _ in 0..<failures where pause < Self.longest { pause *= 2 }
        failures += 1
        return max(min(least, 3600), min(pause, Self.longest) * (0.75 + 0.25 * spread))
    }
}
