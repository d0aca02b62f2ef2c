import NacreCloudWire

// What the registry keeps of discovery: for each container and environment a database of its own, in which one read finds everything that an answer
// tells. See `docs/decisions/users-are-found-where-they-allowed-it.md`.

/// A user's answer to the question whether others may find them. Its key is the user record name.
struct DiscoverabilityEntry: RegistryEntry {
    static let kind = EntryKind.discoverability
    var isAllowed: Bool
    /// The hash of the verified address under which the user is found; nil where they are not. Anybody can claim an address.
    var contact: String?
    /// The same for the account's phone number.
    var phoneContact: String?
    /// How often the account's names, address and number had changed when they were taken over.
    var identityChanges: Int64

    var status: Discoverability { isAllowed ? .granted : .denied }
    var contacts: [String] { [contact, phoneContact].compactMap(\.self) }
}

/// What others see of a user who has allowed it; those who have not have no such entry. Its key is the user record name.
struct DiscoverableEntry: RegistryEntry {
    static let kind = EntryKind.discoverable
    var givenName: String?
    var familyName: String?

    /// The user as who asked hears of them: never an address but the one that was asked with.
    func identity(named userRecordName: String, lookupInfo: UserLookupInfo? = nil) -> UserIdentity {
        let hasName = givenName != nil || familyName != nil
        return UserIdentity(
            userRecordName: userRecordName, nameComponents: hasName ? NameComponents(givenName: givenName, familyName: familyName) : nil,
            lookupInfo: lookupInfo)
    }
}

/// Whose the address with a hash is, among those who have allowed to be found. Its key is the hash.
struct ContactEntry: RegistryEntry {
    static let kind = EntryKind.contact
    var userRecordName: String
}

/// The key under which the addresses of a container and environment are hashed: so that hashes of two containers, or of two servers, cannot be compared.
/// Every user of the container may have it.
struct ContactKeyEntry: RegistryEntry {
    static let kind = EntryKind.contactKey
    static let key = "key"
    /// 32 random bytes.
    var bytes: [UInt8]
}

extension ReadTransaction {
    func contactKey(in database: DatabaseID) throws -> [UInt8]? {
        try entries(in: database, .contactKey, keys: [ContactKeyEntry.key]).first.map { try ContactKeyEntry($0).bytes }
    }
}

extension WritePlan {
    /// Takes away all that is kept of a user's answer, but for an address or a number that is another's by now.
    mutating func forget(_ entry: DiscoverabilityEntry, of user: String, in database: DatabaseID, _ transaction: any ReadTransaction) throws {
        entriesRemoved += [EntryKey(database, .discoverability, user), EntryKey(database, .discoverable, user)]
        try forgetContacts(entry.contacts, of: user, in: database, transaction)
    }

    /// Puts a user's answer, what others see where it is yes, and takes away what they saw before.
    /// - Parameters:
    ///   - before: what is kept.
    ///   - account: whose names are shown.
    mutating func put(
        _ entry: DiscoverabilityEntry, over before: DiscoverabilityEntry?, of user: String, named account: AccountEntry, in database: DatabaseID,
        _ transaction: any ReadTransaction
    ) throws {
        entries.append(try entry.row(user, in: database))
        for contact in entry.contacts { entries.append(try ContactEntry(userRecordName: user).row(contact, in: database)) }
        if entry.isAllowed {
            entries.append(try DiscoverableEntry(givenName: account.givenName, familyName: account.familyName).row(user, in: database))
        } else {
            entriesRemoved.append(EntryKey(database, .discoverable, user))
        }
        try forgetContacts((before?.contacts ?? []).filter { !entry.contacts.contains($0) }, of: user, in: database, transaction)
    }

    private mutating func forgetContacts(
        _ contacts: [String], of user: String, in database: DatabaseID, _ transaction: any ReadTransaction
    ) throws {
        if contacts.isEmpty { return }
        for row in try transaction.entries(in: database, .contact, keys: contacts.sorted()) where try ContactEntry(row).userRecordName == user {
            entriesRemoved.append(row.key)
        }
    }
}
