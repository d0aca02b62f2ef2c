package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire
import NacreLocks

/// A file in a field of a record.
package struct AssetPlace: Hashable, Sendable {
    package var zoneID: ZoneID
    package var recordName: String
    package var fieldName: String
    /// The file's place in a list of files, from 0 on.
    package var index: Int

    package init(zoneID: ZoneID, recordName: String, fieldName: String, index: Int = 0) {
        (self.zoneID, self.recordName, self.fieldName, self.index) = (zoneID, recordName, fieldName, index)
    }
}

/// The bytes of an asset that its caller may read.
package struct AssetContent: Sendable {
    package let size: Int64
    /// The checksum of the bytes, which is the same for the same bytes of one database.
    package let fileChecksum: String
    fileprivate let chunks: [AssetChunk]
    fileprivate let inline: [UInt8]
    fileprivate let key: [UInt8]
    fileprivate let storage: any AssetStorage
    /// Logs bytes that cannot be read, and returns the client's error.
    fileprivate let failed: @Sendable (StoreError) -> ServerError

    /// The most bytes in memory while one chunk goes out and the next is read.
    package var bytesInMemory: Int {
        let pairs = zip(chunks, chunks.dropFirst()).map { $0.size + $1.size }
        return pairs.max() ?? Int(clamping: size)
    }

    /// Returns a reader of the bytes of a range, in order.
    /// - Parameter mayBeResident: pieces may be files to be sent from the kernel's memory; otherwise all bytes are
    ///   verified.
    package func reader(of range: Range<Int64>, mayBeResident: Bool = false) -> AssetReader { AssetReader(self, range, mayBeResident) }
}

/// The next piece of an asset.
package enum AssetPiece: Sendable {
    /// The bytes of a chunk at most, verified.
    case bytes([UInt8])
    /// Chunks that were right a short while ago with the wanted bytes of each, and the range of the asset that they
    /// make.
    case resident([(chunk: ResidentChunk, bytes: Range<Int>)], Range<Int64>)

    package var count: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .resident(_, let range): range.count
        }
    }
}

/// Reads a range of an asset's bytes, a piece at a time. One call at a time.
package final class AssetReader: Sendable {
    /// The wanted bytes of a chunk, or of a small file, which has none.
    private struct Part: Sendable {
        var chunk: AssetChunk?
        var bytes: Range<Int>
    }

    /// The most chunks that go out together without being read here. Their files are open meanwhile.
    private static let residentTogether = 4

    private let content: AssetContent
    private let parts: [Part]
    private let mayBeResident: Bool
    private let state: Locked<(next: Int, place: Int64, ahead: AssetPiece?)>

    fileprivate init(_ content: AssetContent, _ range: Range<Int64>, _ mayBeResident: Bool) {
        self.content = content
        self.mayBeResident = mayBeResident
        let range = range.clamped(to: 0..<content.size)
        state = Locked((next: 0, place: range.lowerBound, ahead: nil))
        let isInline = content.chunks.isEmpty
        var start: Int64 = 0
        parts = (isInline ? [AssetChunk(name: ChunkName([]), size: Int(content.size))] : content.chunks).compactMap { chunk in
            let wanted = range.clamped(to: start..<start + Int64(chunk.size))
            let bytes = Int(wanted.lowerBound - start)..<Int(wanted.upperBound - start)
            start += Int64(chunk.size)
            return wanted.isEmpty ? nil : Part(chunk: isInline ? nil : chunk, bytes: bytes)
        }
    }

    /// Reads the first piece ahead: its error is known before an answer begins.
    /// - Throws: as `next`.
    package func begin() async throws {
        let first = try await next()
        state.withLock { $0.ahead = first }
    }

    /// Returns the next bytes; nil at the end of the range. Each chunk that is read here is read once, and verified
    /// whole.
    /// - Throws: `ServerError` in place of bytes that are not as they were sent, or cannot be read now. The log is
    ///   told.
    package func next() async throws -> AssetPiece? {
        let (ahead, wanted, place) = state.withLock { state -> (AssetPiece?, ArraySlice<Part>, Int64) in
            if let ahead = state.ahead {
                state.ahead = nil
                return (ahead, [], 0)
            }
            return (nil, parts[state.next...].prefix(mayBeResident ? Self.residentTogether : 1), state.place)
        }
        guard let part = wanted.first else { return ahead }
        guard let chunk = part.chunk else {
            pass(wanted.prefix(1))
            return .bytes(Array(content.inline[part.bytes]))
        }
        if mayBeResident {
            let files = await content.storage.resident(wanted.compactMap(\.chunk))
            if !files.isEmpty {
                let sent = zip(files, wanted).map { (chunk: $0, bytes: $1.bytes) }
                return .resident(sent, place..<place + pass(wanted.prefix(files.count)))
            }
        }
        do {
            let bytes = try await content.storage.chunk(chunk, under: content.key)
            pass(wanted.prefix(1))
            return .bytes(part.bytes.count == bytes.count ? bytes : Array(bytes[part.bytes]))
        } catch let error as StoreError {
            throw content.failed(error)
        }
    }

    /// Moves behind these parts.
    /// - Returns: the number of their bytes.
    @discardableResult
    private func pass(_ parts: ArraySlice<Part>) -> Int64 {
        let count = parts.reduce(Int64(0)) { $0 + Int64($1.bytes.count) }
        state.withLock { state in
            state.next += parts.count
            state.place += count
        }
        return count
    }
}

