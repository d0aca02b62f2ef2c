package import NacreCloudStorage
package import NacreCloudWire

/// A sign-in of an account: a session on the web, or a device with an account token.
package struct SignIn: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, Codable {
        case web
        /// A device, with an account token.
        case account
    }

    package typealias Position = CredentialCursor<Kind>

    /// The containers and the environment that a sign-in is good for.
    package struct Audience: Hashable, Sendable {
        package var containers: Set<String>
        package var environment: String

        package init(containers: Set<String>, environment: String) {
            self.containers = containers
            self.environment = environment
        }

        /// Whether a sign-in for this audience may list and end one for another audience. The other must allow nothing
        /// that this one does not.
        ///
        /// On this server: an app must not learn which other apps its users have. See
        /// `docs/decisions/accounts-sign-in.md`.
        package func covers(_ other: Audience) -> Bool {
            environment == other.environment && other.containers.isSubset(of: containers)
        }
    }

    package var kind: Kind
    package var id: String
    package var audience: Audience
    /// The name of the device; empty on the web.
    package var device: String
    package var created: Timestamp

    package init(_ session: SessionEntry) {
        (kind, id, device) = (.web, session.id, "")
        audience = Audience(containers: [session.container], environment: session.environment)
        created = Timestamp(secondsSince2001: session.created)
    }

    package init(_ token: AccountTokenEntry) {
        (kind, id, device) = (.account, token.id, token.device)
        audience = Audience(containers: Set(token.containers), environment: token.environment)
        created = Timestamp(secondsSince2001: token.created)
    }
}

extension SessionEntry {
    /// Seconds that a session is kept without being prolonged: as long as any of its tokens can be good.
    private static let longestLife = Limits.keptSessionSeconds + Limits.sessionProlongSeconds

    /// The row of a session that is used now. It ends with its device's token at the latest.
    fileprivate func row(in database: DatabaseID, at now: Timestamp) throws -> EntryRow {
        let life = now + Self.longestLife
        return try row(id, in: database, expires: ends.map { min(life, Timestamp(secondsSince2001: $0)) } ?? life)
    }
}

/// Sign-ins of an account: beginning, finding and ending them.
extension Registry {
    /// Starts a session of an account under an API token. The oldest session ends if there are more than
    /// `Limits.sessionsPerAccount`. A session that is kept leaves a mail.
    /// - Parameters:
    ///   - account: The account as it was when its password was checked.
    ///   - user: The account's user record name in the token's container, from `Cloud.admit`.
    ///   - consent: The consent, which is used up in the same transaction; nil: none was given.
    /// - Throws: `ServerError.accountChanged` if the password is another one by now, or the account is gone;
    ///   `ServerError.consentUsed`.
    package func startSession(
        of account: AccountEntry, as user: String, apiToken: String, entry: APITokenEntry, isKept: Bool, consent: UsedConsent? = nil
    ) async throws -> SessionEntry {
        let session = SessionEntry(
            id: hex(2), account: account.id, container: entry.container, environment: entry.environment, apiToken: apiToken,
            userRecordName: user, created: clock().secondsSince2001, isKept: isKept)
        return try await write(.account(account.id)) { database, now, transaction in
            let kept = try transaction.requireUnchanged(account, in: database, at: now)
            var plan = WritePlan()
            if isKept { plan.tasks = try SendLetter.notice(.newSignIn, to: kept, in: database, at: now) }
            plan.entriesRemoved = Self.oldest(try transaction.all(SessionEntry.self, in: database, at: now), in: database)
            plan.entries = [try session.row(in: database, at: now)]
            if let consent { plan.entries.append(try transaction.accountUsing(consent, account.id, in: database, at: now)) }
            try transaction.apply(plan)
            return .commit(session)
        }
    }

    /// Uses a consent up without a session: the user refused, or the answer signed in to a page only once.
    /// - Throws: `ServerError.consentUsed`, or `ServerError.accountChanged`.
    package func use(_ consent: UsedConsent, of account: AccountEntry) async throws {
        try await write(.account(account.id)) { database, now, transaction in
            try transaction.requireUnchanged(account, in: database, at: now)
            try transaction.put([try transaction.accountUsing(consent, account.id, in: database, at: now)])
            return .commit(())
        }
    }

    /// Restarts the life of a session that is used. An ended one stays ended.
    package func prolongSession(_ id: String, of account: String) async throws {
        try await write(.account(account)) { database, now, transaction in
            guard var session = try transaction.entry(SessionEntry.self, id, in: database, at: now) else { return .rollback(()) }
            session.prolonged = now.secondsSince2001
            try transaction.put([try session.row(in: database, at: now)])
            return .commit(())
        }
    }

