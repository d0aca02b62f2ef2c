package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire
import NacreLocks

extension Cloud {
    /// `assets/upload`: returns the URLs to which files for fields of one zone's records are sent. Costs a call of the
    /// store.
    /// - Throws: `ServerError` for the request as a whole, as CloudKit does.
    package func requestUploads(
        _ request: AssetsUploadRequest, in target: DatabaseTarget, by caller: Caller
    ) async throws -> AssetsUploadResponse {
        let (database, zone, places) = try await places(of: request, in: target, by: caller)
        guard let credential = caller.credential else { throw caller.noUser }
        let expires = clock() + Limits.assetUploadSeconds
        // Only one file of a request is announced, because its reused chunks are read. Its record must be named: files
        // of equal bytes and fields are told apart by their records.
        let announced = request.tokens.firstIndex { $0.file != nil && $0.recordName != nil }
        var tokens: [AssetsUploadResponse.Token] = []
        for (index, item) in request.tokens.enumerated() {
            var permit = UploadPermit(place: places[index], credential: credential, expires: expires)
            var awaited: AwaitedFile?
            if index == announced, let file = item.file,
                let found = try await announce(
                    file, at: places[index], zone: zone, of: database)
            {
                (permit.announced, awaited) = (found.id, found.awaited)
                // The URL is good for as long as the server may know of the file.
                permit.expires = clock() + Limits.assetGraceSeconds
            }
            tokens.append(
                AssetsUploadResponse.Token(
                    recordName: item.recordName ?? uuid(), fieldName: item.fieldName, url: try assetLinks.upload(permit), awaited: awaited))
        }
        return AssetsUploadResponse(tokens: tokens)
    }

    /// Checks a request for uploads.
    /// - Returns: the places of its files, in their order, with their database and zone.
    private func places(
        of request: AssetsUploadRequest, in target: DatabaseTarget, by caller: Caller
    ) async throws -> (database: CallerDatabase, zone: ZoneRow, places: [UploadPlace]) {
        let database = try await database(holding: request.zoneID, target, for: .write, by: caller)
        guard let sender = caller.userRecordName else { throw caller.noUser }
        if let fault = AssetShape.fault(of: request, by: caller) { throw fault }
        WorkMeter.current?.add(rows: request.tokens.count)
        let zone = try await zone(request.zoneID, of: database)
        let places = request.tokens.map { item in
            UploadPlace(
                database: database.key, zone: zone.address.zone,
                destination: StoredAsset.Destination(
                    zoneName: request.zoneID.zoneName, recordName: item.recordName ?? "", recordType: item.recordType, fieldName: item.fieldName,
                    sender: sender),
                bytesMax: bounds.assetSizes.largest(for: caller.client))
        }
        return (database, zone, places)
    }

    /// Receives a file for a field of a record without a URL. Costs what `requestUploads` and `upload(_:)` cost.
    /// - Parameters: as of `upload(_:)`.
    package func upload(
        for item: AssetsUploadRequest.Item, in zoneID: ZoneID, of target: DatabaseTarget, by caller: Caller, length: Int?,
        next: () async throws -> [UInt8]?
    ) async throws -> AssetUploadResponse {
        let (database, _, places) = try await places(of: AssetsUploadRequest(tokens: [item], zoneID: zoneID), in: target, by: caller)
        return try await receive(at: places[0], in: database, length: length, next: next)
    }

    /// Opens the text of an upload's URL.
    /// - Throws: `ServerError` where the server did not make the text, or its time is over.
    package func uploadPermit(_ text: String) throws(ServerError) -> UploadPermit {
        guard let permit = assetLinks.tokens.uploadPermit(text) else { throw .unknownUpload }
        guard clock() < permit.expires else { throw .uploadExpired }
        return permit
    }

