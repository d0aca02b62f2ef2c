import NacreLocks

/// Whose bytes lie in memory, as far as that is known.
package struct ByteHolder: Hashable, Sendable {
    /// How much is known of who asks; each kind has a part of the budget that no other kind can fill.
    package enum Kind: String, Sendable, CaseIterable {
        /// No credential was looked at yet, or there is none.
        case stranger
        /// A credential that everybody may have: it lies in an app or a page.
        case guest
        /// Somebody who has signed in.
        case user
    }

    package var kind: Kind
    package var name: String

    package init(_ kind: Kind, _ name: String) {
        self.kind = kind
        self.name = name
    }
}

/// Bytes that may lie in memory at the same time, with a part for each kind of holder. Thread-safe; a dictionary access a change.
///
/// In its part a holder gets as much as would still be left for all others: alone it has half at most, and there is always something for who comes
/// next, however many there are. See `docs/decisions/a-share-is-what-is-left-for-others.md`.
package final class ByteBudget: Sendable {
    /// The most that the holders of one kind may have together.
    package struct Parts: Sendable, Hashable {
        package var stranger: Int
        package var guest: Int
        package var user: Int

        package init(stranger: Int, guest: Int, user: Int) {
            self.stranger = stranger
            self.guest = guest
            self.user = user
        }

        func bytes(_ kind: ByteHolder.Kind) -> Int {
            switch kind {
            case .stranger: stranger
            case .guest: guest
            case .user: user
            }
        }
    }

    private struct State {
        var taken: [ByteHolder.Kind: Int] = [:]
        var held: [ByteHolder: Int] = [:]

        mutating func add(_ bytes: Int, _ holder: ByteHolder) {
            taken[holder.kind, default: 0] += bytes
            let now = held[holder, default: 0] + bytes
            held[holder] = now > 0 ? now : nil
        }
    }

    let parts: Parts
    private let state = Locked(State())

    package init(_ parts: Parts) {
        self.parts = parts
    }

    /// Takes bytes for a holder, or answers false and takes none.
    /// - Parameter own: what an answer has of its part already. Where nothing else is taken of it, any number may be. nil: the part's bound always holds.
    package func take(_ bytes: Int, for holder: ByteHolder, besides own: Int? = nil) -> Bool {
        state.withLock { state in
            let taken = state.taken[holder.kind, default: 0]
            guard
                own == taken
                    || Self.mayTake(bytes, held: state.held[holder, default: 0], free: parts.bytes(holder.kind) - taken)
            else { return false }
            state.add(bytes, holder)
            return true
        }
    }

    /// Counts bytes that are there already, whatever is left.
    func count(_ bytes: Int, for holder: ByteHolder) {
        state.withLock { $0.add(bytes, holder) }
    }

    /// Gives back what was taken or counted.
    func give(_ bytes: Int, for holder: ByteHolder) {
        state.withLock { $0.add(-bytes, holder) }
    }

    /// What a holder has now, and what is left in its part.
    func room(of holder: ByteHolder) -> (held: Int, free: Int) {
        state.withLock { ($0.held[holder, default: 0], parts.bytes(holder.kind) - $0.taken[holder.kind, default: 0]) }
    }

    /// Whether more than half of a part is taken: time to be less patient.
    func isShort(_ kind: ByteHolder.Kind) -> Bool {
        state.withLock { $0.taken[kind, default: 0] * 2 > parts.bytes(kind) }
    }

    /// All that is taken.
    package var bytesTaken: Int { state.withLock { $0.taken.values.reduce(0, +) } }

    /// The rule of a share: nobody gets more than is left for all others.
    static func mayTake(_ bytes: Int, held: Int, free: Int) -> Bool {
        bytes <= free && held + bytes <= free
    }
}

/// The budgets of one server: of bodies from their first byte to the end of their handler, and of answers until they are sent.
package struct ByteBudgets: Sendable {
    package let bodies: ByteBudget
    package let answers: ByteBudget

    package init(
        bodies: ByteBudget.Parts = ServerLimits.bodyBudget, answers: ByteBudget.Parts = ServerLimits.answerBudget
    ) {
        self.bodies = ByteBudget(bodies)
        self.answers = ByteBudget(answers)
    }
}
