import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

extension SendLetter: TaskHandler {
    func chunk(_ leased: LeasedTask) async throws -> Bool {
        let cloud = leased.cloud
        let isText = letter.kind == .phoneCode
        if let courier = isText ? cloud.senders.texts : cloud.senders.mail, cloud.clock() < letter.expires,
            isText || Letter.isMailable(letter.address)
        {
            let registry = cloud.registry
            let account =
                if let id = letter.account { try await registry.account(id: id) } else { try await registry.account(email: letter.address) }
            if letter.isWanted(by: account) { try await courier.send(letter, for: account) }
        }
        try await cloud.store.write { transaction in
            try leased.requireLease(transaction)
            try transaction.apply(WritePlan(finishing: leased.key))
            return .commit(())
        }
        return false
    }

    /// Returns nil: only the payload has the letter.
    static func remade(_ row: TaskRow, at now: Timestamp, zone: (ZoneAddress) throws -> ZoneRow?) throws -> TaskRow? { nil }
}
