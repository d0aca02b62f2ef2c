import NacreCloudContainer
import NacreCloudTestSupport

/// A store that writes something else than it was told.
protocol BendingStore: LayeredStore {
    /// - Returns: what is written in the plan's place.
    func bent(_ plan: WritePlan) -> WritePlan
}

extension BendingStore {
    func write<Value: Sendable>(_ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>) async throws -> Value {
        try await below.write { transaction in try body(bentTransaction(transaction, planned: bent)) }
    }
}
