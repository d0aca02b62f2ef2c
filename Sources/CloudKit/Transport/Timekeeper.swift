import Foundation

/// The clock and the dice of a conversation, to be replaced in tests.
struct Timekeeper: Sendable {
    /// Seconds since some moment; never goes back.
    var now: @Sendable () -> Double
    /// Waits that many seconds; throws when the task is cancelled.
    var pause: @Sendable (Double) async throws -> Void
    /// 0 up to 1.
    var spread: @Sendable () -> Double
    /// A name that no other request has.
    var operationID: @Sendable () -> String

    static let system = Timekeeper(
        now: { ProcessInfo.processInfo.systemUptime },
        pause: { try await Task.sleep(for: .seconds($0)) },
        spread: { Double.random(in: 0..<1) },
        operationID: { UUID().uuidString })
}