extension Cloud {
    /// Opens the text of a download's URL.
    /// - Throws: `ServerError` where the server did not make the text, or its time is over.
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

    /// Returns the bytes of an asset, for a caller who may read the record that has it now. Costs one call of the
    /// store, two in a public database.
    /// - Parameter caller: the one to whom the permit's credential belongs now.
    /// - Throws: `ServerError` where the asset is gone or damaged, or the caller may not read it.
    package func content(of permit: DownloadPermit, in target: DatabaseTarget, by caller: Caller) async throws -> AssetContent {
        let database = try await database(of: permit, in: target, by: caller)
        return try await content(in: database, zone: .defaultZone) { _, _ in permit.asset }
    }

    /// Returns the bytes of a record's file, for a caller who may read the record. Costs a call of the store more than
    /// a download by URL.
    /// - Throws: `ServerError` where the record or the file does not exist or is damaged, or the caller may not read
    ///   it.
    package func content(at place: AssetPlace, in target: DatabaseTarget, by caller: Caller) async throws -> AssetContent {
        let database = try await database(holding: place.zoneID, target, for: .read, by: caller)
        return try await content(in: database, zone: place.zoneID) { try $1.asset(at: place, of: $0) }
    }

    /// Returns the bytes of the asset that `find` names, on the snapshot that is asked who may read it.
    private func content(
        in database: CallerDatabase, zone: ZoneID, _ find: @escaping @Sendable (CallerDatabase, any ReadTransaction) throws -> AssetID
    ) async throws -> AssetContent {
        let storage = try assetStorage()
        let (id, found) = try await read(database, zone: zone) { database, transaction in
            let id = try find(database, transaction)
            return (id, try transaction.asset(id, of: database))
        }
        switch found {
        case .refused(let fault): throw fault
        case .damaged(let error, let place): throw damaged(error, at: place, of: id, in: database.key)
        case .there(let asset, let inline):
            // The bytes are read after the request's own task, and their errors count as the request's.
            let meter = WorkMeter.current
            return AssetContent(
                size: asset.size, fileChecksum: asset.fileChecksum, chunks: asset.chunks, inline: inline,
                key: asset.chunks.isEmpty ? [] : try await chunkKey(of: database.id), storage: storage,
                failed: { error in
                    WorkMeter.$current.withValue(meter) { self.damaged(error, at: asset.destination, of: asset.id, in: database.key) }
                })
        }
    }

    /// Returns the database that a download is from: the caller's own, the public one, or one whose zone is shared with
    /// the caller.
    private func database(of permit: DownloadPermit, in target: DatabaseTarget, by caller: Caller) async throws -> CallerDatabase {
        let own = try await database(target, for: .read, by: caller)
        if own.id == permit.database { return own }
        guard target.scope == .private, let key = try await stored({ try await self.store.read { try $0.databases([permit.database]).first?.key } })
        else { throw ServerError.unknownDownload }
        var shared = target
        shared.scope = .shared
        let others = try await database(holding: key.zoneID(ZoneID.defaultZoneName), shared, for: .read, by: caller)
        guard others.id == permit.database else { throw ServerError.unknownDownload }
        return others
    }

    /// Logs bytes that cannot be read.
    /// - Returns: the client's error.
    private func damaged(_ error: StoreError, at place: StoredAsset.Destination?, of asset: AssetID, in key: DatabaseKey) -> ServerError {
        var met = error.met(in: key, place?.zoneName)
        met.values["asset"] = asset.key
        met.values["recordName"] = place?.recordName
        met.values["field"] = place?.fieldName
        failed(met)
        if error.isMissingChunk { return .assetLost(place?.fieldName) }
        return error.code == .corrupt ? .assetDamaged(place?.fieldName) : ServerError(error)
    }
}

