package import NacreCloudAccounts
import NacreCloudStorage
package import NacreCloudWire

extension Cloud {
    /// `assets/rereference`: copies assets of records, for a save into any field of the same zone. No byte is sent or
    /// copied: the new assets have the chunks of the old ones.
    ///
    /// Costs two calls of the store, and one for each `Limits.announcedRows` assets: the work of the copies is known
    /// before any is made. CloudKit: one bad item fails the request.
    package func rereferenceAssets(
        _ request: AssetsRereferenceRequest, in target: DatabaseTarget, by caller: Caller
    ) async throws -> AssetsRereferenceResponse {
        let database = try await database(holding: request.zoneID, target, for: .write, by: caller)
        guard let sender = caller.userRecordName else { throw caller.noUser }
        if let fault = AssetShape.fault(of: request, by: caller) { throw fault }
        let patience = Patience.endless.paid(by: .current)
        let found = try await read(database, zone: request.zoneID) { database, transaction in
            try transaction.assets(request, of: database, patience)
        }
        let (ids, work) = try found.get()
        if ids.isEmpty { return AssetsRereferenceResponse(assets: []) }
        WorkMeter.current?.add(rows: work.files + work.chunks, bytes: work.bytes)
        let (zoneName, now) = (request.zoneID.zoneName, clock())
        let copies = ids.map { ($0, AssetID(zone: $0.zone, random(), random())) }
        let made = try await withLedger(of: sender, in: database) { account in
            try await stored(of: database.key, zone: request.zoneID) {
                try await self.store.write { transaction in
                    let lock = try transaction.lock(zoneNamed: zoneName, in: database.id)
                    guard let zone = lock.zone else { throw ServerError.zoneNotFound(request.zoneID) }
                    let assets = try transaction.copies(copies, in: zone, sender: sender, at: now)
                    var plan = WritePlan(putting: assets, in: zone, at: now)
                    try account.add(assets.reduce(0) { $0 + $1.asset.size }, to: &plan, transaction)
                    try transaction.apply(plan)
                    return .commit(assets.map(\.asset))
                }
            }
        }
        return AssetsRereferenceResponse(assets: try made.map { try sent($0, in: database) })
    }
}

/// The rows and bytes of the store that copies of assets take.
struct CopyWork: Equatable, Sendable {
    package private(set) var files = 0
    /// Chunks of the copies, each of which is a row.
    package private(set) var chunks = 0
    /// Bytes of small files, which are kept in rows.
    package private(set) var bytes = 0
    /// The copy is a single file, with no more chunks than a file of its size can have.
    private var isOneFile = false

    package mutating func add(_ asset: StoredAsset) {
        files += 1
        chunks += asset.chunks.count
        if asset.chunks.isEmpty { bytes += Int(clamping: asset.size) }
        isOneFile = files == 1 && asset.size >= Int64(asset.chunks.count - 1) * Int64(ContentCutter.leastBytes)
    }

    var isTooMuch: Bool { bytes > Limits.bytesCopied || chunks > Limits.chunksCopied && !isOneFile }
}

extension ReadTransaction {
    /// Returns the assets of the fields that a request names, in its order, and the work of their copies.
    fileprivate func assets(
        _ request: AssetsRereferenceRequest, of database: CallerDatabase, _ patience: Patience
    ) throws -> Result<([AssetID], CopyWork), ServerError> {
        guard let zone = try database.zone(request.zoneID).find(self) else { return .failure(.zoneNotFound(request.zoneID)) }
        guard zone.membership.mayWrite else { return .failure(.writeNotPermitted) }
        let fields = FieldNames(request.assets.map(\.fieldName))
        var records: [String: StoredRecord] = [:]
        var (patience, left) = (patience, Limits.unansweredBytes)
        try eachPortion(of: Array(Set(request.assets.map(\.recordName))), in: zone.address, &patience) { rows in
            for row in rows { records[row.name] = StoredRecord(row, in: zone.address, only: fields) }
            left -= rows.bodyBytes
            if left < 0 { throw ServerError.looksAtTooMuch }
        }
        var ids: [AssetID] = []
        for item in request.assets {
            guard let record = records[item.recordName], record.isLive else { return .failure(.recordNotFound) }
            if case .refuse(let fault) = zone.showing.rule.verdict(on: record, of: database.key, by: database.caller) { return .failure(fault) }
            let assets = record.content.fields[item.fieldName]?.assets ?? []
            if assets.isEmpty { return .failure(.noAssetThere(item.fieldName)) }
            ids += assets.compactMap { $0.receipt.flatMap(AssetID.init(key:)) }
            if ids.count > Limits.assetsPerRequest { return .failure(.tooManyAssets("assets")) }
        }
        let work = try work(copying: ids, in: zone.address.database)
        return work.isTooMuch ? .failure(.copiesTooMuch) : .success((ids, work))
    }

    /// Counts the work of copies, some assets at a time, and stops once it is too much.
    private func work(copying ids: [AssetID], in database: DatabaseID) throws -> CopyWork {
        var work = CopyWork()
        for start in stride(from: 0, to: ids.count, by: Limits.announcedRows) where !work.isTooMuch {
            let keys = ids[start..<min(start + Limits.announcedRows, ids.count)].map(\.key)
            for row in try entries(in: database, .asset, keys: keys) { work.add(try StoredAsset(row)) }
        }
        return work
    }

    /// Returns the copies of assets, for any field of the zone.
    /// - Parameter ids: the IDs of assets that exist, each with the ID of its copy.
    fileprivate func copies(
        _ ids: [(from: AssetID, to: AssetID)], in zone: ZoneRow, sender: String, at now: Timestamp
    ) throws -> [(asset: StoredAsset, inline: [UInt8]?)] {
        let database = zone.address.database
        let keys = ids.map(\.from.key)
        let rows = try entries(in: database, .asset, keys: keys).map { try StoredAsset($0) }
        let stored = Dictionary(rows.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        let small = rows.filter(\.chunks.isEmpty).map(\.id.key)
        let bytes = Dictionary(
            try entries(in: database, .assetBytes, keys: small).map { ($0.key.key, $0.value) }, uniquingKeysWith: { first, _ in first })
        return try ids.map { from, to in
            guard var asset = stored[from], to.zone == zone.address.zone else { throw ServerError.unknownDownload }
            asset.id = to
            asset.destination = StoredAsset.Destination(zoneName: zone.name, recordName: "", recordType: "", fieldName: "", sender: sender)
            (asset.created, asset.used) = (now, nil)
            return (asset, asset.chunks.isEmpty ? bytes[from.key] ?? [] : nil)
        }
    }
}

extension ServerError {
    static func noAssetThere(_ field: String) -> ServerError {
        ServerError(
            .badRequest, "field has no asset", internalCode: 2006, field: field,
            remedy: "Name a field of type ASSETID or ASSETID_LIST that has a value.")
    }

    static let copiesTooMuch = ServerError(
        .badRequest, "the files have more than \(Limits.chunksCopied) chunks, or small ones more than \(Limits.bytesCopied) bytes",
        native: .limitExceeded, internalCode: 2023, field: "assets", remedy: "Split the request in halves and send both.")

    static func tooManyAssets(_ field: String) -> ServerError {
        ServerError(
            .badRequest, "request has more than \(Limits.assetsPerRequest) assets", native: .limitExceeded, internalCode: 2023, field: field,
            remedy: "Split the request in halves and send both.")
    }
}
