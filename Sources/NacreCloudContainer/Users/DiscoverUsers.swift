package import NacreCloudWire

extension Cloud {
    /// `users/discover`: those of the container's users who have allowed it, in the order asked. Who is nobody's, who never was in the container, who was not
    /// asked and who said no are all left out, and cost the same three questions to one snapshot of the store; each address costs as much as `Limits.addressLookupCost`.
    /// - Parameter field: of the request, that holds the list.
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

    /// Address-book discovery, `GET users/discover` and `users/lookup/contacts`: those of the caller's contacts who may be found. The server keeps no address
    /// books, so there is nobody. See `docs/decisions/users-are-found-where-they-allowed-it.md`.
    package func discoverContacts(in target: DatabaseTarget, by caller: Caller) throws(ServerError) -> UsersDiscoverResponse {
        if let fault = usersVerdict(target, by: caller) { throw fault }
        return UsersDiscoverResponse(users: [])
    }

    /// The caller, with the names that others see: none where the caller has not allowed it. CloudKit: "names only if discoverable".
    package func identity(of userRecordName: String, in target: DatabaseTarget) async throws -> UserIdentity {
        let shown = try await registry.lookUp(DiscoverableEntry.self, userRecordName, in: .discovery(of: target))
        return shown?.identity(named: userRecordName) ?? UserIdentity(userRecordName: userRecordName)
    }

    /// The key under which clients hash the addresses that they ask for; made when it is first asked for.
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
    static func discovery(of target: DatabaseTarget) -> Registry.Part {
        .discovery(container: target.container, target.environment)
    }
}

extension UserLookupInfo {
    /// The hash under which somebody with this address or number stands in the index; nil where it is neither.
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
    static func text(of address: String, under key: [UInt8], _ hash: ([UInt8], [UInt8]) -> [UInt8]) -> String {
        text(of: hash(message(emailAddress: address), key))
    }

    /// - Parameter number: normalised.
    static func text(ofPhone number: String, under key: [UInt8], _ hash: ([UInt8], [UInt8]) -> [UInt8]) -> String {
        text(of: hash(message(phoneNumber: number), key))
    }
}

extension ReadTransaction {
    /// Which questions are asked depends on the request alone, never on who there is.
    fileprivate func discover(
        _ infos: [UserLookupInfo], in database: DatabaseID, hash: ([UInt8], [UInt8]) -> [UInt8]
    ) throws -> [UserIdentity] {
        // While nobody has asked for the key, nobody is in the index, whatever the key.
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