    /// Returns the session of a device under an API token, with a restarted life, or a new one. It ends with the
    /// device's account token.
    /// - Parameters:
    ///   - device: The ID of the device's account token.
    ///   - user: The account's user record name in the token's container, from `Cloud.admit`.
    /// - Throws: `ServerError.accountChanged` if the device or the account is gone by now.
    package func session(
        ofDevice device: String, of account: String, as user: String, apiToken: String, entry: APITokenEntry
    ) async throws -> SessionEntry {
        var session = SessionEntry(
            id: hex(2), account: account, container: entry.container, environment: entry.environment, apiToken: apiToken, userRecordName: user,
            created: clock().secondsSince2001, isKept: false)
        session.device = device
        let fresh = session
        return try await write(.account(account)) { database, now, transaction in
            guard let kept = try transaction.entry(AccountEntry.self, account, in: database, at: now), kept.isLiving,
                let token = try transaction.entry(AccountTokenEntry.self, device, in: database, at: now)
            else { throw ServerError.accountChanged }
            var plan = WritePlan()
            let others = try transaction.all(SessionEntry.self, in: database, at: now)
            var session = fresh
            session.ends = token.ends
            if let known = others.first(where: { $0.device == device && $0.apiToken == apiToken }) {
                session = known
                session.prolonged = now.secondsSince2001
            } else {
                plan.entriesRemoved = Self.oldest(others, in: database)
            }
            plan.entries = [try session.row(in: database, at: now)]
            try transaction.apply(plan)
            return .commit(session)
        }
    }

    /// Keys of the oldest sessions, which must end to make room for one more.
    private static func oldest(_ sessions: [SessionEntry], in database: DatabaseID) -> [EntryKey] {
        let tooMany = max(0, sessions.count + 1 - Limits.sessionsPerAccount)
        return sessions.sorted { ($0.created, $0.id) < ($1.created, $1.id) }.prefix(tooMany).map { EntryKey(database, .session, $0.id) }
    }

    package func session(_ id: String, of account: String) async throws -> SessionEntry? {
        try await lookUp(SessionEntry.self, id, in: .account(account))
    }

    /// Makes a token by which a device acts for an account in some containers of one environment, until it is revoked.
    /// Leaves a mail about it.
    /// - Parameters:
    ///   - account: The account as it was when its password was checked.
    ///   - seconds: Seconds after which the token ends; nil: it lasts until it is revoked.
    /// - Throws: `ServerError.tooManyDevices`, or `ServerError.accountChanged`.
    package func createAccountToken(
        for account: AccountEntry, containers: [String], environment: DatabaseKey.Environment, device: String, seconds: Double? = nil
    ) async throws -> AccountTokenEntry {
        let id = hex(2)
        return try await write(.account(account.id)) { database, now, transaction in
            let kept = try transaction.requireUnchanged(account, in: database, at: now)
            guard try transaction.all(AccountTokenEntry.self, in: database, at: now).count < Limits.devicesPerAccount else {
                throw ServerError.tooManyDevices
            }
            let entry = AccountTokenEntry(
                id: id, account: account.id, containers: containers, environment: environment.rawValue, device: device,
                created: now.secondsSince2001, ends: seconds.map { now.secondsSince2001 + $0 })
            var plan = WritePlan()
            plan.entries = [try entry.row(id, in: database, expires: seconds.map { now + $0 })]
            plan.tasks = try SendLetter.notice(.newSignIn, to: kept, in: database, at: now)
            try transaction.apply(plan)
            return .commit(entry)
        }
    }

    /// Makes a token by which an administrator acts as a user for `Limits.actingSeconds`, in development alone.
    /// - Parameters:
    ///   - author: The administrator, for the user's list of devices.
    ///   - environment: The environment that is asked for.
    /// - Throws: `ACCESS_DENIED` for production; `ServerError.tooManyDevices`.
    package func createActingToken(
        for account: AccountEntry, in container: String, _ environment: DatabaseKey.Environment, author: String
    ) async throws -> AccountTokenEntry {
        guard environment == .development else { throw ServerError.actsInDevelopment }
        return try await createAccountToken(
            for: account, containers: [container], environment: environment,
            device: String("administrator: \(author)".prefix(Limits.nameCharacters)), seconds: Limits.actingSeconds)
    }

    package func accountToken(_ id: String, of account: String) async throws -> AccountTokenEntry? {
        try await lookUp(AccountTokenEntry.self, id, in: .account(account))
    }

    // MARK: Finding

