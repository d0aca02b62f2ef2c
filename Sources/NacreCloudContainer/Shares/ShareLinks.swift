import NacreCloudAccounts
import NacreCloudStorage
package import NacreCloudWire

// The links from the short GUIDs of URLs to shares. See `docs/decisions/shares.md`.

/// The zone and root to which a short GUID leads. The entry's key is the short GUID. Only the zone says whether there
/// is a share, and for which users.
struct ShareLinkEntry: RegistryEntry {
    package static let kind = EntryKind.shareLink
    package var owner: String
    package var zoneName: String
    package var zone: Int64
    /// The record at the root of what is shared; nil: the whole zone is.
    package var root: String?
}

/// The short GUIDs of a zone's shares. They are drawn before the shares are made.
struct ShareLinks: Hashable, Sendable {
    package let zone: ZoneAddress
    /// Short GUIDs by the record at the root of what is shared; nil stands for the whole zone.
    package let guids: [String?: String]
    /// The database of the registry that holds the links.
    package let database: DatabaseID
    package let owner: String

    /// - Throws: where the zone was made again since the links were.
    package func guids(for row: ZoneRow) throws(ServerError) -> [String?: String] {
        guard row.address == zone else {
            throw ServerError(.tryAgainLater, "the zone was made again meanwhile", field: "zoneID", remedy: "Send the request again.", retryAfter: 1)
        }
        return guids
    }

    /// Returns the links to the shares among records, for the transaction that saves them.
    package func rows(to saved: [StoredRecord], in row: ZoneRow) throws -> [EntryRow] {
        try saved.compactMap(\.content.sharing).filter { guids[$0.root] == $0.shortGUID }.map { share in
            try ShareLinkEntry(owner: owner, zoneName: row.name, zone: zone.zone, root: share.root).row(share.shortGUID, in: database)
        }
    }
}

extension Cloud {
    /// Draws the short GUIDs of the shares that a request may make. Writes nothing: the link is written with its share,
    /// so that a refused share leaves none.
    ///
    /// - Returns: nil for a request that makes no share, which costs nothing.
    func shareLinks(for request: RecordsModifyRequest, in zone: RequestedZone) async throws -> ShareLinks? {
        let roots = request.operations.compactMap { operation -> String?? in
            guard case .success(let operation) = operation, operation.change.recordType == ShareNames.recordType, !operation.type.isDelete else {
                return nil
            }
            // An invalid name is refused when the record is checked.
            return .some(operation.change.sharing?.value.forRecord.flatMap { Names.isName($0) ? $0 : nil })
        }
        guard !roots.isEmpty, zone.hasFeed, !zone.database.isOthers else { return nil }
        let key = zone.database.key
        guard let row = try await stored(of: key, zone: zone.zoneID, { try await self.store.read { try zone.find($0)?.row } }) else { return nil }
        let part = Registry.Part.shares(container: key.container, key.environment)
        // Once for each environment: write the row of the registry's part, without which it has no owner.
        if registry.directory[part.key] == nil { try await registry.write(part) { _, _, _ in .commit(()) } }
        let secret = try await registry.shareKey()
        var guids: [String?: String] = [:]
        for root in Set(roots) { guids[root] = shortGUID(of: row.address, root: root, under: secret) }
        return ShareLinks(zone: row.address, guids: guids, database: try await registry.databaseID(part.key), owner: key.owner)
    }

    /// Returns the key for the short GUIDs that a request wants; nil if it wants none, or its records cannot be shared.
    func shortGUIDKey(for request: RecordsModifyRequest, in zone: RequestedZone) async throws -> [UInt8]? {
        let isWanted = request.operations.contains { operation in
            if case .success(let operation) = operation { operation.change.wantsShortGUID } else { false }
        }
        guard isWanted, zone.hasFeed, !zone.database.isOthers else { return nil }
        return try await registry.shareKey()
    }

