/// A user as others are shown one, and oneself: `users/caller`, and each element of `users/discover`.
package struct UserIdentity: Equatable, Sendable {
    package var userRecordName: String
    /// nil: the user has none, or shows none.
    package var nameComponents: NameComponents?
    /// How the user was looked up; nil where nobody was.
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

/// One way to look somebody up.
package enum UserLookupInfo: Hashable, Sendable {
    case emailAddress(String)
    case phoneNumber(String)
    case userRecordName(String)
    /// Ours: an e-mail address or a phone number as `HashedAddress` makes it, in 64 hexadecimal digits. On the wire `nacre.contactHash`.
    case contactHash(String)
}
