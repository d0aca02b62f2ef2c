/// The demo's output while it runs: a line for each step, with the seconds since it began.
struct Timeline: Sendable {
    /// Whether no lines are printed: with `--json` one object is the whole output.
    let isSilent: Bool
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant

    init(isSilent: Bool) {
        self.isSilent = isSilent
        start = clock.now
    }

    var now: ContinuousClock.Instant { clock.now }

    func seconds(since instant: ContinuousClock.Instant? = nil) -> Double {
        let duration = clock.now - (instant ?? start)
        return Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    }

    func say(_ line: String) throws {
        guard !isSilent else { return }
        try Output.data("\(Self.padded(Self.text(seconds(), digits: 3), 9)) s  \(line)")
    }

    /// Returns a rate such as `8222 records/s`, or `at once` for a time of a millisecond or less.
    static func rate(_ count: Int, _ unit: String, in seconds: Double) -> String {
        seconds > 0.001 ? "\(Int(Double(count) / seconds)) \(unit)/s" : "at once"
    }

    /// Formats a number with `digits` decimals.
    static func text(_ number: Double, digits: Int) -> String {
        let scale = (0..<digits).reduce(1) { scale, _ in scale * 10 }
        let scaled = Int((number * Double(scale)).rounded())
        let fraction = String(scaled % scale)
        return "\(scaled / scale)." + String(repeating: "0", count: digits - fraction.count) + fraction
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }
}
