package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire
import NacreEncryptionForms

/// Decides whether a caller may ask for keys in a database: a user, in the private one.
package func keysVerdict(_ target: DatabaseTarget, by caller: Caller) -> ServerError? {
    if case .failure(let fault) = databaseVerdict(target, for: .write, by: caller) { return fault }
    return target.scope == .private ? nil : .keysAreInPrivateDatabase
}

/// Decides whether a caller may ask for the scopes of zones in a database: a user, in the private one, and in the
/// shared one for zones of others.
package func scopesVerdict(_ target: DatabaseTarget, by caller: Caller) -> ServerError? {
    guard target.scope == .shared else { return keysVerdict(target, by: caller) }
    if case .failure(let fault) = databaseVerdict(target, for: .read, by: caller) { return fault }
    return nil
}

extension Cloud {
    /// `keys/append`: adds a statement to the caller's log of keys. A repeated request finds its statement as the
    /// newest, and is answered as before.
    ///
    /// The statement is verified on a snapshot, after the log was read at some 10 µs a statement. The transaction then
    /// writes only if the log has not moved. Then the statement enters the tree of logs. Costs a call of the store for
    /// each page of the log, and eight more.
    package func appendKeyStatement(_ request: KeysAppendRequest, in target: DatabaseTarget, by caller: Caller) async throws -> KeysAppendResponse {
        let (database, account) = try await keyDatabase(target, by: caller)
        let addition = try KeyAddition(request)
        let statements = try await stored(of: database.key) { try await self.store.read { try $0.keyStatements(in: database.id) } }
        // A crash may have come between a reset and its consequence.
        if case .reset? = statements.last?.action { try await resetScopes(of: database) }
        if let last = statements.last, last == addition.statement {
            try await enter(statements, of: database.key)
            return KeysAppendResponse(place: statements.count - 1)
        }
        WorkMeter.current?.add(rows: statements.count)
        try await stored(of: database.key) {
            let change = try await withTaskExecutorPreference(process.longWork) {
                try await Self.decided(addition, after: statements, of: account, in: database)
            }
            try await self.store.write { try change.run($0) }
        }
        try await enter(statements + [addition.statement], of: database.key)
        if case .reset = addition.statement.action { try await resetScopes(of: database) }
        return KeysAppendResponse(place: statements.count)
    }

    private static func decided(
        _ addition: KeyAddition, after statements: [KeyStatement], of account: AccountName, in database: CallerDatabase
    ) async throws -> KeyChange {
        let keys = try AccountKeys(stored: statements)
        return KeyChange(addition: addition, keys: keys, log: try keys.adding(addition, of: account), database: database.id, key: database.key)
    }

    /// `keys/log`: a page of the statements of an account, from the first of its first log on. They are public keys,
    /// and every user of the environment may read those of a user whose record name they have. The sealed keys are the
    /// caller's own.
    package func keyLog(_ request: KeysLogRequest, in target: DatabaseTarget, by caller: Caller) async throws -> KeysLogResponse {
        let (own, account) = try await keyDatabase(target, by: caller)
        if let after = request.after, after < 0 { throw ServerError.badValue("after", "invalid place", remedy: "Places begin at 0.") }
        let user = request.user ?? account.user
        // A user without keys and one that does not exist are answered alike.
        guard Names.isName(user) else {
            return KeysLogResponse(statements: [], tree: try await tree(of: own.key, showing: nil, since: request.treeSize))
        }
        let isOwn = user == account.user
        let key = DatabaseKey(container: target.container, environment: target.environment, scope: .private, owner: user)
        let database = isOwn ? own.id : try await databaseID(key)
        let after = request.after.map { KeyEntries.statement(at: $0, in: database).key }
        let (page, newest) = try await stored(of: key) {
            try await self.store.read { transaction -> (KeysLogResponse, TreeLeaf?) in
                let rows = try transaction.entries(in: database, .keyStatement, after: after, limit: Limits.resultsPerPage + 1)
                let page = rows.prefix(Limits.resultsPerPage).map(\.value)
                let newest = try rows.prefix(page.count).last.map { try transaction.leaf(of: $0) }
                guard isOwn, page.count == rows.count else {
                    return (KeysLogResponse(statements: page, moreComing: page.count < rows.count), newest)
                }
                let answer = KeysLogResponse(
                    statements: page, wraps: try transaction.allEntries(.accountKeyWrap, in: database).map(\.value),
                    olderKeys: try transaction.allEntries(.olderAccountKey, in: database).map(\.value))
                return (answer, newest)
            }
        }
        var answer = page
        answer.tree = try await tree(of: key, showing: newest, since: request.treeSize)
        WorkMeter.current?.add(rows: answer.statements.count + (answer.wraps?.count ?? 0) + (answer.olderKeys?.count ?? 0))
        return answer
    }

