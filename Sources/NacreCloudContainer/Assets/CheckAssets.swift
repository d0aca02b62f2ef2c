import NacreCloudStorage
import NacreCloudWire

extension Cloud {
    /// Looks for lost files in one part of the chunks. Compares the chunks that assets have with the storage, by name
    /// and size, and reads none.
    ///
    /// Costs a listing of the part, a row for each use of its chunks, and a row for each asset that has one of them.
    package func checkAssets(in part: UInt8) async throws -> AssetSlice {
        var slice = AssetSlice(next: part < .max ? .part(part + 1) : nil)
        let prefix = HexText.encode([part])
        // Rows first: a chunk is kept before rows name it, and a later listing has it.
        let keys = try await stored {
            try await self.store.eachDatabase { database, transaction in
                (database, Set(try transaction.chunkUses(withPrefix: prefix, in: database).map(\.asset)).sorted())
            }
        }
        guard keys.contains(where: { !$0.1.isEmpty }) else { return slice }
        let listed = try await stored { try await self.assetStorage().chunks(in: part) }
        let sizes = Dictionary(listed.map { ($0.name, $0.size) }) { first, _ in first }
        for (database, keys) in keys {
            for start in stride(from: 0, to: keys.count, by: Limits.checkRows) {
                let some = Array(keys[start..<min(start + Limits.checkRows, keys.count)])
                // An asset that was removed since is not found, and its chunks are not judged.
                let (assets, name) = try await stored {
                    try await self.store.read { transaction in
                        let assets = try transaction.entries(in: database, .asset, keys: some).map { try StoredAsset($0) }
                        return (assets, try transaction.databases([database]).first?.key.text ?? String(database.rawValue))
                    }
                }
                for asset in assets { slice.add(asset, of: name, part, sizes) }
            }
        }
        return slice
    }
}

extension AssetSlice {
    /// Notes the chunks of a part that an asset lacks, or has in another size.
    fileprivate mutating func add(_ asset: StoredAsset, of database: String, _ part: UInt8, _ sizes: [ChunkName: Int]) {
        for chunk in Set(asset.chunks) where chunk.name.bytes.first == part {
            chunks += 1
            bytes += Int64(chunk.size)
            let size = sizes[chunk.name]
            guard size != chunk.size else { continue }
            findings.append(
                AssetFinding(
                    kind: size == nil ? .missing : .damaged, database: database, zone: asset.destination.zoneName,
                    record: asset.destination.recordName,
                    field: asset.destination.fieldName, chunk: chunk.name.text, bytes: Int64(chunk.size)))
        }
    }
}
