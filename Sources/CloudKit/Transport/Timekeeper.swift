import Foundation

/// The clock and the randomness of a conversation, which tests replace.
package struct Timekeeper: Sendable {
    /// Seconds since an arbitrary moment; never goes back.
    package var now: @Sendable () -> Double
    /// Waits for a number of seconds; throws when the task is cancelled.
    package var pause: @Sendable (Double) async throws -> Void
    /// A random number from 0 up to 1.
    package var spread: @Sendable () -> Double
    /// A name that no other request has.
    package var operationID: @Sendable () -> String
    /// The time of day, for what is signed.
    package var date: @Sendable () -> Date
    /// Returns that many bytes for keys; nil: the system's random bytes are used.
    package var keyBytes: (@Sendable (Int) -> [UInt8])?

    package init(
        now: @escaping @Sendable () -> Double, pause: @escaping @Sendable (Double) async throws -> Void, spread: @escaping @Sendable () -> Double,
        operationID: @escaping @Sendable () -> String, date: @escaping @Sendable () -> Date = { Date() },
        keyBytes: (@Sendable (Int) -> [UInt8])? = nil
    ) {
        self.now = now
        self.pause = pause
        self.spread = spread
        self.operationID = operationID
        self.date = date
        self.keyBytes = keyBytes
    }

    package static let system = Timekeeper(
        now: { ProcessInfo.processInfo.systemUptime },
        pause: { try await Task.sleep(for: .seconds($0)) },
        spread: { Double.random(in: 0..<1) },
        operationID: { UUID().uuidString })
}
