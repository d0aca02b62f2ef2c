import NacreCloudStorage
import NacreCloudWire
import NacreEncryptionForms

/// The keys of the entries that a zone's scopes consist of. They begin with the zone's number, so that a new zone of
/// the same name has none of them. Those of the scopes of shares come behind those of the zone's own.
enum ScopeEntries {
    static let kinds: [EntryKind] = [.scopeManifest, .scopeKeyWrap, .olderScopeKey, .scopeOfShare, .scopeLink, .scopeJoining]

    /// Returns the key of a manifest. Higher numbers come first.
    static func manifest(_ number: UInt64, of scope: KnownScope, in zone: ZoneAddress) -> EntryKey {
        EntryKey(zone.database, .scopeManifest, prefix(of: scope, in: zone) + HexText.encode(UInt64.max - number))
    }

    /// Returns the key of the newest scope key that is sealed for an account.
    static func wrap(for recipient: Digest, of scope: KnownScope, in zone: ZoneAddress) -> EntryKey {
        EntryKey(zone.database, .scopeKeyWrap, prefix(of: scope, in: zone) + HexText.encode(recipient.bytes))
    }

    /// Returns the key of the older scope key that is sealed under a version.
    static func olderKey(under version: UInt32, of scope: KnownScope, in zone: ZoneAddress) -> EntryKey {
        EntryKey(zone.database, .olderScopeKey, prefix(of: scope, in: zone) + HexText.encode(UInt64(version)))
    }

    /// Returns the key of the entry that holds the ID of the scope of a share of records.
    /// - Parameter share: the name of the share's record.
    static func scope(ofShare share: String, in zone: ZoneAddress) -> EntryKey {
        EntryKey(zone.database, .scopeOfShare, ShareEntries.prefix(of: zone) + HexText.encode(Digest(of: Array(share.utf8)).bytes))
    }

    static func prefix(of scope: KnownScope, in zone: ZoneAddress) -> String {
        // No hexadecimal digit comes behind an "s".
        ShareEntries.prefix(of: zone) + (scope.isOfShare ? "s" : "") + HexText.encode(scope.id.bytes) + " "
    }
}

/// The name of a scope, and whether it is that of a share of records or of its zone.
struct KnownScope: Hashable, Sendable {
    let id: ScopeID
    let isOfShare: Bool

    init(_ id: ScopeID, isOfShare: Bool) { (self.id, self.isOfShare) = (id, isOfShare) }

    init(_ manifest: ScopeManifest) { self.init(manifest.parts.scope, isOfShare: !manifest.parts.root.isEmpty) }
}

extension ReadTransaction {
    /// Returns the newest manifest of a zone's own scope; nil if it has none. Costs a call of the store.
    func newestManifest(of zone: ZoneAddress) throws -> ScopeManifest? {
        let prefix = ShareEntries.prefix(of: zone)
        let row = try entries(in: zone.database, .scopeManifest, after: prefix, limit: 1).first
        guard let row, row.key.key.hasPrefix(prefix), !row.key.key.dropFirst(prefix.count).hasPrefix("s") else { return nil }
        return try row.form()
    }

    /// Returns the newest manifest of a scope of a zone; nil if the zone has no such scope. Costs a call of the store.
    func newestManifest(of scope: KnownScope, in zone: ZoneAddress) throws -> ScopeManifest? {
        let prefix = ScopeEntries.prefix(of: scope, in: zone)
        let row = try entries(in: zone.database, .scopeManifest, after: prefix, limit: 1).first
        return try row.flatMap { $0.key.key.hasPrefix(prefix) ? try $0.form() : nil }
    }

    /// Returns the newest manifest of the scope of a share of records, or of a zone's own; nil if there is none. Costs
    /// two calls of the store at most.
    /// - Parameter share: the name of the share's record; nil: the zone's own.
    func newestManifest(ofShare share: String?, in zone: ZoneAddress) throws -> ScopeManifest? {
        guard let share else { return try newestManifest(of: zone) }
        return try scopes(ofShares: [share], in: zone)[share].flatMap { try newestManifest(of: KnownScope($0, isOfShare: true), in: zone) }
    }

    /// Returns whether a zone has as many scopes of shares as it may have. Costs a call of the store.
    func hasAllScopesOfShares(in zone: ZoneAddress) throws -> Bool {
        let prefix = ShareEntries.prefix(of: zone)
        let rows = try entries(in: zone.database, .scopeOfShare, after: prefix, limit: Limits.recordSharesPerZone)
        return rows.count == Limits.recordSharesPerZone && rows.last?.key.key.hasPrefix(prefix) == true
    }

    /// Returns the keys of some entries of a zone's scopes. Costs six calls of the store.
    func scopeEntries(of zone: ZoneAddress, limit: Int) throws -> [EntryKey] {
        let prefix = ShareEntries.prefix(of: zone)
        return try ScopeEntries.kinds.flatMap { kind in
            try entries(in: zone.database, kind, after: prefix, limit: limit).map(\.key).filter { $0.key.hasPrefix(prefix) }
        }
    }
}

extension WritePlan {
    /// Adds the rows of a manifest that was decided to be kept.
    /// - Parameters:
    ///   - last: the newest manifest before it.
    ///   - links: the rows of the scope's links and of who came by them.
    mutating func put(_ addition: ScopeAddition, after last: ScopeManifest?, over links: [EntryRow], in zone: ZoneAddress) throws {
        let (parts, scope) = (addition.manifest.parts, KnownScope(addition.manifest))
        entries.append(EntryRow(key: ScopeEntries.manifest(parts.number, of: scope, in: zone), value: addition.manifest.bytes))
        entries += addition.wraps.map { EntryRow(key: ScopeEntries.wrap(for: $0.recipient, of: scope, in: zone), value: $0.bytes) }
        if let older = addition.olderKey {
            entries.append(EntryRow(key: ScopeEntries.olderKey(under: parts.version, of: scope, in: zone), value: older.bytes))
        }
        if last == nil, let share = addition.share {
            entries.append(EntryRow(key: ScopeEntries.scope(ofShare: share, in: zone), value: parts.scope.bytes))
        }
        try putLinks(of: addition, after: last, over: links, in: zone)
        guard let last else { return }
        entriesRemoved += last.parts.readers.subtracting(parts.readers).map { ScopeEntries.wrap(for: $0, of: scope, in: zone) }
        // No reader takes what these keys open any more.
        guard last.parts.oldest < parts.oldest else { return }
        entriesRemoved += (last.parts.oldest + 1...parts.oldest).map { ScopeEntries.olderKey(under: $0, of: scope, in: zone) }
    }
}