    /// Receives a file. It exists once its bytes and its row are on the disk, and no part of it does before.
    ///
    /// Costs a write of the file, and one call of the store.
    /// - Parameters:
    ///   - caller: the one to whom the permit's credential belongs now.
    ///   - length: bytes of the file; nil: its sender does not say.
    ///   - still: called once the bytes are there; throws where the caller's session has ended meanwhile.
    ///   - next: the next bytes of the file; nil at its end.
    package func upload(
        _ permit: UploadPermit, by caller: Caller, length: Int? = nil, still: () async throws -> Void = {}, next: () async throws -> [UInt8]?
    ) async throws -> AssetUploadResponse {
        guard permit.announced == nil else { throw ServerError.announcedUpload }
        return try await receive(at: permit.place, in: try await database(of: permit, by: caller), length: length, still: still, next: next)
    }

    private func receive(
        at place: UploadPlace, in database: CallerDatabase, length: Int?, still: () async throws -> Void = {}, next: () async throws -> [UInt8]?
    ) async throws -> AssetUploadResponse {
        if let length, length > place.bytesTaken { throw ServerError.assetTooLarge(place.bytesMax) }
        let room = try await fileRoom(of: place.destination.sender, in: database)
        let sender = IncomingFiles.Sender(database: database.id, name: place.destination.sender)
        var taken = Int64(length ?? 0)
        try incomingFiles.take(taken, for: sender, within: room)
        defer { incomingFiles.end(taken, for: sender) }
        let storage = try assetStorage()
        let receiver = storage.receiver(under: try await chunkKey(of: database.id))
        do {
            var size: Int64 = 0
            while let piece = try await next() {
                size += Int64(piece.count)
                if size > Int64(place.bytesTaken) { throw ServerError.assetTooLarge(place.bytesMax) }
                if size > taken {
                    try incomingFiles.take(size - taken, for: sender, within: room)
                    taken = size
                }
                WorkMeter.current?.add(bytes: piece.count)
                try await stored(of: database.key) { try await receiver.add(piece) }
            }
            let whole = try await stored(of: database.key) { try await receiver.finish() }
            try await still()
            let kept = try await keep(whole, at: place, in: database)
            await receiver.release()
            return AssetUploadResponse(singleFile: try sent(kept, in: database))
        } catch {
            await letGo(of: receiver, in: database.id)
            throw error
        }
    }

    /// Returns the database that an upload is for, where its sender is the one that asked for it.
    package func database(of permit: UploadPermit, by caller: Caller) async throws -> CallerDatabase {
        let (key, destination) = (permit.place.database, permit.place.destination)
        guard let sender = caller.userRecordName, sender == destination.sender else { throw ServerError.unknownUpload }
        // A zone that is shared with the sender is in another user's database.
        let isOthers = key.scope == .private && key.owner != sender
        let target = DatabaseTarget(container: key.container, environment: key.environment, scope: isOthers ? .shared : key.scope)
        let zoneID = key.zoneID(destination.zoneName)
        let database = try await database(holding: zoneID, target, for: .write, by: caller)
        guard database.key == key else { throw ServerError.unknownUpload }
        if isOthers { _ = try await zone(zoneID, of: database) }
        return database
    }

    /// Releases a receiver and removes its chunks that no row names. A commit may have written rows without an answer:
    /// the chunks that these name stay.
    func letGo(of receiver: any AssetReceiver, in database: DatabaseID) async {
        let names = await receiver.release()
        if !names.isEmpty { try? await remove(names, from: database) }
    }

    /// Removes the chunks that no asset has and no announced file waits for.
    package func remove(_ names: [ChunkName], from database: DatabaseID) async throws {
        if assets == nil { return }
        let meter = WorkMeter.current
        try await removeChunks(names) { names in
            try await self.store.read { transaction in
                meter?.add(rows: names.count)
                return Set(try names.filter { try transaction.isUsed($0, in: database) })
                    .union(try transaction.announcedChunks(among: Set(names), in: database, paidBy: meter))
            }
        }
    }

