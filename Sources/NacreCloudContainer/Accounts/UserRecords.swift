import NacreCloudWire

/// The records that each user of a container has. CloudKit: a user's first access makes two, one in the public and one in the private database,
/// both under the user record name; apps fetch and change them, and neither make, delete nor query them.
///
/// See `docs/decisions/user-records-are-made-when-a-user-is-admitted.md`.
package enum UserRecord {
    /// CloudKit: `CKRecord.SystemType.userRecord`.
    package static let type = "Users"
    /// CloudKit: the numbers of the user's security roles. Administrators give them, apps do not.
    static let rolesField = "roles"
    /// CloudKit: the one type that every container has, whether a schema says so or not.
    static let definition = RecordTypeDefinition(name: type, fields: [rolesField: FieldDefinition(type: .int64List)])

    /// Names of user records stand together in the order of names, and this one is just after all of them.
    static let afterAllNames = "_\u{7f}"
}

extension Cloud {
    /// Makes the records of a user who has none yet. Called for every user who sends a request, before the request is done.
    ///
    /// Reads twice for a user that this process has not seen, and then no more; writes once for each record in the user's life.
    package func admit(_ user: String, to container: String, _ environment: DatabaseKey.Environment) async throws {
        let key = DatabaseKey(container: container, environment: environment, scope: .private, owner: user)
        if admitted.contains(key) { return }
        for scope in [DatabaseKey.Scope.public, .private] {
            try await makeUserRecord(user, in: DatabaseTarget(container: container, environment: environment, scope: scope))
        }
        admitted.insert(key)
    }

    /// Lets an account into a container: it has a name there from now on, and the user's records.
    /// - Returns: the name.
    package func admit(account: String, to container: String, _ environment: DatabaseKey.Environment) async throws -> String {
        let (name, isNew) = try await registry.userRecordName(of: account, container: container, environment: environment)
        if isNew {
            try await admit(name, to: container, environment)
        } else {
            try await admitAgain(name, to: container, environment)
        }
        return name
    }

    /// Lets in a user whose name was given before. Where the server cannot write, a user who only reads is let in all the same: records
    /// that a crash or an older version left out are made by a later visit.
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
        // Somebody else made it in between: that is as good.
        if case .failure(_, let error)? = made.records.first, error.code != .conflict { throw error }
    }
}
