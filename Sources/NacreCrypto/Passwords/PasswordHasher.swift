import Glibc

/// Hashes and verifies passwords on threads of its own, a few at a time.
///
/// A caller suspends until its hash is done and never blocks Swift's pool. If `waitingMaximum` callers already wait,
/// the next one is refused with `busy` at once. A caller whose task is cancelled while it waits leaves the queue and
/// gets `CancellationError`. One hasher serves the whole process.
package final class PasswordHasher: Sendable {
    /// The number of hashes that are computed at once: one for every two cores, 1 to 2. Half of the cores stay free of
    /// password guessers, and memory is bounded at twice that of a hash.
    package static let threadsMaximum: Int = min(2, max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)) / 2))
    /// The number of callers that may wait. At 70 ms a hash the last one waits less than five seconds, within any
    /// client's patience.
    package static let waitingMaximum: Int = 64

    private let threads: BoundedThreads
    private let cost: PasswordHash.Cost

    /// - Parameter cost: The cost of new hashes. A stored hash is verified at its own cost.
    package init(
        cost: PasswordHash.Cost = .usual, threadsMaximum: Int = PasswordHasher.threadsMaximum, waitingMaximum: Int = PasswordHasher.waitingMaximum
    ) {
        self.cost = cost
        threads = BoundedThreads(threadsMaximum: threadsMaximum, waitingMaximum: waitingMaximum)
    }

    /// Queues a `PasswordHash.hash`.
    package func hash(_ password: String) async throws -> String {
        try await threads.run { [cost] in try PasswordHash.hash(password, at: cost) }
    }

    /// Queues a `PasswordHash.verify`.
    package func verify(_ password: String, against stored: String) async throws -> Bool {
        try await threads.run { try PasswordHash.verify(password, against: stored) }
    }

    /// Queues a `PasswordHash.verifyUnknown`: waits and costs like `verify`, and returns false.
    package func verifyUnknown(_ password: String) async throws -> Bool {
        try await threads.run { [cost] in try PasswordHash.verifyUnknown(password, at: cost) }
    }
}
