/// What several may look at and one waits for.
struct Patience {
    /// Between two looks.
    private static let pause: Duration = .milliseconds(30)

    let limit: Duration

    /// Returns once something is so, or when patience is over.
    /// - Returns: whether it is so.
    func until(_ isSo: () async throws -> Bool) async throws -> Bool {
        let deadline = ContinuousClock.now + limit
        while true {
            if try await isSo() { return true }
            if ContinuousClock.now > deadline { return false }
            try? await Task.sleep(for: Self.pause)
        }
    }
}
