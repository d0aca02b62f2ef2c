import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// The row of an announced file, with which another process goes on where one ended. It holds the file's purpose and
/// the chunks that were missing. Chunks that arrived since are in the storage.
package struct AnnouncedRow: Hashable, Sendable {
    package let key: EntryKey
    package let purpose: AnnouncedUpload.Purpose
    package let missing: [Int]
    package let created: Timestamp

    private static let version: UInt8 = 1

    package init(_ upload: AnnouncedUpload, at now: Timestamp) {
        key = EntryKey(upload.purpose.database, .announcedUpload, upload.id.key)
        (purpose, missing, created) = (upload.purpose, upload.missing, now)
    }

    /// - Throws: `StoreError.corrupt` where the row is not as it was written.
    package init(_ row: EntryRow) throws {
        let damaged = StoreError(.corrupt, "The row of an announced file is not what was written", ["upload": row.key.key])
        key = row.key
        do {
            var reader = ByteReader(row.value)
            guard try reader.byte() == Self.version else { throw damaged }
            created = Timestamp(secondsSince2001: try reader.double())
            let zone = try reader.signed()
            let destination = StoredAsset.Destination(
                zoneName: try reader.string(), recordName: try reader.string(), recordType: try reader.string(),
                fieldName: try reader.string(), sender: try reader.string())
            var chunks: [AssetChunk] = []
            for _ in 0..<(try reader.count()) {
                chunks.append(AssetChunk(name: ChunkName(try reader.block()), size: Int(clamping: try reader.number())))
            }
            purpose = AnnouncedUpload.Purpose(database: row.key.database, zone: zone, destination: destination, chunks: chunks)
            var missing: [Int] = []
            for _ in 0..<(try reader.count()) { missing.append(Int(clamping: try reader.number())) }
            guard missing.allSatisfy(chunks.indices.contains) else { throw damaged }
            self.missing = missing
        } catch {
            throw damaged
        }
    }

    package var row: EntryRow {
        var writer = ByteWriter()
        writer.byte(Self.version)
        writer.double(created.secondsSince2001)
        purpose.write(to: &writer)
        writer.number(UInt64(missing.count))
        for index in missing { writer.number(UInt64(index)) }
        return EntryRow(key: key, value: writer.bytes)
    }

    /// Whether the URL of the upload has expired.
    func isOld(at now: Timestamp) -> Bool { created + Limits.assetGraceSeconds <= now }
}

extension AnnouncedUpload.Purpose {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.signed(zone)
        for text in [destination.zoneName, destination.recordName, destination.recordType, destination.fieldName, destination.sender] {
            writer.string(text)
        }
        writer.number(UInt64(chunks.count))
        for chunk in chunks {
            writer.block(chunk.name.bytes)
            writer.number(UInt64(chunk.size))
        }
    }

    /// Returns the ID of an upload with this purpose.
    /// - Parameter code: returns a code of bytes, 16 bytes at least.
    package func id(_ code: ([UInt8]) -> [UInt8]) -> AnnouncedUploadID {
        var writer = ByteWriter()
        write(to: &writer)
        let code = code(writer.bytes)
        func number(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        return AnnouncedUploadID(high: number(code.prefix(8)), low: number(code.dropFirst(8).prefix(8)))
    }
}

extension Cloud {
    /// Writes the row of a file that begins, and the task that removes it when its URL has expired. The file counts
    /// among its sender's unsaved ones.
    package func note(_ upload: AnnouncedUpload, zone: ZoneRow, of database: CallerDatabase) async throws {
        let row = AnnouncedRow(upload, at: clock()).row
        let task = CollectAssets.task(for: upload.id, of: zone, due: clock() + Limits.assetGraceSeconds)
        try await withLedger(of: upload.purpose.destination.sender, in: database) { account in
            try await stored(of: database.key) {
                try await self.store.write { transaction in
                    var plan = WritePlan(putting: task)
                    let same = try transaction.announced([row.key.key], in: database.id).first
                    try account.add(upload.size, insteadOf: same, to: &plan, transaction)
                    plan.entries.append(row)
                    try transaction.apply(plan)
                    return .commit(())
                }
            }
        }
    }

    /// Returns an announced file that is on its way. One that another process began is read from its row, and the
    /// chunks that it had still count.
    /// - Returns: nil where no row is known, or where a chunk to be reused is gone.
    package func announced(_ id: AnnouncedUploadID, in database: CallerDatabase) async throws -> AnnouncedUpload? {
        if let known = announcedUploads[id] { return known }
        let kept = try await stored(of: database.key) {
            try await self.store.read { try $0.announced([id.key], in: database.id).first }
        }
        guard let kept, !kept.isOld(at: clock()) else { return nil }
        let purpose = kept.purpose
        let missing = Set(kept.missing)
        let upload = try await taking(purpose, in: database) { receiver in
            var seen: Set<ChunkName> = Set(kept.missing.map { purpose.chunks[$0].name })
            let reused = purpose.chunks.indices.filter { !missing.contains($0) && seen.insert(purpose.chunks[$0].name).inserted }
            guard try await self.takenUp(reused, of: purpose, isNamed: true, by: receiver).count == reused.count else { return nil }
            let there = try await self.takenUp(kept.missing, of: purpose, isNamed: false, by: receiver)
            return AnnouncedUpload(
                id: id, purpose: purpose, missing: kept.missing, received: kept.missing.prefix { there.contains($0) }.count, receiver: receiver,
                at: self.clock())
        }
        guard let upload else { return nil }
        if announcedUploads.add(upload) { return upload }
        // Another request added the same upload first.
        await letGo(of: upload.receiver, in: purpose.database)
        return announcedUploads[id]
    }
}

extension ReadTransaction {
    /// Returns the announced files with these keys, as far as they exist.
    package func announced(_ keys: [String], in database: DatabaseID) throws -> [AnnouncedRow] {
        try entries(in: database, .announcedUpload, keys: keys).map { try AnnouncedRow($0) }
    }

    /// Filters the names: keeps the missing chunks of a database's announced files, arrived or not.
    package func announcedChunks(among names: Set<ChunkName>, in database: DatabaseID, paidBy meter: WorkMeter?) throws -> Set<ChunkName> {
        try announcedChunks(in: database, paidBy: meter) { names.contains($0) }
    }

    /// Returns the names of missing chunks of announced files, arrived or not, that begin with this byte.
    package func announcedChunks(withFirst part: UInt8, in database: DatabaseID) throws -> Set<ChunkName> {
        try announcedChunks(in: database, paidBy: nil) { $0.bytes.first == part }
    }

    private func announcedChunks(in database: DatabaseID, paidBy meter: WorkMeter?, where matches: (ChunkName) -> Bool) throws -> Set<ChunkName> {
        var names: Set<ChunkName> = []
        var last = ""
        while true {
            let page = try entries(in: database, .announcedUpload, after: last, limit: Limits.announcedRows)
            meter?.add(bytes: page.reduce(0) { $0 + $1.value.count })
            for row in page {
                // Skip a damaged row: its chunks are sent again.
                guard let announced = try? AnnouncedRow(row) else { continue }
                for index in announced.missing where matches(announced.purpose.chunks[index].name) {
                    names.insert(announced.purpose.chunks[index].name)
                }
            }
            guard let next = page.last?.key.key else { return names }
            last = next
        }
    }
}