    /// Writes the rows of a new asset, which counts among its sender's unsaved files from then on.
    /// - Parameter announced: the announced file that it was; nil: it was not announced.
    /// - Throws: `ServerError.chunkRemoved` where another server has removed a chunk since it came. No row stays then.
    package func keep(
        _ received: ReceivedAsset, at place: UploadPlace, insteadOf announced: AnnouncedUploadID? = nil, in database: CallerDatabase
    ) async throws -> StoredAsset {
        let (zoneName, now) = (place.destination.zoneName, clock())
        let asset = StoredAsset(
            id: AssetID(zone: place.zone, random(), random()), destination: place.destination, created: now, used: nil, size: received.size,
            checksum: received.checksum, chunks: received.chunks)
        WorkMeter.current?.add(rows: asset.chunks.count)
        let zoneID = database.key.zoneID(zoneName)
        try await withLedger(of: place.destination.sender, in: database) { account in
            try await stored(of: database.key, zone: zoneID) {
                try await self.store.write { transaction -> Ending<Void> in
                    let advance = try transaction.lock(zoneNamed: zoneName, in: database.id)
                    guard let zone = advance.zone, asset.id.zone == zone.address.zone else { throw ServerError.zoneNotFound(zoneID) }
                    var plan = WritePlan(putting: [(asset, received.inline)], in: zone, at: now)
                    let announced = try announced.flatMap { try transaction.announced([$0.key], in: database.id).first }
                    try account.add(asset.size, insteadOf: announced, to: &plan, transaction)
                    if let announced { plan.entriesRemoved.append(announced.key) }
                    try transaction.apply(plan)
                    return .commit(())
                }
            }
        }
        do {
            guard try await stored(of: database.key, zone: zoneID, { try await self.isWhole(asset, in: database.id) }) else {
                throw ServerError.chunkRemoved
            }
        } catch {
            // If this fails too, the asset is collected: its sender has no receipt for it.
            try? await takeBack(asset, from: database.id)
            throw error
        }
        return asset
    }

    /// Removes the rows of an asset whose sender has not heard of it.
    private func takeBack(_ asset: StoredAsset, from database: DatabaseID) async throws {
        try await store.write { transaction in
            _ = try transaction.lock(zoneNamed: asset.destination.zoneName, in: database)
            guard try !transaction.entries(in: database, .asset, keys: [asset.id.key]).isEmpty else { return .rollback(()) }
            var plan = WritePlan()
            plan.remove(asset, in: database)
            try plan.removeUnsaved([(asset.size, asset.created)], of: asset.destination.sender, in: database, transaction)
            try transaction.apply(plan)
            return .commit(())
        }
    }

    /// Returns an asset as its sender gets it, to save it. CloudKit: in a private database it has a key and a second
    /// checksum, which mean nothing to clients. On this server neither opens anything.
    package func sent(_ asset: StoredAsset, in database: CallerDatabase) throws -> Asset {
        let receipt = try assetLinks.tokens.text(of: AssetReceipt(database: database.id, asset: asset.id))
        var sent = Asset(fileChecksum: asset.fileChecksum, size: asset.size, receipt: receipt)
        guard database.key.scope != .public else { return sent }
        let code = tokens.code(for: Array(asset.id.key.utf8), key: asset.checksum)
        sent.wrappingKey = Base64.encode(Array(code.prefix(16)))
        sent.referenceChecksum = Base64.encode([1] + tokens.code(for: code, key: asset.checksum).prefix(20))
        return sent
    }

    /// Returns the row of a zone that exists and in which the caller may write.
    package func zone(_ zoneID: ZoneID, of database: CallerDatabase) async throws -> ZoneRow {
        let named = try database.zone(zoneID)
        return try await stored(of: database.key, zone: zoneID) {
            try await self.store.read { transaction in
                guard let zone = try named.find(transaction) else { throw ServerError.zoneNotFound(zoneID) }
                guard zone.membership.mayWrite else { throw ServerError.writeNotPermitted }
                return zone.row
            }
        }
    }

    /// - Throws: where this cloud keeps no files.
    func assetStorage() throws(ServerError) -> any AssetStorage {
        guard let assets else { throw .noAssetStorage }
        return assets
    }

    /// Returns the key under which the chunks of a database are named. The server's own key is made with its first
    /// asset.
    package func chunkKey(of database: DatabaseID) async throws -> [UInt8] {
        let known = knownChunkKey.withLock { $0 }
        let key: [UInt8]
        if let known { key = known } else { key = try await registry.chunkKey() }
        if known == nil { knownChunkKey.withLock { $0 = key } }
        return tokens.code(for: database.chunkKeyMessage, key: key)
    }
}

