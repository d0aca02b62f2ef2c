package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// The state of an announced file after a part of it was received.
package enum UploadedPart: Sendable {
    /// `offset` bytes are there, and more are to come.
    case more(offset: Int64)
    case whole(AssetUploadResponse)
}

/// A part does not begin at the end of the bytes that are there.
package struct UploadOffsetMismatch: Error, Sendable {
    package var offset: Int64
    package var error: ServerError
}

extension Cloud {
    /// Finds the missing chunks of an announced file, and holds the others ready. Reused chunks are read and verified,
    /// because they must be whole.
    ///
    /// Costs a call of the store, and a read of the reused chunks.
    /// - Returns: nil where the file has to be sent without an announcement: nothing is kept about it then.
    package func announce(
        _ file: AnnouncedFile, at place: UploadPlace, zone: ZoneRow, of database: CallerDatabase
    ) async throws -> (id: AnnouncedUploadID, awaited: AwaitedFile)? {
        if let fault = AssetShape.fault(of: file, at: place) { throw fault }
        let destination = place.destination
        for old in announcedUploads.takeOld(at: clock()) { await drop(old) }
        let storage = try assetStorage()
        let key = try await chunkKey(of: database.id)
        let chunks = file.chunks.map { AssetChunk(name: storage.name(ofDigest: $0.digest, under: key), size: $0.size) }
        let purpose = AnnouncedUpload.Purpose(database: database.id, zone: zone.address.zone, destination: destination, chunks: chunks)
        let id = purpose.id { tokens.code(for: $0, key: key) }
        if let known = try await announced(id, in: database) {
            return (known.id, AwaitedFile(missing: known.missing, offset: await known.settledOffset()))
        }
        let room = try await fileRoom(of: destination.sender, in: database)
        let sender = IncomingFiles.Sender(database: database.id, name: destination.sender)
        try incomingFiles.take(purpose.size, for: sender, within: room)
        // Once its row is written, the file counts in the store.
        defer { incomingFiles.end(purpose.size, for: sender) }
        let upload = try await taking(purpose, in: database) { receiver in
            let own = try await self.chunksToReuse(of: chunks, at: destination, in: database)
            var seen: Set<ChunkName> = []
            let first = chunks.indices.filter { seen.insert(chunks[$0].name).inserted }
            let there = try await self.takenUp(first.filter { own.contains(chunks[$0].name) }, of: purpose, isNamed: true, by: receiver)
            return AnnouncedUpload(
                id: id, purpose: purpose, missing: first.filter { !there.contains($0) }, receiver: receiver, at: self.clock())
        }
        guard let upload else { return nil }
        do {
            try await note(upload, zone: zone, of: database)
        } catch {
            await letGo(of: upload.receiver, in: upload.purpose.database)
            throw error
        }
        guard announcedUploads.add(upload) else {
            // Another request announced the same file at the same moment.
            await letGo(of: upload.receiver, in: upload.purpose.database)
            return announcedUploads[id].map { ($0.id, AwaitedFile(missing: $0.missing, offset: $0.offset)) }
        }
        return (id, AwaitedFile(missing: upload.missing, offset: 0))
    }

    /// Begins to receive an announced file, where there is room for it.
    /// - Parameter body: makes the upload with the receiver; nil where it cannot.
    /// - Returns: nil where its sender has announced too much, or where `body` made none.
    package func taking(
        _ purpose: AnnouncedUpload.Purpose, in database: CallerDatabase, _ body: (any AssetReceiver) async throws -> AnnouncedUpload?
    ) async throws -> AnnouncedUpload? {
        let sender = IncomingFiles.Sender(database: database.id, name: purpose.destination.sender)
        guard announcedUploads.hasRoom(for: purpose.chunks.count, of: sender) else { return nil }
        let receiver = try assetStorage().receiver(under: try await chunkKey(of: database.id))
        do {
            if let upload = try await body(receiver) { return upload }
        } catch {
            await receiver.release()
            throw error
        }
        await receiver.release()
        return nil
    }

    /// Takes up a file's chunks that are there and whole, `Limits.announcedReadsAtOnce` at a time.
    /// - Returns: their indices in the file.
    func takenUp(
        _ places: [Int], of purpose: AnnouncedUpload.Purpose, isNamed: Bool, by receiver: any AssetReceiver
    ) async throws -> Set<Int> {
        let meter = WorkMeter.current
        return try await stored(of: nil) {
            try await withThrowingTaskGroup(of: (Int, Bool).self) { group in
                var (rest, there) = (places[...], Set<Int>())
                func begin() {
                    guard let index = rest.popFirst() else { return }
                    group.addTask { (index, try await receiver.takeUp(purpose.chunks[index], isNamed: isNamed)) }
                }
                for _ in 0..<Limits.announcedReadsAtOnce { begin() }
                for try await (index, isThere) in group {
                    if isThere {
                        there.insert(index)
                        meter?.add(bytes: purpose.chunks[index].size)
                    }
                    begin()
                }
                return there
            }
        }
    }

