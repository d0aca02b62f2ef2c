/// `POST keys/scopes/modify`, an endpoint of this server's own: adds a manifest to the scope of a zone, and keeps the
/// keys that are sealed with it. All parts are forms of docs/encryption.md.
package struct KeysScopesModifyRequest: Equatable, Sendable {
    package var zoneID: ZoneID
    package var manifest: [UInt8]
    /// The newest scope key, sealed for accounts.
    package var wraps: [[UInt8]]
    /// The scope key of the version before, sealed under the newest one.
    package var olderKey: [UInt8]?
    package var `extension`: RequestExtension

    package init(
        zoneID: ZoneID, manifest: [UInt8], wraps: [[UInt8]] = [], olderKey: [UInt8]? = nil, extension: RequestExtension = RequestExtension()
    ) {
        self.zoneID = zoneID
        self.manifest = manifest
        self.wraps = wraps
        self.olderKey = olderKey
        self.extension = `extension`
    }
}

/// The answer to `keys/scopes/modify`: an empty object.
package struct KeysScopesModifyResponse: Equatable, Sendable {
    package init() {}
}

/// `POST keys/scopes/list`, an endpoint of this server's own: asks for the manifests of a zone's scope.
package struct KeysScopesListRequest: Equatable, Sendable {
    package var zoneID: ZoneID
    /// The number of the oldest manifest that the client got; nil: none yet.
    package var before: Int?
    package var `extension`: RequestExtension

    package init(zoneID: ZoneID, before: Int? = nil, extension: RequestExtension = RequestExtension()) {
        self.zoneID = zoneID
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

    package init(manifests: [[UInt8]], moreComing: Bool = false, wraps: [[UInt8]]? = nil, olderKeys: [[UInt8]]? = nil) {
        self.manifests = manifests
        self.moreComing = moreComing
        self.wraps = wraps
        self.olderKeys = olderKeys
    }
}
