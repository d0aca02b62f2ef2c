import NacreCloudContainer
package import NacreCloudStorage
import NacreLocks

/// A store that cannot read the feed of one zone, as if the engine had found its rows damaged.
package final class DamagedZoneStore: LayeredStore {
    package static let failure = StoreError(.corrupt, "The rows are not what was written", ["because": "a test says so"])

    package let below: any Store
    private let damaged = Locked<ZoneAddress?>(nil)

    package init(_ store: any Store) {
        below = store
    }

    package func damage(_ zone: ZoneAddress) {
        damaged.withLock { $0 = zone }
    }

    package func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
        let zone = damaged.withLock { $0 }
        return try await below.read { try body(Reads($0, damaged: zone)) }
    }

    private final class Reads: ObservedReads {
        private let damaged: ZoneAddress?

        init(_ reads: any ReadTransaction, damaged: ZoneAddress?) {
            self.damaged = damaged
            super.init(reads) { _ in }
        }

        override func feed(_ scans: [FeedScan], bytesMax: Int) throws -> [FeedPortion] {
            if scans.contains(where: { $0.zone == damaged }) { throw DamagedZoneStore.failure }
            return try super.feed(scans, bytesMax: bytesMax)
        }
    }
}
