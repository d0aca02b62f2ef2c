package import NacreCloudWire

extension Cloud {
    /// `assets/rereference`: gives assets that records have as they can be saved into any field of the same zone. No byte is sent or copied: the new
    /// assets have the chunks of the old ones.
    ///
    /// Costs two calls of the store. CloudKit: one bad item fails the request.
    package func rereferenceAssets(
        _ request: AssetsRereferenceRequest, in target: DatabaseTarget, by caller: Caller
    ) async throws -> AssetsRereferenceResponse {
        let database = try await database(holding: request.zoneID, target, for: .write, by: caller)
        guard let sender = caller.userRecordName else { throw caller.noUser }
        if let fault = AssetShape.fault(of: request, by: caller) { throw fault }
        let found = try await read(database, zone: request.zoneID) { database, transaction in
            try transaction.assets(request, of: database)
        }
        let ids = try found.get()
        WorkMeter.current?.add(rows: ids.count)
        let (zoneName, now) = (request.zoneID.zoneName, clock())
        let copies = ids.map { ($0, AssetID(zone: $0.zone, random(), random())) }
        let made = try await stored(of: database.key, zone: request.zoneID) {
            try await self.store.write { transaction in
                let lock = try transaction.lock(zoneNamed: zoneName, in: database.id)
                guard let zone = lock.zone else { throw ServerError.zoneNotFound(request.zoneID) }
                let assets = try transaction.copies(copies, in: zone, sender: sender, at: now)
                try transaction.apply(WritePlan(putting: assets, in: zone, at: now))
                return .commit(assets.map(\.asset))
            }
        }
        return AssetsRereferenceResponse(assets: try made.map { try sent($0, in: database) })
    }
}

extension ReadTransaction {
    /// The assets of the fields that a request names, in its order.
    fileprivate func assets(
        _ request: AssetsRereferenceRequest, of database: CallerDatabase
    ) throws -> Result<[AssetID], ServerError> {
        guard let zone = try database.zone(request.zoneID).find(self) else { return .failure(.zoneNotFound(request.zoneID)) }
        guard zone.seat.mayWrite else { return .failure(.writeNotPermitted) }
        let fields = FieldNames(request.assets.map(\.fieldName))
        var records: [String: StoredRecord] = [:]
        try eachPortion(of: Array(Set(request.assets.map(\.recordName))), in: zone.address) { rows in
            for row in rows { records[row.name] = StoredRecord(row, in: zone.address, only: fields) }
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
        return .success(ids)
    }

    /// - Parameter ids: of assets that are there, each with that of its copy.
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
            asset.place = StoredAsset.Place(zoneName: zone.name, recordName: "", recordType: "", fieldName: "", sender: sender)
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

    static func tooManyAssets(_ field: String) -> ServerError {
        ServerError(
            .badRequest, "request has more than \(Limits.assetsPerRequest) assets", native: .limitExceeded, internalCode: 2023, field: field,
            remedy: "Split the request in halves and send both.")
    }
}
