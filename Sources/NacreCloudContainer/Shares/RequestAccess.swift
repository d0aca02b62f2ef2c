package import NacreCloudAccounts
import NacreCloudStorage
package import NacreCloudWire

/// A share for which an account asked for access. It only leads there, to remove the request with the account.
struct ShareRequestEntry: RegistryEntry {
    package static let kind = EntryKind.shareRequest
    package var container: String
    package var environment: String
    package var shortGUID: String

    package var key: String { "\(container) \(environment) \(shortGUID)" }

    fileprivate var target: DatabaseTarget? {
        DatabaseKey.Environment(rawValue: environment).map { DatabaseTarget(container: container, environment: $0, scope: .public) }
    }
}

extension Cloud {
    /// `records/request-access`, an endpoint of this server: asks the owner and administrators of shares to let the
    /// caller take part. Asking again changes nothing.
    ///
    /// A share that takes no requests gets the answer of a missing one, after as many reads. Costs a transaction of the
    /// account and one of the share for each request that is made.
    package func requestShareAccess(_ request: SharesRequest, in target: DatabaseTarget, by caller: Caller) async throws -> AccessRequestsResponse {
        let user = try shareUser(request, in: target, by: caller)
        let contact = try await contact(of: caller)
        var results: [AccessRequestsResponse.Result] = []
        for item in request.shortGUIDs {
            do {
                let found = try requireShare(try await foundShare(item.value, in: target, by: caller))
                try await ask(for: found, user, contact, as: caller, ShareKey(item.value))
                results.append(AccessRequestsResponse.Result(shortGUID: item.value, error: nil))
            } catch let error as ServerError {
                results.append(AccessRequestsResponse.Result(shortGUID: item.value, error: error.namingVerification(sendsMail: senders.mail != nil)))
            }
        }
        return AccessRequestsResponse(results: results)
    }

    private func ask(for found: FoundShare, _ user: String, _ contact: ShareContact?, as caller: Caller, _ name: ShareKey) async throws {
        let key = found.database.key
        @Sendable func requested(_ state: ShareState) throws(ServerError) -> ShareState? {
            let standing = ShareRelation(of: user, contact: contact, secret: name.secret, in: state, owner: key.owner)
            return try state.requested(by: user, as: contact?.requester(user), standing).get()
        }
        guard try requested(found.share.state) != nil else { return }
        // The entry is written first, so that it leads to every request. A caller with a contact has an account.
        if let account = caller.account {
            try await note(
                ShareRequestEntry(container: key.container, environment: key.environment.rawValue, shortGUID: name.shortGUID), of: account, by: caller
            )
        }
        let address = found.share.zone.address
        let changed = try await changeShare(found.share.record.row.name, ofZoneNamed: found.share.zone.name, in: key, by: caller) { zone, state in
            guard zone.address == address else { throw ServerError.notInvited }
            return try requested(state)
        }
        if changed == nil { throw ServerError.notInvited }
    }

    // MARK: What an account has asked for

    private func note(_ entry: ShareRequestEntry, of account: String, by caller: Caller) async throws {
        if try await put(entry, of: account) { return }
        // Requests that were answered are removed only when their room is needed.
        for old in try await requests(of: account) {
            let state = try await share(of: old, by: caller)?.share.state
            let user = try await registry.lookUp(UserEntry.self, AppUser.key(old), in: .account(account))?.userRecordName
            if state?.remembersRequest(of: user ?? "") != true { try await remove(old, of: account) }
        }
        if try await !put(entry, of: account) { throw ServerError.tooManyRequestsOfAccount }
    }

    /// - Returns: false where there is no room.
    private func put(_ entry: ShareRequestEntry, of account: String) async throws -> Bool {
        try await registry.write(.account(account)) { database, now, transaction in
            if try transaction.entry(ShareRequestEntry.self, entry.key, in: database, at: now) != nil { return .rollback(true) }
            let limit = Limits.accessRequestsPerAccount
            if try transaction.entries(in: database, .shareRequest, after: nil, limit: limit).count == limit { return .rollback(false) }
            try transaction.put([try entry.row(entry.key, in: database)])
            return .commit(true)
        }
    }

    private func remove(_ entry: ShareRequestEntry, of account: String) async throws {
        try await registry.write(.account(account)) { database, _, transaction in
            try transaction.remove([EntryKey(database, .shareRequest, entry.key)])
            return .commit(())
        }
    }

    private func requests(of account: String) async throws -> [ShareRequestEntry] {
        let database = try await databaseID(Registry.Part.account(account).key)
        return try await stored { try await self.store.read { try $0.allEntries(.shareRequest, in: database).map { try ShareRequestEntry($0) } } }
    }

    private func share(of entry: ShareRequestEntry, by caller: Caller) async throws -> FoundShare? {
        WorkMeter.current?.add(rows: 1)
        guard let target = entry.target else { return nil }
        return try await foundShare(entry.shortGUID, in: target, by: caller)
    }

    /// Removes what an account has left in others' shares by asking for access, as one of its app users. Idempotent.
    package func forgetShareRequests(at appUser: AppUser, of account: String) async throws {
        let user = appUser.userRecordName
        let caller = Caller(.user(user))
        for entry in try await requests(of: account) where entry.container == appUser.container && entry.environment == appUser.environment.rawValue {
            if let found = try await share(of: entry, by: caller), found.share.state.remembersRequest(of: user) {
                let key = found.database.key
                _ = try await changeShare(found.share.record.row.name, ofZoneNamed: found.share.zone.name, in: key, by: caller) { _, state in
                    state.remembersRequest(of: user) ? state.forgettingRequest(of: user) : nil
                }
            }
            try await remove(entry, of: account)
        }
    }
}

extension AppUser {
    fileprivate static func key(_ entry: ShareRequestEntry) -> String { "\(entry.container) \(entry.environment)" }
}
