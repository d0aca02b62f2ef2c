/// Polls a condition up to a time limit.
struct Patience {
    /// The pause between two checks.
    private static let pause: Duration = .milliseconds(30)

    let limit: Duration

    /// Returns once a condition holds, or at the time limit.
    /// - Returns: Whether it holds.
    func until(_ isSo: () async throws -> Bool) async throws -> Bool {
        let deadline = ContinuousClock.now + limit
        while true {
            if try await isSo() { return true }
            if ContinuousClock.now > deadline { return false }
            try? await Task.sleep(for: Self.pause)
        }
    }
}
