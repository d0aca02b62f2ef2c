import Glibc

/// Hashes and verifies passwords on threads of its own, a few at a time.
///
/// A caller suspends until its turn is over and never blocks Swift's pool. When `waitingMaximum` callers already wait, the next one is refused with
/// `busy` at once.
/// A caller whose task is cancelled while it waits leaves the queue and gets `CancellationError`. One hasher serves the whole process.
package final class PasswordHasher: Sendable {
    /// How many hashes are computed at once: on half of the cores, because who guesses passwords must not have all of them, and two at most, which bounds the
    /// memory at twice that of a hash.
    package static let threadsMaximum: Int = min(2, max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)) / 2))
    /// How many callers may wait: at one hash each 70 ms the last one waits less than five seconds, far within any client's patience.
    package static let waitingMaximum: Int = 64

    private let threads: BoundedThreads
    private let cost: PasswordHash.Cost

    /// - Parameter cost: of hashes that are made. Others are verified at their own.
    package init(
        cost: PasswordHash.Cost = .usual, threadsMaximum: Int = PasswordHasher.threadsMaximum, waitingMaximum: Int = PasswordHasher.waitingMaximum
    ) {
        self.cost = cost
        threads = BoundedThreads(threadsMaximum: threadsMaximum, waitingMaximum: waitingMaximum)
    }

    /// `PasswordHash.hash`, in its turn.
    package func hash(_ password: String) async throws -> String {
        try await threads.run { [cost] in try PasswordHash.hash(password, at: cost) }
    }

    /// `PasswordHash.verify`, in its turn.
    package func verify(_ password: String, against stored: String) async throws -> Bool {
        try await threads.run { try PasswordHash.verify(password, against: stored) }
    }

    /// `PasswordHash.verifyUnknown`, in its turn: waits and costs like `verify`, and answers false.
    package func verifyUnknown(_ password: String) async throws -> Bool {
        try await threads.run { [cost] in try PasswordHash.verifyUnknown(password, at: cost) }
    }
}
