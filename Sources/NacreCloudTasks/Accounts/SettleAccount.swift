import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

/// The task that settles an account. It releases addresses that the account has left or did not get. It updates the
/// names and the address that containers know, and removes a deleted account with its data.
///
/// The account itself tells what is to be done, so the task has nothing to remember.
struct SettleAccount: TaskHandler {
    init(_ task: TaskRow) throws {
        guard task.payload.isEmpty else { throw task.malformed }
    }

    var payload: [UInt8] { [] }

    func chunk(_ leased: LeasedTask) async throws -> Bool {
        let (cloud, database) = (leased.cloud, leased.key.database)
        guard let key = try await cloud.store.read({ try $0.databases([database]).first?.key }), let id = Registry.Part.accountID(of: key) else {
            throw StoreError(.corrupt, "A task belongs to no account")
        }
        let account = try await cloud.registry.lookUp(AccountEntry.self, id, in: .account(id))
        if let account, !account.isLiving {
            if try await cloud.clearAppUser(of: account) { return true }
            try await cloud.registry.releaseIdentity(of: account)
            try await cloud.registry.release(EmailClaim(address: account.email, claim: account.claim), of: id)
        }
        try await cloud.refreshIdentity(of: id)
        try await cloud.registry.releaseAddresses(of: id)
        let now = cloud.clock()
        return try await cloud.store.write { transaction in
            _ = try transaction.lock(in: database)
            try leased.requireLease(transaction)
            var plan = WritePlan(finishing: leased.key)
            let entry = try transaction.entry(AccountEntry.self, id, in: database, at: now)
            // The account has changed meanwhile.
            if entry?.leaving != nil || entry?.isLiving != account?.isLiving { return .rollback(true) }
            if entry?.isLiving == false { plan.entriesRemoved = [EntryKey(database, .account, id)] }
            try transaction.apply(plan)
            return .commit(false)
        }
    }

    static func remade(_ row: TaskRow, at now: Timestamp, zone: (ZoneAddress) throws -> ZoneRow?) throws -> TaskRow? {
        .settling(account: row.key.database, due: now)
    }
}
