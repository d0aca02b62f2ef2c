import NacreCloudContainer
package import NacreCloudStorage
import NacreLocks

/// A store that records the verbs of each transaction: on an engine across a network every call is a round trip.
package final class CountingStore: LayeredStore {
    package struct Transaction: Sendable, Hashable {
        package enum Kind: Sendable, Hashable {
            case read
            case write
        }

        package var kind: Kind
        /// The verbs in the order of the calls.
        package var verbs: [StoreVerb]
        /// Entries that were put or removed, and the bytes of those that were put.
        package var rowsPut = 0
        package var bytesPut = 0
        /// The number of notifications among the put entries.
        package var notificationsPut = 0

        package init(kind: Kind, verbs: [StoreVerb]) {
            self.kind = kind
            self.verbs = verbs
        }

        fileprivate mutating func count(_ plan: WritePlan) {
            rowsPut += plan.entries.count + plan.entriesRemoved.count
            bytesPut += plan.entries.reduce(0) { $0 + $1.value.count }
            notificationsPut += plan.entries.count { $0.key.kind == .notification }
        }
    }

    package let below: any Store
    private let finished = Locked([Transaction]())

    package init(_ store: any Store) {
        below = store
    }

    /// The runs of all transaction bodies so far, in the order of their ends: a body that ran twice counts twice.
    package var transactions: [Transaction] { finished.withLock { $0 } }

    private let entries = Locked(0)

    /// Entries returned by reads so far.
    package var entriesRead: Int { entries.withLock { $0 } }

    /// Resets all counts.
    package func reset() {
        finished.withLock { $0 = [] }
        entries.withLock { $0 = 0 }
    }

    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>
    ) async throws -> Value {
        try await below.write { [finished, entries] transaction in
            var counted = Transaction(kind: .write, verbs: [])
            defer { finished.withLock { $0.append(counted) } }
            let observed = ObservedTransaction(
                transaction, before: { counted.verbs.append($0) },
                planned: { plan in
                    counted.count(plan)
                    return plan
                })
            observed.foundEntries = { count in entries.withLock { $0 += count } }
            return try body(observed)
        }
    }

    package func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
        try await below.read { [finished, entries] transaction in
            var counted = Transaction(kind: .read, verbs: [])
            defer { finished.withLock { $0.append(counted) } }
            let observed = ObservedReads(transaction) { counted.verbs.append($0) }
            observed.foundEntries = { count in entries.withLock { $0 += count } }
            return try body(observed)
        }
    }
}
