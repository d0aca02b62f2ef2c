package import NacreCloudAccounts
import NacreCloudStorage
package import NacreCloudWire

extension Cloud {
    /// Answers `users/discover`: the users of the container who allowed to be found, in the order of the request. Left
    /// out are unknown users, users who never were in the container, and users who refused or never answered. All cost
    /// the same three reads of one snapshot; each address costs `Limits.addressLookupCost`.
    /// - Parameter field: The field of the request that holds the list.
    package func discoverUsers(
        _ infos: [UserLookupInfo], field: String, in target: DatabaseTarget, by caller: Caller
    ) async throws -> UsersDiscoverResponse {
        if let fault = usersVerdict(target, by: caller) ?? LookupShape.fault(of: infos, field: field, by: caller) { throw fault }
        WorkMeter.current?.add(rows: infos.reduce(0) { $0 + $1.guessingCost })
        let database = try await registry.databaseID(Registry.Part.discovery(of: target).key)
        let tokens = tokens
        return try await stored {
            try await self.store.read { transaction in
                UsersDiscoverResponse(users: try transaction.discover(infos, in: database, hash: tokens.code))
            }
        }
    }

    /// Address-book discovery, `GET users/discover` and `users/lookup/contacts`: the caller's contacts who may be
    /// found. The server keeps no address books, so the answer is empty. See
    /// `docs/decisions/users-discovery.md`.
    package func discoverContacts(in target: DatabaseTarget, by caller: Caller) throws(ServerError) -> UsersDiscoverResponse {
        if let fault = usersVerdict(target, by: caller) { throw fault }
        return UsersDiscoverResponse(users: [])
    }

    /// The caller's identity, with the names that others see: none unless the caller allowed it. CloudKit: "names only
    /// if discoverable".
    package func identity(of userRecordName: String, in target: DatabaseTarget) async throws -> UserIdentity {
        let shown = try await registry.lookUp(DiscoverableEntry.self, userRecordName, in: .discovery(of: target))
        return shown?.identity(named: userRecordName) ?? UserIdentity(userRecordName: userRecordName)
    }

    /// The key with which clients hash the addresses that they look up. The first call makes it.
    package func contactKey(in target: DatabaseTarget, by caller: Caller) async throws -> UsersContactKeyResponse {
        if let fault = usersVerdict(target, by: caller) { throw fault }
        let part = Registry.Part.discovery(of: target)
        if let known = try await registry.lookUp(ContactKeyEntry.self, ContactKeyEntry.key, in: part) {
            return UsersContactKeyResponse(contactKey: known.bytes)
        }
        let candidate = newContactKey()
        return try await registry.write(part) { database, _, transaction in
            if let known = try transaction.contactKey(in: database) { return .rollback(UsersContactKeyResponse(contactKey: known)) }
            try transaction.put([try candidate.row(ContactKeyEntry.key, in: database)])
            return .commit(UsersContactKeyResponse(contactKey: candidate.bytes))
        }
    }

    func newContactKey() -> ContactKeyEntry {
        ContactKeyEntry(bytes: registry.newKey())
    }
}

extension Registry.Part {
    package static func discovery(of target: DatabaseTarget) -> Registry.Part {
        .discovery(container: target.container, target.environment)
    }
}

extension UserLookupInfo {
    /// The hash of an address or phone number in the index; nil for a user record name or an invalid number.
    fileprivate func contact(under key: [UInt8], _ hash: ([UInt8], [UInt8]) -> [UInt8]) -> String? {
        switch self {
        case .emailAddress(let address): HashedAddress.text(of: address, under: key, hash)
        case .contactHash(let hash): hash
        case .phoneNumber(let number): PhoneNumber.normalised(number).map { HashedAddress.text(ofPhone: $0, under: key, hash) }
        case .userRecordName: nil
        }
    }
}

extension HashedAddress {
    package static func text(of address: String, under key: [UInt8], _ hash: ([UInt8], [UInt8]) -> [UInt8]) -> String {
        text(of: hash(message(emailAddress: address), key))
    }

    /// - Parameter number: Normalized.
    package static func text(ofPhone number: String, under key: [UInt8], _ hash: ([UInt8], [UInt8]) -> [UInt8]) -> String {
        text(of: hash(message(phoneNumber: number), key))
    }
}

extension ReadTransaction {
    /// Looks users up by reads that depend on the request alone, never on which users exist.
    fileprivate func discover(
        _ infos: [UserLookupInfo], in database: DatabaseID, hash: ([UInt8], [UInt8]) -> [UInt8]
    ) throws -> [UserIdentity] {
        // Without a key no user is in the index, so any key will do.
        let key = try contactKey(in: database) ?? []
        let contacts = infos.map { $0.contact(under: key, hash) }
        var owners: [String: String] = [:]
        for row in try entries(in: database, .contact, keys: Set(contacts.compactMap(\.self)).sorted()) {
            owners[row.key.key] = try ContactEntry(row).userRecordName
        }
        let names = zip(infos, contacts).map { info, contact -> String? in
            if case .userRecordName(let name) = info { return Names.isName(name) ? name : nil }
            return contact.flatMap { owners[$0] }
        }
        var shown: [String: DiscoverableEntry] = [:]
        for row in try entries(in: database, .discoverable, keys: Set(names.compactMap(\.self)).sorted()) {
            shown[row.key.key] = try DiscoverableEntry(row)
        }
        return zip(infos, names).compactMap { info, name in
            name.flatMap { name in shown[name]?.identity(named: name, lookupInfo: info) }
        }
    }
}
