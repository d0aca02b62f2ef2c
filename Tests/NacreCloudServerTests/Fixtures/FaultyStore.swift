import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreLocks

/// A store in front of another, which fails on demand.
final class FaultyStore: LayeredStore {
    enum Fault: Sendable {
        /// Writes find no room; reads go on.
        case full
        /// Neither reads nor writes.
        case unavailable
        /// Reads find damaged rows.
        case corrupt
    }

    let below: any Store
    private let fault = Locked<Fault?>(nil)

    init(_ store: any Store) {
        below = store
    }

    func fail(_ fault: Fault?) {
        self.fault.withLock { $0 = fault }
    }

    func write<Value: Sendable>(_ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>) async throws -> Value {
        switch fault.withLock({ $0 }) {
        case .full: throw StoreError(.full, "No room in /secret/folder", ["path": "/secret/folder"])
        case .unavailable: throw StoreError(.unavailable, "The disk of /secret/folder is gone")
        case .corrupt, nil: return try await below.write(body)
        }
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
        switch fault.withLock({ $0 }) {
        case .unavailable: throw StoreError(.unavailable, "The disk of /secret/folder is gone")
        case .corrupt: throw StoreError(.corrupt, "A page of /secret/folder is damaged")
        case .full, nil: return try await below.read(body)
        }
    }
}
