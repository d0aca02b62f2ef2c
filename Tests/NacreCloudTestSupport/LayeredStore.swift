import NacreCloudContainer
package import NacreCloudStorage

/// A store over another one, to which it passes every call that it does not implement.
package protocol LayeredStore: Store {
    var below: any Store { get }
}

extension LayeredStore {
    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>
    ) async throws -> Value {
        try await below.write(body)
    }

    package func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
        try await below.read(body)
    }

    package var neighbours: (any Neighbours)? { below.neighbours }

    package func close() async {
        await below.close()
    }
}
