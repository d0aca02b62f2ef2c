/// How much the databases of a container may hold, in bytes of record bodies as they are kept; 0: as much as the disk.
///
/// CloudKit: what is in a private database counts against its user, what is in a public one against the container. See
/// `docs/decisions/bodies-count-and-deleting-is-always-possible.md`.
package struct Quotas: Hashable, Sendable {
    /// Of each user's private database.
    package var userBytes: Int64
    /// Of the public database.
    package var publicBytes: Int64

    package init(userBytes: Int64 = 0, publicBytes: Int64 = 0) {
        self.userBytes = userBytes
        self.publicBytes = publicBytes
    }

    package static let none = Quotas()

    /// What a database of this scope may hold; nil: as much as the disk.
    package func limit(of scope: DatabaseKey.Scope) -> Int64? {
        let bytes: Int64 =
            switch scope {
            case .private: userBytes
            case .public: publicBytes
            case .shared, .registry: 0
            }
        return bytes > 0 ? bytes : nil
    }

    /// With what an administrator has set for one container and environment.
    func with(_ entry: QuotaEntry?) -> Quotas {
        Quotas(userBytes: entry?.userBytes ?? userBytes, publicBytes: entry?.publicBytes ?? publicBytes)
    }
}

/// What an administrator has set for a container in one environment; nil: what the server has for all; 0: as much as the disk.
package struct QuotaEntry: RegistryEntry {
    package static let kind = EntryKind.quota
    /// There is one.
    static let key = "quota"
    package var userBytes: Int64?
    package var publicBytes: Int64?

    package init(userBytes: Int64? = nil, publicBytes: Int64? = nil) {
        self.userBytes = userBytes
        self.publicBytes = publicBytes
    }

    var isEmpty: Bool { userBytes == nil && publicBytes == nil }
}
