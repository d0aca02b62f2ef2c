import NacreCloudWire

// What leads from a share's URL to the share. See `docs/decisions/sharing.md`.

/// Where a short GUID leads. Whether there is a share, and for whom, is the zone's to say. Its key is the short GUID.
struct ShareLinkEntry: RegistryEntry {
    static let kind = EntryKind.shareLink
    var owner: String
    var zoneName: String
    var zone: Int64
}

/// What stands in the URL of a zone's share, as soon as there is one.
struct ShareLink: Hashable, Sendable {
    let zone: ZoneAddress
    let guid: String

    /// - Throws: where the zone was made again since the link was.
    func guid(for row: ZoneRow) throws(ServerError) -> String {
        guard row.address == zone else {
            throw ServerError(.tryAgainLater, "the zone was made again meanwhile", field: "zoneID", remedy: "Send the request again.", retryAfter: 1)
        }
        return guid
    }
}

extension Cloud {
    /// Makes the link of the share that a request may make: before its transaction, so that the share's URL leads somewhere as soon as it is there. A link
    /// without a share tells nobody anything.
    ///
    /// - Returns: nil for a request that makes no share, which costs nothing.
    func shareLink(for request: RecordsModifyRequest, in zone: RequestedZone) async throws -> ShareLink? {
        let makesOne = request.operations.contains { operation in
            guard case .success(let operation) = operation else { return false }
            return operation.change.recordType == ShareNames.recordType && !operation.type.isDelete
        }
        guard makesOne, zone.hasFeed, !zone.database.isOthers else { return nil }
        let key = zone.database.key
        guard let row = try await stored(of: key, zone: zone.zoneID, { try await self.store.read { try zone.find($0)?.row } }) else { return nil }
        let part = Registry.Part.shares(container: key.container, key.environment)
        let guid = shortGUID(of: row.address, under: try await registry.shareKey())
        if try await registry.lookUp(ShareLinkEntry.self, guid, in: part) == nil {
            let entry = ShareLinkEntry(owner: key.owner, zoneName: row.name, zone: row.address.zone)
            try await registry.write(part) { database, _, transaction in
                try transaction.put([try entry.row(guid, in: database)])
                return .commit(())
            }
        }
        return ShareLink(zone: row.address, guid: guid)
    }

    /// The same for one zone for ever: 128 bits that nobody can guess without the key.
    private func shortGUID(of zone: ZoneAddress, under key: [UInt8]) -> String {
        var message = ByteWriter()
        message.string("share")
        message.fixed(UInt64(bitPattern: zone.database.rawValue))
        message.fixed(UInt64(bitPattern: zone.zone))
        return Base64URL.encode(Array(tokens.code(for: message.bytes, key: key).prefix(Self.guidBytes)))
    }

    private static let guidBytes = 16

    /// Takes a zone's link away. To be called for a zone that is gone: its address never comes back.
    func removeShareLink(of zone: ZoneAddress, in key: DatabaseKey) async throws {
        let guid = shortGUID(of: zone, under: try await registry.shareKey())
        let part = Registry.Part.shares(container: key.container, key.environment)
        guard try await registry.lookUp(ShareLinkEntry.self, guid, in: part) != nil else { return }
        try await registry.write(part) { database, _, transaction in
            try transaction.remove([EntryKey(database, .shareLink, guid)])
            return .commit(())
        }
    }

    /// Where a short GUID leads. A malformed one leads nowhere, and costs what an unknown one does.
    func zoneOfShare(_ guid: String, in target: DatabaseTarget) async throws -> (name: ZoneID, zone: Int64)? {
        let isOne = Base64URL.decode(guid)?.count == Self.guidBytes
        let part = Registry.Part.shares(container: target.container, target.environment)
        let found = try await registry.lookUp(ShareLinkEntry.self, isOne ? guid : "-", in: part)
        return found.map { (ZoneID(zoneName: $0.zoneName, ownerRecordName: $0.owner), $0.zone) }
    }
}

extension Registry {
    /// The key of this server by which short GUIDs are made.
    func shareKey() async throws -> [UInt8] { try await serverKey(.shareKey) }
}
