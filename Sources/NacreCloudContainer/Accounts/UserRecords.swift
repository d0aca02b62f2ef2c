import NacreCloudAccounts
package import NacreCloudStorage
import NacreCloudWire

/// The records that each user of a container has. CloudKit: a user's first access makes two, in the public and in the
/// private database. Both have the user record name. Apps fetch and change them, and cannot make, delete or query them.
///
/// See `docs/decisions/users-records.md`.
package enum UserRecord {
    /// CloudKit: `CKRecord.SystemType.userRecord`.
    package static let type = "Users"
    /// CloudKit: the numbers of the user's security roles. Administrators assign them, apps do not.
    static let rolesField = "roles"
    /// CloudKit: the one type that every container has, even without a schema that names it.
    package static let definition = RecordTypeDefinition(name: type, fields: [rolesField: FieldDefinition(type: .int64List)])

    /// A name that sorts just after all names of user records, which are contiguous.
    static let afterAllNames = "_\u{7f}"
}

extension Cloud {
    /// Makes the records of a user who has none yet. Called for every user who sends a request, before the request is
    /// executed.
    ///
    /// Reads twice for a user that this process has not seen, and then no more; in development beside other servers,
    /// again after some seconds. Writes once for each record in the user's life.
    package func admit(_ user: String, to container: String, _ environment: DatabaseKey.Environment) async throws {
        let key = DatabaseKey(container: container, environment: environment, scope: .private, owner: user)
        let now = now
        if admitted.contains(key, at: now) { return }
        for scope in [DatabaseKey.Scope.public, .private] {
            try await makeUserRecord(user, in: DatabaseTarget(container: container, environment: environment, scope: scope))
        }
        admitted.insert(key, at: now)
    }

    /// Admits an account to a container: gives it a user record name there, and makes the user's records.
    ///
    /// A deletion closes the container and then looks for names; this gives the name and then looks whether the
    /// container is closed. So no name outlives the container.
    /// - Returns: The user record name.
    /// - Throws: `ServerError.noContainer`, also where the container is being deleted.
    package func admit(account: String, to container: String, _ environment: DatabaseKey.Environment) async throws -> String {
        let (name, isNew) = try await registry.userRecordName(of: account, container: container, environment: environment)
        do {
            try await registry.requireContainer(container)
        } catch let error as ServerError where error == .noContainer {
            try await registry.leave(container, account: account)
            throw error
        }
        if isNew {
            try await admit(name, to: container, environment)
        } else {
            try await admitAgain(name, to: container, environment)
        }
        return name
    }

    /// Admits a user who has a name already. If the server cannot write, a user who only reads is admitted anyway. A
    /// later visit makes records that a crash left out.
    package func admitAgain(_ user: String, to container: String, _ environment: DatabaseKey.Environment) async throws {
        do {
            try await admit(user, to: container, environment)
        } catch let error as ServerError where error.code == .tryAgainLater {}
    }

    private func makeUserRecord(_ name: String, in target: DatabaseTarget) async throws {
        let server = Caller.server(inNameOf: name)
        let found = try await lookupRecords(
            RecordsLookupRequest(records: [.init(recordName: name)], desiredKeys: []), in: target, by: server)
        if case .record? = found.records.first { return }
        let creation = RecordOperation(.create, RecordChange(recordName: name, recordType: UserRecord.type))
        let made = try await modifyRecords(RecordsModifyRequest(operations: [creation]), in: target, by: server, digest: [])
        // Another request made it in between, which is just as good.
        if case .failure(_, let error)? = made.records.first, error.code != .conflict { throw error }
    }
}