    /// A page of the sign-ins of an account, sessions before devices. Sessions whose API token is revoked are left out.
    ///
    /// - Parameters:
    ///   - audience: Returns only the sign-ins that it covers; nil: all.
    ///   - last: The position where the page before ended.
    /// - Returns: The page in the order of kinds and IDs, and the position of the next one; nil after the last. Only
    ///   nil marks the last page: any page may be empty.
    package func signIns(
        of account: String, in audience: SignIn.Audience?, after last: SignIn.Position?
    ) async throws -> (page: [SignIn], next: SignIn.Position?) {
        let database = try await databaseID(Part.account(account).key)
        let server = try await databaseID(Part.server.key)
        let position = last ?? SignIn.Position(kind: .web)
        let now = clock()
        return try await stored {
            try await self.store.read { transaction in
                var found: [SignIn] = []
                var last = position.id
                if position.kind == .web {
                    let rows = try transaction.entries(in: database, .session, after: last, limit: Limits.resultsPerPage)
                    let sessions = try rows.living(at: now).map { try SessionEntry($0) }
                    let tokens = try transaction.entries(in: server, .apiToken, keys: Set(sessions.map(\.apiToken)).sorted()).map(\.key.key)
                    found = sessions.filter { tokens.contains($0.apiToken) }.map { SignIn($0) }.filter { audience?.covers($0.audience) ?? true }
                    if rows.count == Limits.resultsPerPage { return (found, SignIn.Position(kind: .web, id: rows.last?.key.key)) }
                    last = nil
                }
                let rows = try transaction.entries(in: database, .accountToken, after: last, limit: Limits.resultsPerPage)
                found += try rows.living(at: now).map { SignIn(try AccountTokenEntry($0)) }.filter { audience?.covers($0.audience) ?? true }
                return (found, rows.count < Limits.resultsPerPage ? nil : SignIn.Position(kind: .account, id: rows.last?.key.key))
            }
        }
    }

    // MARK: Ending

    /// Ends a session. Does nothing if there is none.
    package func endSession(_ id: String, of account: String) async throws {
        try await remove(.session, id, of: account)
    }

    /// Revokes an account token, and ends the sessions of its device. Does nothing if there is none.
    package func revokeAccountToken(_ id: String, of account: String) async throws {
        try await remove(.accountToken, id, of: account)
    }

    private func remove(_ kind: EntryKind, _ id: String, of account: String) async throws {
        try await write(.account(account)) { database, now, transaction in
            try transaction.remove(try [EntryKey(database, kind, id)] + transaction.sessions(ofDevices: [id], in: database, at: now))
            return .commit(())
        }
    }

    /// Ends one sign-in of an account. It is refused once the credentials that servers remember expire, within seconds.
    /// - Parameter audience: Ends the sign-in only if this audience covers it; nil: for any audience.
    /// - Returns: The ended sign-in.
    /// - Throws: `NOT_FOUND` if the account has no such sign-in, or `audience` does not cover it.
    package func endSignIn(_ id: String, of account: String, in audience: SignIn.Audience?) async throws -> SignIn {
        try await write(.account(account)) { database, now, transaction in
            guard let found = try transaction.signIn(id, in: database, at: now), audience?.covers(found.audience) ?? true else {
                throw ServerError.noSuchSignIn
            }
            try transaction.remove(
                try [EntryKey(database, found.kind.entryKind, id)] + transaction.sessions(ofDevices: [id], in: database, at: now))
            return .commit(found)
        }
    }

    /// Ends all sign-ins of an account, in one transaction.
    /// - Parameters:
    ///   - audience: Ends only the sign-ins that it covers; nil: all.
    ///   - own: The ID of a sign-in that stays.
    /// - Returns: The number of sign-ins ended.
    package func endSignIns(of account: String, in audience: SignIn.Audience?, except own: String? = nil) async throws -> Int {
        try await write(.account(account)) { database, now, transaction in
            let ended = try transaction.signIns(in: database, at: now).filter { $0.id != own && audience?.covers($0.audience) ?? true }
            if ended.isEmpty { return .rollback(0) }
            let keys = ended.map { EntryKey(database, $0.kind.entryKind, $0.id) }
            let sessions = try transaction.sessions(ofDevices: Set(ended.filter { $0.kind == .account }.map(\.id)), in: database, at: now)
            try transaction.remove(keys + sessions.filter { !keys.contains($0) })
            return .commit(ended.count)
        }
    }
}

extension SignIn.Kind {
    var entryKind: EntryKind {
        switch self {
        case .web: .session
        case .account: .accountToken
        }
    }
}

