/// `POST keys/scopes/modify`, an endpoint of this server's own: adds a manifest to a scope of a zone, and keeps the
/// keys that are sealed with it. All parts are forms of docs/encryption.md.
package struct KeysScopesModifyRequest: Equatable, Sendable {
    package var zoneID: ZoneID
    package var manifest: [UInt8]
    /// The newest scope key, sealed for accounts.
    package var wraps: [[UInt8]]
    /// The scope key of the version before, sealed under the newest one.
    package var olderKey: [UInt8]?
    /// The name of the share of records whose scope begins; nil: the scope is the zone's own, or has begun.
    package var share: String?
    /// All links of the scope; nil: they stay as they are, which they do not under a new version of the key.
    package var links: [ScopeLink]?
    package var `extension`: RequestExtension

    package init(
        zoneID: ZoneID, manifest: [UInt8], wraps: [[UInt8]] = [], olderKey: [UInt8]? = nil, share: String? = nil, links: [ScopeLink]? = nil,
        extension: RequestExtension = RequestExtension()
    ) {
        self.zoneID = zoneID
        self.manifest = manifest
        self.wraps = wraps
        self.olderKey = olderKey
        self.share = share
        self.links = links
        self.extension = `extension`
    }
}

/// The answer to `keys/scopes/modify`: an empty object.
package struct KeysScopesModifyResponse: Equatable, Sendable {
    package init() {}
}

/// `POST keys/scopes/list`, an endpoint of this server's own: asks for the manifests of a scope of a
/// zone: the zone's own, or with one of two names that of a share of records.
package struct KeysScopesListRequest: Equatable, Sendable {
    package var zoneID: ZoneID
    /// The number of the oldest manifest that the client got; nil: none yet.
    package var before: Int?
    /// The name of the share of records whose scope is asked for.
    package var share: String?
    /// The ID of the scope of a share of records that is asked for.
    package var scope: [UInt8]?
    package var `extension`: RequestExtension

    package init(
        zoneID: ZoneID, before: Int? = nil, share: String? = nil, scope: [UInt8]? = nil, extension: RequestExtension = RequestExtension()
    ) {
        self.zoneID = zoneID
        self.share = share
        self.scope = scope
        self.before = before
        self.extension = `extension`
    }
}

/// The answer to `keys/scopes/list`.
package struct KeysScopesListResponse: Equatable, Sendable {
    /// The newest first.
    package var manifests: [[UInt8]]
    package var moreComing: Bool
    /// The newest scope key, sealed for accounts. Like the older keys, it comes with the first page; nil: this is none.
    package var wraps: [[UInt8]]?
    /// The scope keys of earlier versions, the oldest first, each sealed under the next one.
    package var olderKeys: [[UInt8]]?
    /// The links that the caller may have; nil: there are none, or this is not the first page.
    package var links: [ScopeLink]?
    /// For the owner: the words of users who came by a link; nil: there are none, or this is not the first page.
    package var joinings: [[UInt8]]?

    package init(
        manifests: [[UInt8]], moreComing: Bool = false, wraps: [[UInt8]]? = nil, olderKeys: [[UInt8]]? = nil, links: [ScopeLink]? = nil,
        joinings: [[UInt8]]? = nil
    ) {
        self.manifests = manifests
        self.moreComing = moreComing
        self.wraps = wraps
        self.olderKeys = olderKeys
        self.links = links
        self.joinings = joinings
    }
}