    /// Adds the wanted short GUIDs to the saved records of an answer. The link is written with the share: until then a
    /// short GUID leads nowhere.
    func addShortGUIDs(to response: inout RecordsResponse, as request: RecordsModifyRequest, in zone: ZoneAddress, under key: [UInt8]) {
        for index in response.records.indices {
            guard case .success(let operation) = request.operations[index], operation.change.wantsShortGUID,
                case .record(var record) = response.records[index], record.sharing == nil
            else { continue }
            record.shortGUID = shortGUID(of: zone, root: record.recordName, under: key)
            response.records[index] = .record(record)
        }
    }

    /// Returns the short GUID of a zone, or of a root in it: always the same 128 bits, secret without the key.
    private func shortGUID(of zone: ZoneAddress, root: String?, under key: [UInt8]) -> String {
        var message = ByteWriter()
        message.string("share")
        message.fixed(UInt64(bitPattern: zone.database.rawValue))
        message.fixed(UInt64(bitPattern: zone.zone))
        if let root { message.string(root) }
        return Base64URL.encode(Array(tokens.code(for: message.bytes, key: key).prefix(ShareKey.guidBytes)))
    }

    /// Removes the link to a zone, or to a root in it. Call it for a zone that is gone: its address never comes back.
    func removeShareLink(of zone: ZoneAddress, root: String?, in key: DatabaseKey) async throws {
        let guid = shortGUID(of: zone, root: root, under: try await registry.shareKey())
        let part = Registry.Part.shares(container: key.container, key.environment)
        guard try await registry.lookUp(ShareLinkEntry.self, guid, in: part) != nil else { return }
        try await registry.write(part) { database, _, transaction in
            try transaction.remove([EntryKey(database, .shareLink, guid)])
            return .commit(())
        }
    }

    /// Removes the link to a root that is no longer shared. Keeps that of a root that is shared again, or damaged.
    func removeShareLink(ofFormer root: String, in zone: ZoneAddress, named name: String, of key: DatabaseKey) async throws {
        let guid = shortGUID(of: zone, root: root, under: try await registry.shareKey())
        let links = try await registry.databaseID(Registry.Part.shares(container: key.container, key.environment).key)
        try await store.write { transaction in
            // The zone's lock keeps the root from being shared meanwhile.
            let row = try transaction.lock(zoneNamed: name, in: zone.database).zone
            if row?.address == zone, let record = try transaction.records(in: zone, named: [root]).first.map({ StoredRecord($0, in: zone) }),
                record.isDamaged || record.isLive && record.content.shared.share != nil
            {
                return .rollback(())
            }
            try transaction.remove([EntryKey(links, .shareLink, guid)])
            return .commit(())
        }
    }

    /// Returns the zone and root of a short GUID. A malformed one leads nowhere, and costs what an unknown one does.
    func zoneOfShare(_ text: String, in target: DatabaseTarget) async throws -> (name: ZoneID, zone: Int64, root: String?)? {
        let key = ShareKey(text)
        let (guid, isOne) = (key.shortGUID, key.hasShortGUID)
        let part = Registry.Part.shares(container: target.container, target.environment)
        let found = try await registry.lookUp(ShareLinkEntry.self, isOne ? guid : "-", in: part)
        return found.map { (ZoneID(zoneName: $0.zoneName, ownerRecordName: $0.owner), $0.zone, $0.root) }
    }
}

extension ShareKey {
    fileprivate static let guidBytes = 16
    /// The bound of a one-time secret in bytes. A secret is a UUID, which has 36.
    private static let longestSecret = 64

    /// Whether the first part has the form of a short GUID, of any server.
    fileprivate var hasShortGUID: Bool { Base64URL.decode(shortGUID)?.count == Self.guidBytes }

    /// Whether a share's URL may hold this text. The share need not exist.
    package var isWellFormed: Bool { hasShortGUID && secret?.utf8.count ?? 0 <= Self.longestSecret }
}

extension Registry {
    /// The server's key from which short GUIDs are made.
    package func shareKey() async throws -> [UInt8] { try await serverKey(.shareKey) }
}
