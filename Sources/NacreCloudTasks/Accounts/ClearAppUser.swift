import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

extension Cloud {
    /// Removes the data of one of a deleted account's app users.
    /// - Returns: false if no app user is left.
    func clearAppUser(of account: AccountEntry) async throws -> Bool {
        guard let appUser = try await registry.appUsers(of: account.id).first else { return false }
        let user = appUser.userRecordName
        let key = DatabaseKey(container: appUser.container, environment: appUser.environment, scope: .private, owner: user)
        let id = try await databaseID(key)
        if let row = try await stored(of: key, { try await self.store.read { try $0.databases([id]).first } }) { _ = try await clear(row) }
        try await forgetKeys(of: id)
        try await leaveSharedZones(at: appUser)
        try await forgetShareRequests(at: appUser, of: account.id)
        try await forgetSubscriptions(at: appUser)
        try await forgetDiscoverability(at: appUser)
        try await schemas.forgetRoles(of: user, in: appUser.container, appUser.environment)
        try await deletePublicUserRecord(user, in: DatabaseTarget(container: appUser.container, environment: appUser.environment, scope: .public))
        // Last, so that a worker that starts again finds the app user.
        try await registry.forget(appUser, of: account.id)
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
