package import NacreCloudWire

/// What became of a part of an announced file.
package enum UploadedPart: Sendable {
    /// So many bytes are there, and more is to come.
    case more(offset: Int64)
    case whole(AssetUploadResponse)
}

/// A part does not begin where the bytes end that are there.
package struct UploadOffsetMismatch: Error, Sendable {
    package var offset: Int64
    package var error: ServerError
}

extension Cloud {
    /// Looks which chunks of an announced file lack, and holds the others ready: read and verified, because what is reused must be whole.
    ///
    /// Costs a call of the store, and a read of what is reused.
    /// - Returns: nil where the file is to be sent as any other: nothing is known about it then.
    func announce(
        _ file: AnnouncedFile, for place: StoredAsset.Place, zone: ZoneRow, of database: CallerDatabase, bytesMax: Int
    ) async throws -> (id: AnnouncedUploadID, awaited: AwaitedFile)? {
        if let fault = AssetShape.fault(of: file, bytesMax: bytesMax) { throw fault }
        for old in announcedUploads.takeOld(at: clock()) { await drop(old) }
        let storage = try assetStorage()
        let key = try await chunkKey(of: database.id)
        let chunks = file.chunks.map { AssetChunk(name: storage.name(ofDigest: $0.digest, under: key), size: $0.size) }
        let purpose = AnnouncedUpload.Purpose(database: database.id, zone: zone.address.zone, place: place, chunks: chunks)
        if let known = announcedUploads[purpose] { return (known.id, AwaitedFile(missing: known.missing, offset: known.offset)) }
        let sender = WaitingUploads.Sender(database: database.id, name: place.sender)
        guard announcedUploads.hasRoom(for: chunks.count, of: sender) else { return nil }
        try await requireRoom(for: file.size, in: database)
        try waitingUploads.take(file.size, for: sender, at: clock())
        let receiver = storage.receiver(under: key)
        var missing: [Int] = []
        do {
            let own = try await chunksToReuse(of: chunks, at: place, in: database)
            var seen: Set<ChunkName> = []
            for (index, chunk) in chunks.enumerated() where seen.insert(chunk.name).inserted {
                let isThere = own.contains(chunk.name) ? try await stored(of: database.key) { try await receiver.takeUp(chunk) } : false
                if isThere { WorkMeter.current?.add(bytes: chunk.size) } else { missing.append(index) }
            }
        } catch {
            await receiver.release()
            waitingUploads.end(file.size, for: sender, with: nil)
            throw error
        }
        let upload = AnnouncedUpload(
            id: AnnouncedUploadID(high: random(), low: random()), purpose: purpose, missing: missing, receiver: receiver, at: clock())
        guard announcedUploads.add(upload) else {
            await drop(upload)
            return nil
        }
        return (upload.id, AwaitedFile(missing: missing, offset: 0))
    }

    /// Those of the chunks that the sender may read already, so that knowing their digests tells nobody what others keep: in a private database what its assets
    /// have, and in a public one what the field has that the file is for.
    private func chunksToReuse(of chunks: [AssetChunk], at place: StoredAsset.Place, in database: CallerDatabase) async throws -> Set<ChunkName> {
        WorkMeter.current?.add(rows: chunks.count / 10)
        let names = Set(chunks.map(\.name))
        if database.key.scope == .private {
            return try await stored(of: database.key) {
                try await self.store.read { transaction in try names.filter { try transaction.isUsed($0, in: database.id) } }
            }
        }
        return try await read(database, zone: ZoneID(zoneName: place.zoneName)) { database, transaction in
            guard let zone = try transaction.zones(in: database.id, named: [place.zoneName]).first,
                let row = try transaction.records(in: zone.address, named: [place.recordName]).first
            else { return [] }
            let record = StoredRecord(row, in: zone.address, only: FieldNames([place.fieldName]))
            guard record.isLive, database.showing(zoneNamed: zone.name).shows(record) else { return [] }
            let keys = record.content.fields.assetIDs.map(\.key)
            let assets = try transaction.entries(in: database.id, .asset, keys: keys).map { try StoredAsset($0) }
            return names.intersection(assets.flatMap { $0.chunks.map(\.name) })
        }
    }

