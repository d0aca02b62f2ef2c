import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport

/// A store that changes write plans, to plant a fault.
protocol BendingStore: LayeredStore {
    /// Returns the plan to write in place of `plan`.
    func bent(_ plan: WritePlan) -> WritePlan
}

extension BendingStore {
    func write<Value: Sendable>(_ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>) async throws -> Value {
        try await below.write { transaction in try body(bentTransaction(transaction, planned: bent)) }
    }
}
