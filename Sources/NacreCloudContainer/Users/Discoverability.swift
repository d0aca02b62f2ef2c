package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// The permission to be found, which each user grants or refuses in each container and environment.
extension Cloud {
    /// Answers `GET users/permission`.
    package func discoverability(in target: DatabaseTarget, by caller: Caller) async throws -> Discoverability {
        if let fault = usersVerdict(target, by: caller) { throw fault }
        guard let user = caller.userRecordName else { throw caller.noUser }
        return try await registry.lookUp(DiscoverabilityEntry.self, user, in: .discovery(of: target))?.status ?? .initialState
    }

    /// Answers `POST users/permission`, with a user's answer in an app.
    /// - Returns: The permission that is in force, which may be an earlier answer.
    package func answerDiscoverability(
        _ answer: Discoverability, in target: DatabaseTarget, by caller: Caller
    ) async throws -> Discoverability {
        if let fault = usersVerdict(target, by: caller) { throw fault }
        guard let user = caller.userRecordName, let account = caller.account else { throw caller.noUser }
        let appUser = AppUser(container: target.container, environment: target.environment, userRecordName: user)
        return try await settle(answer, of: account, at: appUser, by: .app)
    }

    /// Sets the permission as the user does, in a container that the account has signed in to.
    package func answerDiscoverability(
        _ answer: Discoverability, of account: AccountEntry, in container: String, _ environment: DatabaseKey.Environment
    ) async throws -> Discoverability {
        if let fault = Names.containerFault(container) { throw fault }
        let key = AppUser.key(container, environment)
        guard let user = try await registry.lookUp(UserEntry.self, key, in: .account(account.id)) else { throw ServerError.unknownPlace }
        let appUser = AppUser(container: container, environment: environment, userRecordName: user.userRecordName)
        return try await settle(answer, of: account.id, at: appUser, by: .user)
    }

    private func settle(
        _ answer: Discoverability, of id: String, at appUser: AppUser, by judge: DiscoverabilitySource
    ) async throws -> Discoverability {
        if answer == .initialState { throw ServerError.permissionNeedsAnswer }
        guard let account = try await registry.lookUp(AccountEntry.self, id, in: .account(id)), account.isLiving else {
            throw ServerError.accountChanged
        }
        let candidate = newContactKey()
        let (user, hash) = (appUser.userRecordName, tokens.code)
        let status = try await registry.write(.discovery(of: appUser)) { database, now, transaction -> Ending<Discoverability> in
            let before = try transaction.entry(DiscoverabilityEntry.self, user, in: database, at: now)
            let status = discoverabilityVerdict(answer, over: before?.status ?? .initialState, by: judge)
            if status == before?.status { return .rollback(status) }
            var plan = WritePlan()
            let known = try transaction.contactKey(in: database)
            if known == nil { plan.entries = [try candidate.row(ContactKeyEntry.key, in: database)] }
            let entry = DiscoverabilityEntry(of: account, isAllowed: status == .granted, under: known ?? candidate.bytes, hash)
            try plan.put(entry, over: before, of: user, named: account, in: database, transaction)
            try transaction.apply(plan)
            return .commit(status)
        }
        // Names or address may have changed in the meantime, when no entry existed to update.
        if status == .granted { try await refreshIdentity(of: id, at: appUser) }
        return status
    }
}

/// Copies of an account's names and address in containers, which follow the account.
extension Cloud {
    /// Copies an account's names and address to every container where its user may be found. Idempotent; a task repeats
    /// it after each change.
    package func refreshIdentity(of account: String) async throws {
        for appUser in try await registry.appUsers(of: account) { try await refreshIdentity(of: account, at: appUser) }
    }

    /// Removes a deleted account from all indexes at once. The task that removes its data repeats it.
    package func concealIdentity(of account: String) async throws {
        for appUser in try await registry.appUsers(of: account) { try await forgetDiscoverability(at: appUser) }
    }

    fileprivate func refreshIdentity(of id: String, at appUser: AppUser) async throws {
        let part = Registry.Part.discovery(of: appUser)
        guard let known = try await registry.lookUp(DiscoverabilityEntry.self, appUser.userRecordName, in: part), known.isAllowed,
            let account = try await registry.lookUp(AccountEntry.self, id, in: .account(id)), account.isLiving,
            known.identityChanges < account.changesOfIdentity
        else { return }
        try await takeOver(account, at: appUser)
    }

    /// Copies an account's names and address to one container, unless a later state is there.
    /// - Parameter account: The account as it was read a moment ago.
    package func takeOver(_ account: AccountEntry, at appUser: AppUser) async throws {
        let (user, hash) = (appUser.userRecordName, tokens.code)
        try await registry.write(.discovery(of: appUser)) { database, now, transaction in
            guard let before = try transaction.entry(DiscoverabilityEntry.self, user, in: database, at: now), before.isAllowed,
                // A later state may have been copied before this one.
                before.identityChanges < account.changesOfIdentity, let key = try transaction.contactKey(in: database)
            else { return .rollback(()) }
            var plan = WritePlan()
            let entry = DiscoverabilityEntry(of: account, isAllowed: true, under: key, hash)
            try plan.put(entry, over: before, of: user, named: account, in: database, transaction)
            try transaction.apply(plan)
            return .commit(())
        }
    }

    package func forgetDiscoverability(at appUser: AppUser) async throws {
        let part = Registry.Part.discovery(of: appUser)
        guard try await registry.lookUp(DiscoverabilityEntry.self, appUser.userRecordName, in: part) != nil else { return }
        try await registry.write(part) { database, now, transaction in
            let user = appUser.userRecordName
            guard let entry = try transaction.entry(DiscoverabilityEntry.self, user, in: database, at: now) else { return .rollback(()) }
            var plan = WritePlan()
            try plan.forget(entry, of: user, in: database, transaction)
            try transaction.apply(plan)
            return .commit(())
        }
    }
}

extension DiscoverabilityEntry {
    fileprivate init(of account: AccountEntry, isAllowed: Bool, under key: [UInt8], _ hash: ([UInt8], [UInt8]) -> [UInt8]) {
        self.isAllowed = isAllowed
        contact = isAllowed && account.isEmailVerified ? HashedAddress.text(of: account.email, under: key, hash) : nil
        phoneContact = isAllowed ? account.phone.map { HashedAddress.text(ofPhone: $0, under: key, hash) } : nil
        identityChanges = account.changesOfIdentity
    }
}

extension Registry.Part {
    fileprivate static func discovery(of appUser: AppUser) -> Registry.Part {
        .discovery(container: appUser.container, appUser.environment)
    }
}
