package import NacreCloudAccounts
package import NacreCloudStorage
import NacreCloudWire

/// The schemas of all containers, and the queries that were answered by them. The registry keeps both.
///
/// Thread-safe. Each call is one transaction, or says how many.
package final class Schemas: StoreClient {
    package let registry: Registry
    /// The schemas that this process saw last.
    let memory = SchemaMemory()
    /// The queries that this process noted last.
    let queries = QueryMemory()

    package init(registry: Registry) {
        self.registry = registry
    }

    package var store: any Store { registry.store }
    package var directory: DatabaseDirectory { registry.directory }
    package var failed: @Sendable (StoreError) -> Void { registry.failed }

    /// Makes a container. An existing one stays unchanged; `isNew` says whether this call made it.
    package func createContainer(_ name: String, justInTime: JustInTime) async throws -> (container: ContainerEntry, isNew: Bool) {
        if let fault = Names.containerFault(name) { throw fault }
        // The schema comes first, so that a container never exists without the chosen `justInTime`.
        if justInTime != .native, try await registry.container(name) == nil {
            try await changeSchema(of: name, .development) { $0.justInTime = justInTime }
        }
        return try await registry.createContainer(name)
    }
}