extension ReadTransaction {
    /// All entries of a kind that have not expired. Only for kinds with few entries in a database.
    package func all<Entry: RegistryEntry>(_ type: Entry.Type, in database: DatabaseID, at now: Timestamp) throws -> [Entry] {
        try allEntries(Entry.kind, in: database).living(at: now).map { try Entry($0) }
    }

    /// All sign-ins of the account whose database this is.
    package func signIns(in database: DatabaseID, at now: Timestamp) throws -> [SignIn] {
        try all(SessionEntry.self, in: database, at: now).map { SignIn($0) } + all(AccountTokenEntry.self, in: database, at: now).map { SignIn($0) }
    }

    /// The keys of the sessions that the given devices asked for, which end with them.
    package func sessions(ofDevices devices: Set<String>, in database: DatabaseID, at now: Timestamp) throws -> [EntryKey] {
        if devices.isEmpty { return [] }
        return try all(SessionEntry.self, in: database, at: now).filter { $0.device.map(devices.contains) ?? false }.map {
            EntryKey(database, .session, $0.id)
        }
    }

    fileprivate func signIn(_ id: String, in database: DatabaseID, at now: Timestamp) throws -> SignIn? {
        if let session = try entry(SessionEntry.self, id, in: database, at: now) { return SignIn(session) }
        return try entry(AccountTokenEntry.self, id, in: database, at: now).map { SignIn($0) }
    }

    /// Returns the account's row with a consent used up. It keeps at most `Limits.sessionsPerAccount` used consents
    /// until they expire.
    /// - Throws: `ServerError.consentUsed`, `ServerError.accountChanged` or `THROTTLED`.
    func accountUsing(_ consent: UsedConsent, _ account: String, in database: DatabaseID, at now: Timestamp) throws -> EntryRow {
        guard var entry = try self.entry(AccountEntry.self, account, in: database, at: now) else { throw ServerError.accountChanged }
        entry.usedConsents = try (entry.usedConsents ?? []).using(consent, at: now)
        return try entry.row(account, in: database)
    }

    /// Checks that an account's password is unchanged, no passkey was removed and it is not deleted, between the check
    /// of a sign-in and its commit.
    /// - Returns: The account as it is now.
    @discardableResult
    func requireUnchanged(_ account: AccountEntry, in database: DatabaseID, at now: Timestamp) throws -> AccountEntry {
        guard let kept = try entry(AccountEntry.self, account.id, in: database, at: now), kept.isLiving,
            kept.passwordHash == account.passwordHash, kept.passkeysRemoved == account.passkeysRemoved
        else { throw ServerError.accountChanged }
        return kept
    }
}

extension ServerError {
    package static let accountChanged = ServerError(
        .authenticationFailed, "a password or passkey was changed, or the account deleted, while this request was under way",
        remedy: "Try again with the password as it is now.")

    static func tooManySignIns(seconds: Int) -> ServerError {
        ServerError(
            .throttled, "the account has signed in here as often as it may for now", remedy: "Wait for as many seconds as retryAfter says.",
            retryAfter: seconds)
    }

    package static let actsInDevelopment = ServerError(
        .accessDenied, "an administrator acts as a user in development alone", field: "environment",
        remedy: "Take development. In production users sign in themselves.")

    package static let consentUsed = ServerError(
        .authenticationFailed, "this sign-in was used already, or took too long", remedy: "Begin anew, in the app that asked for it.")

    package static let tooManyDevices = ServerError(
        .quotaExceeded, "the account has as many devices as it may have (\(Limits.devicesPerAccount))", native: .limitExceeded,
        remedy:
            "End those that are not in use: POST /account/1/sessions/list and /account/1/sessions/end, or nacre session list and nacre session revoke."
    )

    static let noSuchSignIn = ServerError(
        .notFound, "no such session or device", field: "id", remedy: "Take an ID from the list of sessions; it may have ended already.")
}

extension [UsedConsent] {
    /// Returns the used consents that have not expired, with one more: `Limits.sessionsPerAccount` at most.
    /// - Throws: `ServerError.consentUsed` or `THROTTLED`.
    func using(_ consent: UsedConsent, at now: Timestamp) throws -> [UsedConsent] {
        let used = filter { $0.expires > now.secondsSince2001 }
        guard !used.contains(where: { $0.id == consent.id }), consent.expires > now.secondsSince2001 else { throw ServerError.consentUsed }
        // An unexpired one must not be dropped to make room: it could be used again.
        if used.count >= Limits.sessionsPerAccount {
            let first = used.map(\.expires).min() ?? now.secondsSince2001
            throw ServerError.tooManySignIns(seconds: Swift.max(1, Int((first - now.secondsSince2001).rounded(.up))))
        }
        return used + [consent]
    }
}