    /// How much of an announced file is there; more may be on its way.
    /// - Throws: `ServerError` where the URL is not one of an announced file, or that is forgotten.
    package func offset(of permit: UploadPermit, by caller: Caller) async throws -> (offset: Int64, isComplete: Bool) {
        let (upload, _) = try await announced(permit, by: caller)
        return (upload.offset, upload.kept != nil)
    }

    private func announced(_ permit: UploadPermit, by caller: Caller) async throws -> (AnnouncedUpload, CallerDatabase) {
        let database = try await database(of: permit, by: caller)
        guard let upload = permit.announced.flatMap({ announcedUploads[$0] }), upload.purpose.database == database.id,
            upload.purpose.place == permit.place
        else { throw ServerError.unknownUpload }
        return (upload, database)
    }

    /// Takes a part of an announced file in: its missing chunks, one behind the other, from `offset` on. What came of a chunk before the connection broke is
    /// dropped. The last part makes the asset.
    /// - Parameters:
    ///   - still: as of `upload`.
    ///   - next: the next bytes of the part; nil at its end.
    package func append(
        _ permit: UploadPermit, by caller: Caller, at offset: Int64, isLast: Bool, still: () async throws -> Void = {},
        next: () async throws -> [UInt8]?
    ) async throws -> UploadedPart {
        let (upload, database) = try await announced(permit, by: caller)
        let (turn, there) = upload.begin(at: clock())
        guard offset == there else { throw UploadOffsetMismatch(offset: there, error: .offsetMismatch(there)) }
        var buffer: [UInt8] = []
        while let piece = try await next() {
            WorkMeter.current?.add(bytes: piece.count)
            buffer += piece
            while let chunk = try upload.next(in: turn), buffer.count >= chunk.size {
                let bytes = Array(buffer.prefix(chunk.size))
                buffer.removeFirst(chunk.size)
                let isRight = try await stored(of: database.key) { try await upload.receiver.add(bytes, as: chunk) }
                guard isRight else { throw ServerError.otherThanAnnounced }
                try upload.advance(in: turn, at: clock())
            }
            if !buffer.isEmpty, try upload.next(in: turn) == nil { throw ServerError.otherThanAnnounced }
        }
        guard buffer.isEmpty else { throw ServerError.otherThanAnnounced }
        guard isLast else { return .more(offset: upload.offset) }
        if let kept = upload.kept { return .whole(AssetUploadResponse(singleFile: try sent(kept, in: database))) }
        guard try upload.next(in: turn) == nil else { throw ServerError.otherThanAnnounced }
        try upload.beginEnding(in: turn)
        do {
            let whole = try await stored(of: database.key) { try await upload.receiver.finish(upload.purpose.chunks) }
            try await still()
            try await requireRoom(for: whole.size, in: database)
            let asset = try await keep(whole, permit, in: database)
            upload.end(with: asset)
            waitingUploads.end(upload.size, for: upload.sender, with: asset)
            await upload.receiver.release()
            return .whole(AssetUploadResponse(singleFile: try sent(asset, in: database)))
        } catch {
            upload.end(with: upload.kept)
            throw error
        }
    }

    /// Lets go of a file that will not come.
    private func drop(_ upload: AnnouncedUpload) async {
        guard upload.kept == nil else { return }
        waitingUploads.end(upload.size, for: upload.sender, with: nil)
        await letGo(of: upload.receiver, in: upload.purpose.database)
    }
}

extension ServerError {
    static let sentElsewhere = ServerError(
        .conflict, "another part of the file is being sent", native: .assetNotAvailable, remedy: "Ask with HEAD how much is there, and go on.")

    static let otherThanAnnounced = ServerError(
        .badRequest, "the bytes are not those that were announced", native: .assetNotAvailable,
        remedy: "Announce the file as it is now: assets/upload.")

    static func offsetMismatch(_ offset: Int64) -> ServerError {
        ServerError(
            .conflict, "the part begins in the wrong place", native: .assetNotAvailable, field: PartHeader.offset,
            remedy: "\(offset) bytes are there: send what comes behind them.")
    }
}
