package import NacreCloudContainer
import NacreLocks

/// A store that remembers which verbs each transaction asked: on an engine across a network every call is a round trip.
package final class CountingStore: LayeredStore {
    package struct Transaction: Sendable, Hashable {
        package enum Kind: Sendable, Hashable {
            case read
            case write
        }

        package var kind: Kind
        /// In the order of the calls.
        package var verbs: [StoreVerb]

        package init(kind: Kind, verbs: [StoreVerb]) {
            self.kind = kind
            self.verbs = verbs
        }
    }

    package let below: any Store
    private let finished = Locked([Transaction]())

    package init(_ store: any Store) {
        below = store
    }

    /// Every run of a body so far, in the order of their ends: a body that ran twice is there twice.
    package var transactions: [Transaction] { finished.withLock { $0 } }

    private let entries = Locked(0)

    /// Entries that questions have brought so far.
    package var entriesRead: Int { entries.withLock { $0 } }

    /// Forgets what was counted so far.
    package func reset() {
        finished.withLock { $0 = [] }
        entries.withLock { $0 = 0 }
    }

    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>
    ) async throws -> Value {
        try await below.write { [finished, entries] transaction in
            var verbs: [StoreVerb] = []
            defer { Self.remember(.write, verbs, in: finished) }
            let observed = ObservedTransaction(transaction) { verbs.append($0) }
            observed.foundEntries = { count in entries.withLock { $0 += count } }
            return try body(observed)
        }
    }

    package func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
        try await below.read { [finished, entries] transaction in
            var verbs: [StoreVerb] = []
            defer { Self.remember(.read, verbs, in: finished) }
            let observed = ObservedReads(transaction) { verbs.append($0) }
            observed.foundEntries = { count in entries.withLock { $0 += count } }
            return try body(observed)
        }
    }

    private static func remember(_ kind: Transaction.Kind, _ verbs: [StoreVerb], in finished: Locked<[Transaction]>) {
        finished.withLock { $0.append(Transaction(kind: kind, verbs: verbs)) }
    }
}
