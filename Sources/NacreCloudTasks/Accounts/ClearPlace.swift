import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

extension Cloud {
    /// Removes the data of a deleted account in one of its places.
    /// - Returns: false if no place is left.
    func clearPlace(of account: AccountEntry) async throws -> Bool {
        guard let place = try await registry.places(of: account.id).first else { return false }
        let user = place.userRecordName
        let key = DatabaseKey(container: place.container, environment: place.environment, scope: .private, owner: user)
        let id = try await databaseID(key)
        if let row = try await stored(of: key, { try await self.store.read { try $0.databases([id]).first } }) { _ = try await clear(row) }
        try await leaveSharedZones(at: place)
        try await forgetShareRequests(at: place, of: account.id)
        try await forgetSubscriptions(at: place)
        try await forgetDiscoverability(at: place)
        try await schemas.forgetRoles(of: user, in: place.container, place.environment)
        try await deletePublicUserRecord(user, in: DatabaseTarget(container: place.container, environment: place.environment, scope: .public))
        // Last, so that a worker that starts again finds the place.
        try await registry.forget(place, of: account.id)
        return true
    }

    private func deletePublicUserRecord(_ name: String, in target: DatabaseTarget) async throws {
        var server = Caller.server(inNameOf: name)
        server.isAdministrator = true
        let deletion = RecordOperation(.forceDelete, RecordChange(recordName: name))
        let answer = try await modifyRecords(RecordsModifyRequest(operations: [deletion]), in: target, by: server, digest: [])
        if case .failure(_, let error)? = answer.records.first, error.code != .notFound { throw error }
    }
}