/// The result of a look for an asset.
private enum FoundAsset: Sendable {
    /// The asset, with its bytes if it is small.
    case there(StoredAsset, inline: [UInt8])
    case refused(ServerError)
    /// The error, with the asset's destination as far as that can be read.
    case damaged(StoreError, StoredAsset.Destination?)
}

extension ReadTransaction {
    /// Finds the asset in a field of a record that the caller may read.
    /// - Throws: the error that a lookup of the record has; `NOT_FOUND` where the field has no such file.
    fileprivate func asset(at place: AssetPlace, of database: CallerDatabase) throws -> AssetID {
        guard let zone = try database.zone(place.zoneID).find(self), let row = try records(in: zone.address, named: [place.recordName]).first
        else { throw ServerError.recordNotFound }
        let record = StoredRecord(row, in: zone.address, only: FieldNames([place.fieldName]))
        if case .failure(_, let fault) = zone.showing.result(record, named: place.recordName, keys: [place.fieldName]) { throw fault }
        let assets = record.content.fields[place.fieldName]?.assets ?? []
        guard assets.indices.contains(place.index), let id = assets[place.index].receipt.flatMap(AssetID.init(key:)) else {
            throw ServerError.noFile(place.fieldName)
        }
        return id
    }

    /// Finds an asset of a record that the caller may read.
    fileprivate func asset(_ id: AssetID, of database: CallerDatabase) throws -> FoundAsset {
        let asset: StoredAsset
        do {
            guard let row = try entries(in: database.id, .asset, keys: [id.key]).first else { return .refused(.unknownDownload) }
            asset = try StoredAsset(row)
        } catch let error as StoreError where error.code == .corrupt {
            return .damaged(error, nil)
        }
        guard let zone = try zones(in: database.id, named: [asset.destination.zoneName]).first, zone.address.zone == id.zone,
            let record = try records(in: zone.address, named: [asset.destination.recordName]).first
        else { return .refused(.unknownDownload) }
        let stored = StoredRecord(record, in: zone.address, only: FieldNames([asset.destination.fieldName]))
        guard stored.isLive, stored.content.fields.assetIDs.contains(id) else { return .refused(.unknownDownload) }
        let showing: ShownRecords
        do {
            guard let found = try database.zone(database.key.zoneID(zone.name)).resolve(zone, self) else { return .refused(.unknownDownload) }
            showing = found.showing
        } catch let fault as ServerError where fault.code == .zoneNotFound {
            return .refused(.unknownDownload)
        }
        // A guest does not learn that an asset outside the shared records still exists.
        guard showing.shows(stored) else { return .refused(showing.rule.views == nil ? .readNotPermitted : .unknownDownload) }
        guard asset.chunks.isEmpty else { return .there(asset, inline: []) }
        do {
            let bytes = try entries(in: database.id, .assetBytes, keys: [id.key]).first?.value
            guard let bytes, Int64(bytes.count) == asset.size else { throw StoreError(.corrupt, "The bytes of a small asset are missing") }
            return .there(asset, inline: bytes)
        } catch let error as StoreError where error.code == .corrupt {
            return .damaged(error, asset.destination)
        }
    }
}

extension ServerError {
    static func noFile(_ field: String) -> ServerError {
        ServerError(
            .notFound, "the record has no such file", native: .assetNotAvailable, field: field,
            remedy: "Name a field with a file; in a list of files, index counts from 0 on.")
    }

    static let unknownDownload = ServerError(
        .notFound, "there is no such asset", native: .assetNotAvailable,
        remedy: "Fetch the record again: its asset was replaced or deleted, or the URL is not as it was answered.")

    /// - Parameter field: the asset's field; nil where it is unknown.
    static func assetDamaged(_ field: String?) -> ServerError {
        ServerError(
            .internalError, "asset is damaged on the server", native: .assetNotAvailable, field: field,
            remedy: "Save the file again in its field, or clear the field. The administrator: nacre assets verify.")
    }

    /// - Parameter field: the asset's field; nil where it is unknown.
    static func assetLost(_ field: String?) -> ServerError {
        ServerError(
            .notFound, "the file of the asset is lost on the server", native: .assetNotAvailable, field: field,
            remedy: "Save the file again in its field, or clear the field. The administrator: nacre check names each file that is lost.")
    }

    static let downloadExpired = ServerError(
        .badRequest, "the URL of the asset has expired", native: .assetNotAvailable,
        remedy: "Fetch the record again: a downloadURL is good for \(Int(Limits.assetDownloadSeconds / 60)) minutes.")
}
