import NacreCloudStorage
import NacreCloudWire
import NacreEncryptionForms

/// The keys of the entries that a zone's scope consists of. They begin with the zone's number, so that a new zone of
/// the same name has none of them.
enum ScopeEntries {
    static let kinds: [EntryKind] = [.scopeManifest, .scopeKeyWrap, .olderScopeKey]

    /// Returns the key of a manifest. Higher numbers come first.
    static func manifest(_ number: UInt64, of scope: ScopeID, in zone: ZoneAddress) -> EntryKey {
        EntryKey(zone.database, .scopeManifest, prefix(of: scope, in: zone) + HexText.encode(UInt64.max - number))
    }

    /// Returns the key of the newest scope key that is sealed for an account.
    static func wrap(for recipient: Digest, of scope: ScopeID, in zone: ZoneAddress) -> EntryKey {
        EntryKey(zone.database, .scopeKeyWrap, prefix(of: scope, in: zone) + HexText.encode(recipient.bytes))
    }

    /// Returns the key of the older scope key that is sealed under a version.
    static func olderKey(under version: UInt32, of scope: ScopeID, in zone: ZoneAddress) -> EntryKey {
        EntryKey(zone.database, .olderScopeKey, prefix(of: scope, in: zone) + HexText.encode(UInt64(version)))
    }

    private static func prefix(of scope: ScopeID, in zone: ZoneAddress) -> String {
        ShareEntries.prefix(of: zone) + HexText.encode(scope.bytes) + " "
    }
}

extension ReadTransaction {
    /// Returns the newest manifest of a zone's scope; nil if it has none. Costs a call of the store.
    func newestManifest(of zone: ZoneAddress) throws -> ScopeManifest? {
        let prefix = ShareEntries.prefix(of: zone)
        let row = try entries(in: zone.database, .scopeManifest, after: prefix, limit: 1).first
        return try row.flatMap { $0.key.key.hasPrefix(prefix) ? try $0.form() : nil }
    }

    /// Returns the keys of some entries of a zone's scope. Costs three calls of the store.
    func scopeEntries(of zone: ZoneAddress, limit: Int) throws -> [EntryKey] {
        let prefix = ShareEntries.prefix(of: zone)
        return try ScopeEntries.kinds.flatMap { kind in
            try entries(in: zone.database, kind, after: prefix, limit: limit).map(\.key).filter { $0.key.hasPrefix(prefix) }
        }
    }
}

extension WritePlan {
    /// Adds the rows of a manifest that was decided to be kept.
    /// - Parameter last: the newest manifest before it.
    mutating func put(_ addition: ScopeAddition, after last: ScopeManifest?, in zone: ZoneAddress) {
        let parts = addition.manifest.parts
        entries.append(EntryRow(key: ScopeEntries.manifest(parts.number, of: parts.scope, in: zone), value: addition.manifest.bytes))
        entries += addition.wraps.map { EntryRow(key: ScopeEntries.wrap(for: $0.recipient, of: parts.scope, in: zone), value: $0.bytes) }
        if let older = addition.olderKey {
            entries.append(EntryRow(key: ScopeEntries.olderKey(under: parts.version, of: parts.scope, in: zone), value: older.bytes))
        }
        guard let last else { return }
        entriesRemoved += last.parts.readers.subtracting(parts.readers).map { ScopeEntries.wrap(for: $0, of: parts.scope, in: zone) }
        // No reader takes what these keys open any more.
        guard last.parts.oldest < parts.oldest else { return }
        entriesRemoved += (last.parts.oldest + 1...parts.oldest).map { ScopeEntries.olderKey(under: $0, of: parts.scope, in: zone) }
    }
}
