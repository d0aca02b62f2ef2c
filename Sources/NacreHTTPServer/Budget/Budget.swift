import NacreLocks

/// Whose bytes or places they are, as far as that is known.
package struct Holder: Hashable, Sendable {
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

/// Units of something that a server has only so much of, bytes of memory or places, with a part for each kind of holder. Thread-safe; a dictionary
/// access a change.
///
/// In its part a holder gets as much as would still be left for all others: alone it has half at most, and there is always something for who comes
/// next, however many there are. See `docs/decisions/a-share-is-what-is-left-for-others.md`.
package final class Budget: Sendable {
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

        package var sum: Int { stranger + guest + user }

        func of(_ kind: Holder.Kind) -> Int {
            switch kind {
            case .stranger: stranger
            case .guest: guest
            case .user: user
            }
        }
    }

    private struct State {
        var taken: [Holder.Kind: Int] = [:]
        var held: [Holder: Int] = [:]

        mutating func add(_ units: Int, _ holder: Holder) {
            taken[holder.kind, default: 0] += units
            let now = held[holder, default: 0] + units
            held[holder] = now > 0 ? now : nil
        }
    }

    let parts: Parts
    private let state = Locked(State())

    package init(_ parts: Parts) {
        self.parts = parts
    }

    /// Takes units for a holder, or answers false and takes none.
    /// - Parameter own: what an answer has of its part already. Where nothing else is taken of it, any number may be. nil: the part's bound always holds.
    package func take(_ units: Int, for holder: Holder, besides own: Int? = nil) -> Bool {
        state.withLock { state in
            let taken = state.taken[holder.kind, default: 0]
            guard own == taken || Self.mayTake(units, held: state.held[holder, default: 0], free: parts.of(holder.kind) - taken)
            else { return false }
            state.add(units, holder)
            return true
        }
    }

    /// Counts units that are in use already, whatever is left.
    func count(_ units: Int, for holder: Holder) {
        state.withLock { $0.add(units, holder) }
    }

    /// Gives back what was taken or counted.
    func give(_ units: Int, for holder: Holder) {
        state.withLock { $0.add(-units, holder) }
    }

    /// What a holder has now, and what is left in its part.
    func room(of holder: Holder) -> (held: Int, free: Int) {
        state.withLock { ($0.held[holder, default: 0], parts.of(holder.kind) - $0.taken[holder.kind, default: 0]) }
    }

    /// Whether more than half of a part is taken: time to be less patient.
    func isShort(_ kind: Holder.Kind) -> Bool {
        state.withLock { $0.taken[kind, default: 0] * 2 > parts.of(kind) }
    }

    /// All that is taken.
    package var taken: Int { state.withLock { $0.taken.values.reduce(0, +) } }

    /// The rule of a share: nobody gets more than is left for all others.
    static func mayTake(_ units: Int, held: Int, free: Int) -> Bool {
        units <= free && held + units <= free
    }
}

/// The budgets of one server: of bodies from their first byte to the end of their handler, of answers until they are sent, and of requests whose
/// handlers work.
package struct Budgets: Sendable {
    package let bodies: Budget
    package let answers: Budget
    package let places: Budget

    package init(
        bodies: Budget.Parts = ServerLimits.bodyBudget, answers: Budget.Parts = ServerLimits.answerBudget,
        places: Budget.Parts = ServerLimits.placeBudget
    ) {
        self.bodies = Budget(bodies)
        self.answers = Budget(answers)
        self.places = Budget(places)
    }
}
