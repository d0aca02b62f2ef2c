package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

// Entries of discovery. Each container and environment has a database for them, in which one snapshot holds everything
// for an answer. See `docs/decisions/users-discovery.md`.

/// A user's answer to whether others may find them. Its key is the user record name.
package struct DiscoverabilityEntry: RegistryEntry {
    package static let kind = EntryKind.discoverability
    package var isAllowed: Bool
    /// The hash of the verified address by which the user is found; nil: none. An unverified address does not count:
    /// any account can claim it.
    package var contact: String?
    /// The hash of the account's phone number by which the user is found; nil: none.
    var phoneContact: String?
    /// `changesOfIdentity` of the account when its names, address and number were copied.
    package var identityChanges: Int64

    package var status: Discoverability { isAllowed ? .granted : .denied }
    package var contacts: [String] { [contact, phoneContact].compactMap(\.self) }
}

/// The names that others see of a user who allowed to be found. Other users have no entry. Its key is the user record
/// name.
struct DiscoverableEntry: RegistryEntry {
    package static let kind = EntryKind.discoverable
    package var givenName: String?
    package var familyName: String?

    /// The user's identity for a caller. It holds no address other than the one that the caller asked with.
    package func identity(named userRecordName: String, lookupInfo: UserLookupInfo? = nil) -> UserIdentity {
        let hasName = givenName != nil || familyName != nil
        return UserIdentity(
            userRecordName: userRecordName, nameComponents: hasName ? NameComponents(givenName: givenName, familyName: familyName) : nil,
            lookupInfo: lookupInfo)
    }
}

/// The user whose address or phone number has a hash, if they allowed to be found. Its key is the hash.
struct ContactEntry: RegistryEntry {
    package static let kind = EntryKind.contact
    package var userRecordName: String
}

/// The key with which addresses are hashed in a container and environment. It makes hashes of different containers or
/// servers incomparable. Every user of the container may have it.
struct ContactKeyEntry: RegistryEntry {
    package static let kind = EntryKind.contactKey
    package static let key = "key"
    /// 32 random bytes.
    package var bytes: [UInt8]
}

extension ReadTransaction {
    package func contactKey(in database: DatabaseID) throws -> [UInt8]? {
        try entries(in: database, .contactKey, keys: [ContactKeyEntry.key]).first.map { try ContactKeyEntry($0).bytes }
    }
}

extension WritePlan {
    /// Removes all entries of a user's answer, except contact entries that belong to another user by now.
    package mutating func forget(_ entry: DiscoverabilityEntry, of user: String, in database: DatabaseID, _ transaction: any ReadTransaction) throws {
        entriesRemoved += [EntryKey(database, .discoverability, user), EntryKey(database, .discoverable, user)]
        try forgetContacts(entry.contacts, of: user, in: database, transaction)
    }

    /// Stores a user's answer, and the names that others see if it allows that. Removes the contact entries that are
    /// out of date.
    /// - Parameters:
    ///   - before: The stored answer.
    ///   - account: The account whose names are shown.
    package mutating func put(
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
