package import NacreCloudWire

/// The bytes of an asset that its caller may have.
package struct AssetContent: Sendable {
    package let size: Int64
    /// The same for the same bytes of one database.
    package let fileChecksum: String
    fileprivate let chunks: [AssetChunk]
    fileprivate let inline: [UInt8]
    fileprivate let key: [UInt8]
    fileprivate let storage: (any AssetStorage)?
    /// Tells the server's log of a chunk that cannot be read.
    fileprivate let failed: @Sendable (StoreError) -> Void

    /// Hands out the bytes of a range in order, each verified before. At most one chunk lies in memory.
    /// - Throws: what `take` throws; `StoreError` before the first byte that is not what was sent.
    package func read(_ range: Range<Int64>, _ take: ([UInt8]) async throws -> Void) async throws {
        guard let storage else {
            let range = range.clamped(to: 0..<Int64(inline.count))
            if !range.isEmpty { try await take(Array(inline[Int(range.lowerBound)..<Int(range.upperBound)])) }
            return
        }
        var start: Int64 = 0
        for chunk in chunks {
            let here = start..<start + Int64(chunk.size)
            start = here.upperBound
            let wanted = range.clamped(to: here)
            guard !wanted.isEmpty else { continue }
            do {
                let bytes = try await storage.chunk(chunk, under: key)
                if wanted == here {
                    try await take(bytes)
                } else {
                    try await take(Array(bytes[Int(wanted.lowerBound - here.lowerBound)..<Int(wanted.upperBound - here.lowerBound)]))
                }
            } catch let error as StoreError {
                failed(error)
                throw error
            }
        }
    }
}

extension Cloud {
    /// What the URL of a download permits, and to whom.
    /// - Throws: `ServerError` where the text is not ours or its time is over.
    package func downloadPermit(_ text: String) throws(ServerError) -> DownloadPermit {
        guard let permit = assetLinks.tokens.downloadPermit(text) else { throw .unknownDownload }
        guard clock() < permit.expires else { throw .downloadExpired }
        return permit
    }

    /// Finds the database that a download is from.
    package func target(of permit: DownloadPermit) async throws -> DatabaseTarget {
        let row = try await stored { try await self.store.read { try $0.databases([permit.database]).first } }
        guard let key = row?.key else { throw ServerError.unknownDownload }
        return DatabaseTarget(container: key.container, environment: key.environment, scope: key.scope)
    }

    /// The bytes that a URL leads to, for who may read the record that has them now. Costs one call of the store, two in a public database.
    /// - Parameter caller: whose the permit's credential is now.
    /// - Throws: `ServerError`: not there any more, or not for the caller.
    package func content(of permit: DownloadPermit, in target: DatabaseTarget, by caller: Caller) async throws -> AssetContent {
        let database = try await database(target, for: .read, by: caller)
        guard database.id == permit.database else { throw ServerError.unknownDownload }
        let storage = try assetStorage()
        let found = try await read(database, zone: .defaultZone) { database, transaction in
            try transaction.asset(permit.asset, of: database)
        }
        let (asset, inline) = try found.get()
        return AssetContent(
            size: asset.size, fileChecksum: asset.fileChecksum, chunks: asset.chunks, inline: inline ?? [],
            key: inline == nil ? try await chunkKey(of: database.id) : [], storage: inline == nil ? storage : nil,
            failed: { [failed, key = database.key] in failed($0.met(in: key, asset.place.zoneName)) })
    }
}

extension ReadTransaction {
    /// An asset that a record has which the caller may read, and the bytes of a small one.
    fileprivate func asset(
        _ id: AssetID, of database: CallerDatabase
    ) throws -> Result<(asset: StoredAsset, inline: [UInt8]?), ServerError> {
        guard let row = try entries(in: database.id, .asset, keys: [id.key]).first else { return .failure(.unknownDownload) }
        let asset = try StoredAsset(row)
        guard let zone = try zones(in: database.id, named: [asset.place.zoneName]).first, zone.address.zone == id.zone,
            let record = try records(in: zone.address, named: [asset.place.recordName]).first
        else { return .failure(.unknownDownload) }
        let stored = StoredRecord(record, in: zone.address, only: FieldNames([asset.place.fieldName]))
        guard stored.isLive, stored.content.fields.assetIDs.contains(id) else { return .failure(.unknownDownload) }
        let showing = database.showing(zoneNamed: zone.name)
        guard showing.shows(stored) else { return .failure(.readNotPermitted) }
        guard asset.chunks.isEmpty else { return .success((asset, nil)) }
        return .success((asset, try entries(in: database.id, .assetBytes, keys: [id.key]).first?.value ?? []))
    }
}

extension ServerError {
    static let unknownDownload = ServerError(
        .notFound, "there is no such asset", native: .assetNotAvailable,
        remedy: "Fetch the record again: its asset was replaced or deleted, or the URL is not as it was answered.")

    static let downloadExpired = ServerError(
        .badRequest, "the URL of the asset has expired", native: .assetNotAvailable,
        remedy: "Fetch the record again: a downloadURL is good for \(Int(Limits.assetDownloadSeconds / 60)) minutes.")
}