    /// Returns the caller's private database, and the caller's account as forms name it.
    func keyDatabase(_ target: DatabaseTarget, by caller: Caller) async throws -> (database: CallerDatabase, account: AccountName) {
        if let fault = keysVerdict(target, by: caller) { throw fault }
        let database = try await database(target, for: .write, by: caller)
        guard let user = caller.userRecordName,
            let account = AccountName(container: target.container, environment: target.environment.rawValue, user: user)
        else { throw caller.noUser }
        return (database, account)
    }

    /// Removes all that is sealed for the user of a private database, and the enrolments. The logs stay, which are
    /// public keys: others verify by them what the user wrote in their zones.
    package func forgetKeys(of database: DatabaseID) async throws {
        while try await stored({ try await self.store.write { .commit(try $0.forgetKeys(of: database)) } }) {}
    }
}

/// A statement that is to be kept, with everything decided beforehand, so that its transaction may run more than once.
private struct KeyChange: Sendable {
    let addition: KeyAddition
    let keys: AccountKeys
    let log: KeyLog
    let database: DatabaseID
    let key: DatabaseKey

    func run(_ transaction: any WriteTransaction) throws -> Ending<Void> {
        let next = KeyEntries.statement(at: keys.count, in: database)
        let last = keys.count > 0 ? KeyEntries.statement(at: keys.count - 1, in: database) : nil
        let advance = try transaction.lock(zoneNamed: nil, in: database, operation: nil, entries: [next] + (last.map { [$0] } ?? []))
        if let row = advance.database, row.key != key { throw ServerError.internalError }
        guard !advance.entries.contains(where: { $0.key == next }), advance.entries.first?.value == keys.newest?.bytes else {
            throw ServerError.statementRefused(.notNext(number: addition.statement.number))
        }
        var plan = WritePlan()
        if advance.database == nil { plan.databases.append(DatabaseRow(id: database, key: key, run: advance.run, lastSeq: 0)) }
        plan.put(addition, after: keys, log, in: database)
        try transaction.apply(plan)
        return .commit(())
    }
}

extension AccountKeys {
    /// Reads kept statements, which were verified when they came.
    init(stored statements: [KeyStatement]) throws(StoreError) {
        do throws(KeyLogFault) {
            try self.init(statements)
        } catch {
            throw StoreError(.corrupt, "A kept log of keys does not verify", ["fault": "\(error)"])
        }
    }
}

extension KeyAddition {
    /// Reads the forms of a request.
    init(_ request: KeysAppendRequest) throws(ServerError) {
        guard request.wraps.count <= KeyLog.devicesMax + 1 else {
            throw .tooManyItems(request.wraps.count, limit: KeyLog.devicesMax + 1, field: "wraps")
        }
        statement = try .init(of: request.statement, in: "statement")
        var wraps: [KeyWrap] = []
        for bytes in request.wraps { wraps.append(try .init(of: bytes, in: "wraps")) }
        self.wraps = wraps
        olderKey = if let bytes = request.olderKey { try .init(of: bytes, in: "olderKey") } else { nil }
    }
}

extension Form {
    /// Reads a form of a request.
    init(of bytes: [UInt8], in field: String) throws(ServerError) {
        do throws(FormFault) {
            self = try Self(bytes)
        } catch {
            throw .malformedKey(field, error)
        }
    }
}

extension WriteTransaction {
    /// Removes some entries of keys of a database, but no statements.
    /// - Returns: whether there were any.
    fileprivate func forgetKeys(of database: DatabaseID) throws -> Bool {
        var gone: [EntryKey] = []
        for kind in [EntryKind.accountKeyWrap, .olderAccountKey, .enrolment] {
            gone += try entries(in: database, kind, after: nil, limit: Limits.resultsPerPage).map(\.key)
        }
        if gone.isEmpty { return false }
        try remove(gone)
        return true
    }
}
