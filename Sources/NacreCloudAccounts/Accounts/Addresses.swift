import NacreCloudStorage
import NacreCloudWire

/// Changes of an account's address.
extension Registry {
    /// Gives an account another address. The new address is claimed first and the old one released last, each in a
    /// database of its own. A task undoes or completes a change that was cut short. Sign-ins stay; a code for a new
    /// password ends.
    /// - Parameters:
    ///   - account: The account as it was when its password was checked.
    ///   - notifies: Whether the change leaves a letter to the old address in the outbox.
    ///   - verifies: Whether it leaves a letter to the new address too, with a link that verifies it.
    ///   - isVouched: Whether an administrator vouches for the address, which may be the account's present one.
    /// - Returns: The changed account.
    /// - Throws: `ServerError.emailTaken`, the fault of the address, or `ServerError.accountChanged`.
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
                    // The claim is found only as it was added: `isGoing` is false.
                    guard let index = entry.leaving?.firstIndex(of: claim) else { throw ServerError.accountChanged }
                    let left = EmailClaim(address: entry.email, claim: entry.claim)
                    entry.leaving?[index] = left
                    entry.email = address
                    entry.claim = claim.claim
                    entry.reset = nil
                    entry.verifiedEmail = isVouched ? address : nil
                    entry.identityChanges = entry.changesOfIdentity + 1
                }
            }
        } catch let error as ServerError where error == .accountChanged {
            // Another change or the task may have dropped the claim from the account before its address was claimed.
            // Then only this call can release it.
            if let isKept = try? await self.account(id: account.id)?.claim == claim.claim, !isKept { try? await release(claim, of: account.id) }
            throw error
        }
        // If this fails, the task releases them.
        try? await releaseAddresses(of: account.id)
        return changed
    }

    /// Marks an account's address as verified. Others find the user by it once `refreshIdentity` or a task has run.
    /// Idempotent.
    /// - Parameter email: The address that the mail went to, or that an administrator vouches for.
    /// - Returns: false if the account has another address by now, or is gone.
    package func verifyEmail(_ email: String, of account: String) async throws -> Bool {
        // Read first: a write would make a database for an account that does not exist.
        guard try await self.account(id: account)?.email == email else { return false }
        return try await write(.account(account)) { database, now, transaction in
            guard var entry = try transaction.entry(AccountEntry.self, account, in: database, at: now), entry.isLiving, entry.email == email else {
                return .rollback(false)
            }
            if entry.isEmailVerified { return .rollback(true) }
            entry.verifiedEmail = email
            entry.identityChanges = entry.changesOfIdentity + 1
            var plan = WritePlan(putting: .settling(account: database, due: now + Limits.emailChangeSeconds))
            plan.entries = [try entry.row(account, in: database)]
            try transaction.apply(plan)
            return .commit(true)
        }
    }

    /// Releases the addresses that an account has left, or failed to get.
    package func releaseAddresses(of account: String) async throws {
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

    /// Frees an address for other accounts, if the account still has it by this very claim.
    package func release(_ claim: EmailClaim, of account: String) async throws {
        try await write(.email(claim.address)) { database, now, transaction in
            let kept = try transaction.entry(EmailEntry.self, claim.address, in: database, at: now)
            guard kept == EmailEntry(account: account, claim: claim.claim) else { return .rollback(()) }
            try transaction.remove([EntryKey(database, .accountEmail, claim.address)])
            return .commit(())
        }
    }
}

extension WriteTransaction {
    /// Changes an account whose checked password is unchanged, and adds tasks to settle it and to send the letters.
    func changeAccount(
        _ account: AccountEntry, in database: DatabaseID, at now: Timestamp, _ letters: [Letter] = [], _ change: (inout AccountEntry) throws -> Void
    ) throws -> Ending<AccountEntry> {
        var entry = try requireUnchanged(account, in: database, at: now)
        try change(&entry)
        var plan = WritePlan(putting: .settling(account: database, due: now + Limits.emailChangeSeconds))
        for letter in letters { plan.tasks.append(try SendLetter.task(letter, in: database, due: now)) }
        plan.entries = [try entry.row(account.id, in: database)]
        try apply(plan)
        return .commit(entry)
    }
}
