@testable import CloudKit

extension KeyProcess {
    private struct NothingWaits: Error {}

    /// Has this device enrolled by another one. The user reads the code of each, and types it in on the other.
    /// - Parameter typing: returns the code that the user types in for the one that was read.
    func enrol(
        by old: KeyProcess, typing: @escaping @Sendable (String) -> String = { $0 }
    ) async throws -> (joined: Result<Void, any Error>, added: Result<String, any Error>) {
        let (newKeys, oldKeys) = (try await keys(), try await old.keys())
        let (names, name) = AsyncStream.makeStream(of: String.self)
        let (newCodes, newCode) = AsyncStream.makeStream(of: String.self)
        let (oldCodes, oldCode) = AsyncStream.makeStream(of: String.self)
        async let joined: Result<Void, any Error> = Self.outcome {
            // The other side waits for these no longer, also if this one failed.
            defer {
                name.finish()
                newCode.finish()
            }
            try await newKeys.enrol {
                name.yield($0)
            } compare: { code in
                newCode.yield(code)
                return await oldCodes.first { _ in true }.map(typing)
            }
        }
        async let added: Result<String, any Error> = Self.outcome {
            defer { oldCode.finish() }
            let shown = await names.first { _ in true }
            guard let waiting = try await oldKeys.waiting().first(where: { $0.name == shown }) else { throw NothingWaits() }
            return try await oldKeys.approve(waiting) { code in
                oldCode.yield(code)
                return await newCodes.first { _ in true }.map(typing)
            }
        }
        return await (joined, added)
    }

    static func outcome<Value: Sendable>(_ body: @Sendable () async throws -> Value) async -> Result<Value, any Error> {
        do {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }

    /// Has this device enrolled by another one.
    /// - Returns: the ID of the device.
    @discardableResult func join(by old: KeyProcess) async throws -> String {
        let (joined, added) = try await enrol(by: old)
        try joined.get()
        return try added.get()
    }
}
