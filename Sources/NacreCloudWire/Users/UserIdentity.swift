/// A user as others and the user see it: `users/caller`, and each element of `users/discover`.
package struct UserIdentity: Equatable, Sendable {
    package var userRecordName: String
    /// nil: the user has no name, or shows none.
    package var nameComponents: NameComponents?
    /// The lookup that found the user; nil where there was none.
    package var lookupInfo: UserLookupInfo?

    package init(userRecordName: String, nameComponents: NameComponents? = nil, lookupInfo: UserLookupInfo? = nil) {
        self.userRecordName = userRecordName
        self.nameComponents = nameComponents
        self.lookupInfo = lookupInfo
    }
}

/// A person's name in its parts. CloudKit has seven of them; accounts of this server have these.
package struct NameComponents: Hashable, Sendable {
    package var givenName: String?
    package var familyName: String?

    package init(givenName: String? = nil, familyName: String? = nil) {
        self.givenName = givenName
        self.familyName = familyName
    }
}

/// A key by which a user is looked up.
package enum UserLookupInfo: Hashable, Sendable {
    case emailAddress(String)
    case phoneNumber(String)
    case userRecordName(String)
    /// Ours: an e-mail address or a phone number as `HashedAddress` makes it, in 64 hexadecimal digits. On the wire
    /// `nacre.contactHash`.
    case contactHash(String)
}