    /// Returns the chunks that the sender may read already: their digests then tell a sender nothing about the files of
    /// others. In the sender's private database these are the chunks of all its assets. In a public database or a
    /// shared zone they are those of the field that the file is for.
    private func chunksToReuse(of chunks: [AssetChunk], at destination: StoredAsset.Destination, in database: CallerDatabase) async throws -> Set<
        ChunkName
    > {
        WorkMeter.current?.add(rows: chunks.count / 10)
        let names = Set(chunks.map(\.name))
        if database.key.scope == .private, !database.isOthers {
            return try await stored(of: database.key) {
                try await self.store.read { transaction in try names.filter { try transaction.isUsed($0, in: database.id) } }
            }
        }
        return try await read(database, zone: ZoneID(zoneName: destination.zoneName)) { database, transaction in
            guard let zone = try transaction.zones(in: database.id, named: [destination.zoneName]).first,
                let row = try transaction.records(in: zone.address, named: [destination.recordName]).first
            else { return [] }
            let record = StoredRecord(row, in: zone.address, only: FieldNames([destination.fieldName]))
            let found = try database.zone(database.key.zoneID(zone.name)).resolve(zone, transaction)
            guard record.isLive, found?.showing.shows(record) == true else { return [] }
            let keys = record.content.fields.assetIDs.map(\.key)
            let assets = try transaction.entries(in: database.id, .asset, keys: keys).map { try StoredAsset($0) }
            return names.intersection(assets.flatMap { $0.chunks.map(\.name) })
        }
    }

    /// Returns how much of an announced file is there, including the bytes of a broken connection. More may be on its
    /// way over another.
    /// - Throws: `ServerError` where the URL is not one of an announced file, or the file is forgotten.
    package func offset(of permit: UploadPermit, by caller: Caller) async throws -> (offset: Int64, isComplete: Bool) {
        let (upload, _) = try await announced(permit, by: caller)
        return (await upload.settledOffset(), upload.kept != nil)
    }

    private func announced(_ permit: UploadPermit, by caller: Caller) async throws -> (AnnouncedUpload, CallerDatabase) {
        let database = try await database(of: permit, by: caller)
        guard let id = permit.announced, let upload = try await announced(id, in: database), upload.purpose.database == database.id,
            upload.purpose.destination == permit.place.destination
        else { throw ServerError.unknownUpload }
        return (upload, database)
    }

    /// Receives a part of an announced file: its missing chunks, one behind the other, from `offset` on. A chunk that
    /// is incomplete when the connection breaks is dropped. The last part makes the asset.
    /// - Parameters:
    ///   - still: as in `upload`.
    ///   - next: the next bytes of the part; nil at its end.
    package func append(
        _ permit: UploadPermit, by caller: Caller, at offset: Int64, isLast: Bool, still: () async throws -> Void = {},
        next: () async throws -> [UInt8]?
    ) async throws -> UploadedPart {
        let (upload, database) = try await announced(permit, by: caller)
        // A client with a wrong offset must not disturb the client that sends.
        try Self.require(offset, is: await upload.settledOffset())
        let (turn, there) = await upload.begin(at: clock())
        try Self.require(offset, is: there)
        var buffer: [UInt8] = []
        while let piece = try await next() {
            WorkMeter.current?.add(bytes: piece.count)
            buffer += piece
            while let chunk = try upload.next(in: turn), buffer.count >= chunk.size {
                let bytes = Array(buffer.prefix(chunk.size))
                buffer.removeFirst(chunk.size)
                let isRight = try await upload.keep(in: turn, at: clock()) {
                    try await stored(of: database.key) { try await upload.receiver.add(bytes, as: chunk) }
                }
                guard isRight else { throw ServerError.otherThanAnnounced }
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
            let asset = try await keep(whole, at: permit.place, insteadOf: permit.announced, in: database)
            upload.end(with: asset)
            await upload.receiver.release()
            return .whole(AssetUploadResponse(singleFile: try sent(asset, in: database)))
        } catch {
            upload.end(with: upload.kept)
            if error as? ServerError == .chunkRemoved {
                // The file has to be announced anew: this upload takes its chunks for kept.
                announcedUploads.remove(upload)
                await letGo(of: upload.receiver, in: database.id)
            }
            throw error
        }
    }

    private static func require(_ offset: Int64, is there: Int64) throws(UploadOffsetMismatch) {
        guard offset == there else { throw UploadOffsetMismatch(offset: there, error: .offsetMismatch(there)) }
    }

    /// Forgets a file that will not come. If that fails, its task forgets it later.
    private func drop(_ upload: AnnouncedUpload) async {
        guard upload.kept == nil else { return }
        let database = upload.purpose.database
        try? await store.write { transaction in
            guard let row = try transaction.announced([upload.id.key], in: database).first else { return .rollback(()) }
            var plan = WritePlan()
            try plan.removeUnsaved([(row.purpose.size, row.created)], of: row.purpose.destination.sender, in: database, transaction)
            plan.entriesRemoved.append(row.key)
            try transaction.apply(plan)
            return .commit(())
        }
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
