import NacreCloudAccounts
package import NacreCloudStorage

/// The quotas of a container's databases, in bytes of stored record bodies; 0: no limit but the disk.
///
/// CloudKit: a private database counts against its user, a public one against the container. See
/// `docs/decisions/quotas.md`.
package struct Quotas: Hashable, Sendable {
    /// The quota of each user's private database.
    package var userBytes: Int64
    /// The quota of the public database.
    package var publicBytes: Int64

    package init(userBytes: Int64 = 0, publicBytes: Int64 = 0) {
        self.userBytes = userBytes
        self.publicBytes = publicBytes
    }

    package static let none = Quotas()

    /// The quota of a database in this scope; nil: no limit but the disk.
    package func limit(of scope: DatabaseKey.Scope) -> Int64? {
        let bytes: Int64 =
            switch scope {
            case .private: userBytes
            case .public: publicBytes
            case .shared, .registry: 0
            }
        return bytes > 0 ? bytes : nil
    }

    /// Returns the quotas with an administrator's values for one container and environment.
    package func with(_ entry: QuotaEntry?) -> Quotas {
        Quotas(userBytes: entry?.userBytes ?? userBytes, publicBytes: entry?.publicBytes ?? publicBytes)
    }
}

/// An administrator's quotas for a container in one environment; nil: the server's default; 0: no limit but the disk.
package struct QuotaEntry: RegistryEntry {
    package static let kind = EntryKind.quota
    /// The key of the only entry.
    package static let key = "quota"
    package var userBytes: Int64?
    package var publicBytes: Int64?

    package init(userBytes: Int64? = nil, publicBytes: Int64? = nil) {
        self.userBytes = userBytes
        self.publicBytes = publicBytes
    }

    package var isEmpty: Bool { userBytes == nil && publicBytes == nil }
}
