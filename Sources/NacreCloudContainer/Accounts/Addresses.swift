import NacreCloudWire

/// The address of an account, when it changes.
extension Registry {
    /// Gives an account another address. The new one is claimed first and the old one released last, each in a database of its own; one that was cut short is
    /// undone or ended by a task, whatever was done of it. Who is signed in stays so; a code for a new password is none any more.
    /// - Parameters:
    ///   - account: as it was when its password was checked.
    ///   - notifies: the old address gets a letter, which the change leaves in the outbox.
    ///   - verifies: the new address gets one too, with a link that verifies it.
    ///   - isVouched: an administrator vouches for the address, which may be the one that the account has.
    /// - Returns: the account as it is now.
    /// - Throws: `ServerError.emailTaken`, what is wrong with the address, or `ServerError.accountChanged`.
    package func changeEmail(
        of account: AccountEntry, to email: String, notifies: Bool = false, verifies: Bool = false, isVouched: Bool = false
    ) async throws -> AccountEntry {
        let address = try Self.normalized(email)
        if address == account.email {
            guard isVouched else { return account }
            guard try await verifyEmail(address, of: account.id), let kept = try await self.account(id: account.id) else {
                throw ServerError.accountChanged
            }
            return kept
        }
        let claim = EmailClaim(address: address, claim: hex(2))
        try await releaseAddresses(of: account.id)
        _ = try await write(.account(account.id)) { database, now, transaction in
            try transaction.changeAccount(account, in: database, at: now) { $0.leaving = ($0.leaving ?? []) + [claim] }
        }
        let isFree = try await write(.email(address)) { database, now, transaction -> Ending<Bool> in
            let old = try transaction.entry(EmailEntry.self, address, in: database, at: now)
            if let old, old.account != account.id { return .rollback(false) }
            try transaction.put([try EmailEntry(account: account.id, claim: claim.claim).row(address, in: database)])
            return .commit(true)
        }
        guard isFree else {
            try await releaseAddresses(of: account.id)
            throw ServerError.emailTaken
        }
        let changed: AccountEntry
        do {
            changed = try await write(.account(account.id)) { database, now, transaction in
                var letters: [Letter] = []
                if notifies { letters.append(Letter(.addressChanged, to: account.email, at: now)) }
                if verifies { letters.append(Letter(.verifyAddress, to: address, at: now)) }
                return try transaction.changeAccount(account, in: database, at: now, letters) { entry in
                    // As it was laid down: not being released.
                    guard let place = entry.leaving?.firstIndex(of: claim) else { throw ServerError.accountChanged }
                    let left = EmailClaim(address: entry.email, claim: entry.claim)
                    entry.leaving?[place] = left
                    entry.email = address
                    entry.claim = claim.claim
                    entry.reset = nil
                    entry.verifiedEmail = isVouched ? address : nil
                    entry.identityChanges = entry.changesOfIdentity + 1
                }
            }
        } catch let error as ServerError where error == .accountChanged {
            // Another change, or the task, may have let the claim go before it was made: then nobody else knows of it.
            if let isKept = try? await self.account(id: account.id)?.claim == claim.claim, !isKept { try? await release(claim, of: account.id) }
            throw error
        }
        // Where this fails, the task does it.
        try? await releaseAddresses(of: account.id)
        return changed
    }

    /// Notes that an account's address is its user's, who is found by it from then on: by `refreshIdentity`, or a task. Doing it twice does no harm.
    /// - Parameter email: to which the mail went, or for which an administrator vouches.
    /// - Returns: false where the account has another address by now, or is gone.
    package func verifyEmail(_ email: String, of account: String) async throws -> Bool {
        // Looked at first: a write would make a database of an account that is not there.
        guard try await self.account(id: account)?.email == email else { return false }
        return try await write(.account(account)) { database, now, transaction in
            guard var entry = try transaction.entry(AccountEntry.self, account, in: database, at: now), entry.isLiving, entry.email == email else {
                return .rollback(false)
            }
            if entry.isEmailVerified { return .rollback(true) }
            entry.verifiedEmail = email
            entry.identityChanges = entry.changesOfIdentity + 1
            var plan = WritePlan(putting: SettleAccount.task(in: database, due: now + Limits.emailChangeSeconds))
            plan.entries = [try entry.row(account, in: database)]
            try transaction.apply(plan)
            return .commit(true)
        }
    }

    /// Releases the addresses that an account has left, or did not get.
    func releaseAddresses(of account: String) async throws {
        let claims = try await write(.account(account)) { database, now, transaction -> Ending<[EmailClaim]> in
            guard var entry = try transaction.entry(AccountEntry.self, account, in: database, at: now), let leaving = entry.leaving else {
                return .rollback([])
            }
            entry.leaving = leaving.map { EmailClaim(address: $0.address, claim: $0.claim, isGoing: true) }
            try transaction.put([try entry.row(account, in: database)])
            return .commit(entry.leaving ?? [])
        }
        if claims.isEmpty { return }
        for claim in claims { try await release(claim, of: account) }
        try await write(.account(account)) { database, now, transaction in
            guard var entry = try transaction.entry(AccountEntry.self, account, in: database, at: now) else { return .rollback(()) }
            let rest = (entry.leaving ?? []).filter { !claims.contains($0) }
            entry.leaving = rest.isEmpty ? nil : rest
            try transaction.put([try entry.row(account, in: database)])
            return .commit(())
        }
    }

    /// Lets others have an address, if the account still has it by this very claim.
    func release(_ claim: EmailClaim, of account: String) async throws {
        try await write(.email(claim.address)) { database, now, transaction in
            let kept = try transaction.entry(EmailEntry.self, claim.address, in: database, at: now)
            guard kept == EmailEntry(account: account, claim: claim.claim) else { return .rollback(()) }
            try transaction.remove([EntryKey(database, .accountEmail, claim.address)])
            return .commit(())
        }
    }
}

extension WriteTransaction {
    /// Changes an account that is as its password was checked, and leaves a task that settles it, and those that send letters.
    func changeAccount(
        _ account: AccountEntry, in database: DatabaseID, at now: Timestamp, _ letters: [Letter] = [], _ change: (inout AccountEntry) throws -> Void
    ) throws -> Ending<AccountEntry> {
        var entry = try requireUnchanged(account, in: database, at: now)
        try change(&entry)
        var plan = WritePlan(putting: SettleAccount.task(in: database, due: now + Limits.emailChangeSeconds))
        for letter in letters { plan.tasks.append(try SendLetter.task(letter, in: database, due: now)) }
        plan.entries = [try entry.row(account.id, in: database)]
        try apply(plan)
        return .commit(entry)
    }
}
