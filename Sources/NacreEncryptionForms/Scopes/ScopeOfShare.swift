package import NacreCrypto

// The scopes of shares of records: `docs/encryption.md`, "Keys". A signed manifest names the root of its share. The
// scope's ID names the share, so that a server cannot have a device take one share of a zone for another.

extension ScopeID {
    /// The number of random bytes with which the ID of a share's scope begins.
    package static let randomLength = 8

    /// Makes the ID of the scope of a share of records.
    /// - Parameters:
    ///   - share: the name of the share's record.
    ///   - root: the name of the record at the share's root.
    ///   - random: 8 random bytes.
    /// - Returns: nil for another number of random bytes.
    package init?(ofShare share: String, root: String, at place: Place, random: [UInt8]) throws(CryptoError) {
        guard random.count == Self.randomLength else { return nil }
        let parts = [place.bytes, Array(root.utf8), Array(share.utf8), random]
        let names = try Digest(label: "nacre scope of a share", parts)
        self.init(random + names.bytes.prefix(Self.length - Self.randomLength))
    }
}

extension ScopeManifest.Parts {
    /// Returns whether the scope is that of a share of records.
    /// - Parameter share: the name of the share's record; nil for a zone's own scope, which has no root.
    package func isScope(ofShare share: String?) -> Bool {
        guard let share else { return root.isEmpty }
        guard !root.isEmpty else { return false }
        return (try? ScopeID(ofShare: share, root: root, at: place, random: Array(scope.bytes.prefix(ScopeID.randomLength)))) == scope
    }
}