extension Registry {
    /// Returns the name of these data among all that may keep assets in one bucket: 64 hexadecimal digits, the same for
    /// every copy of the data.
    package func assetOwner(_ code: (_ message: [UInt8], _ key: [UInt8]) -> [UInt8]) async throws -> String {
        HexText.encode(code(Array("whose assets these are".utf8), try await chunkKey()))
    }

    /// Returns the key of this server under which chunks are named.
    package func chunkKey() async throws -> [UInt8] { try await serverKey(.chunkKey) }
}

/// Checks of requests about assets before anything is looked up.
enum AssetShape {
    package static func fault(of request: AssetsUploadRequest, by caller: Caller) -> ServerError? {
        if let fault = RequestShape.fault(count: request.tokens.count, field: "tokens", by: caller) { return fault }
        for item in request.tokens {
            if let name = item.recordName,
                let fault = Names.recordNameFault(name, field: "recordName", mayBeUser: request.zoneID.isDefault)
            {
                return fault
            }
            if let fault = Names.recordTypeFault(item.recordType) ?? Names.fieldNameFault(item.fieldName) { return fault }
        }
        return nil
    }

    static func fault(of file: AnnouncedFile, at place: UploadPlace) -> ServerError? {
        if file.chunks.count > Limits.announcedChunks { return .badChunks("there are more than \(Limits.announcedChunks)") }
        if file.chunks.contains(where: { !(1...ContentCutter.mostBytes).contains($0.size) || $0.digest.count != 32 }) {
            return .badChunks("a size is not 1 to \(ContentCutter.mostBytes), or a digest not of 32 bytes")
        }
        if Set(file.chunks.map(\.digest)).count < Set(file.chunks).count { return .badChunks("one digest has two sizes") }
        if file.chunks.dropLast().contains(where: { $0.size < ContentCutter.leastBytes }) {
            return .badChunks("a chunk before the last is smaller than \(ContentCutter.leastBytes) bytes")
        }
        if file.size < AnnouncedFile.bytesMin { return .badChunks("the file is smaller than \(AnnouncedFile.bytesMin) bytes") }
        return file.size > Int64(place.bytesTaken) ? .assetTooLarge(place.bytesMax) : nil
    }

    package static func fault(of request: AssetsRereferenceRequest, by caller: Caller) -> ServerError? {
        if let fault = RequestShape.fault(count: request.assets.count, field: "assets", by: caller) { return fault }
        if Set(request.assets).count < request.assets.count { return .repeatedName(field: "assets") }
        return request.assets.lazy.compactMap { Names.fieldNameFault($0.fieldName) }.first
    }
}

extension ServerError {
    static let unknownUpload = ServerError(
        .notFound, "there is no such upload", native: .assetNotAvailable, remedy: "Send the bytes to a URL as assets/upload answered it.")

    package static let announcedUpload = ServerError(
        .badRequest, "the URL is for a file that was announced", native: .assetNotAvailable,
        remedy: "Send what lacks of it with PATCH, or ask assets/upload without its chunks.")

    static func badChunks(_ what: String) -> ServerError {
        ServerError(
            .badRequest, "the chunks of a file cannot be announced so: \(what)", field: "nacre.chunks", remedy: "Send the file with one POST.")
    }

    static let uploadExpired = ServerError(
        .badRequest, "the URL of the upload has expired", native: .assetNotAvailable,
        remedy: "Ask assets/upload again: a URL is good for \(Int(Limits.assetUploadSeconds / 60)) minutes.")

    static func assetTooLarge(_ limit: Int) -> ServerError {
        ServerError(
            .badRequest, "asset is larger than \(limit) bytes", native: .limitExceeded, internalCode: 2023,
            remedy: "Divide the file among several fields or records.")
    }

    static let noAssetStorage = ServerError(.badRequest, "this server keeps no assets", native: .serverRejectedRequest)
}
