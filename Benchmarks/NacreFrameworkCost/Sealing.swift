import CloudKit
import Foundation

/// Saves and fetches records with plain or with encrypted values, and files.
struct Sealing {
    private static let fields = ["title", "body", "author", "count"]
    private static let fileBytes = 10_000_000
    /// Bytes from one mark of a file to the next: less than a chunk.
    private static let markEvery = 16_384

    private struct Misuse: Error {}
    /// A record that came back without a value.
    private struct Missing: Error {}

    let zone: CKRecordZone.ID
    let database: CKDatabase

    init(_ zone: CKRecordZone.ID, of database: CKDatabase) {
        self.zone = zone
        self.database = database
    }

    /// Does one work.
    /// - Returns: the number of records.
    func run(_ work: String, _ count: Int, per size: Int) async throws -> Int {
        switch work {
        case "save-plain": try await save(count, per: size, isSealed: false)
        case "save-sealed": try await save(count, per: size, isSealed: true)
        case "fetch-plain": try await fetch(count, per: size, isSealed: false)
        case "fetch-sealed": try await fetch(count, per: size, isSealed: true)
        case "files-up": try await upload(count)
        case "files-down": try await download(count)
        default: throw Misuse()
        }
    }

    private func recordID(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zone) }

    private func save(_ count: Int, per size: Int, isSealed: Bool) async throws -> Int {
        var saved = 0
        while saved < count {
            let records = (saved..<min(saved + size, count)).map { number in
                let record = CKRecord(recordType: isSealed ? "Sealed" : "Plain", recordID: recordID("record-\(number)"))
                for field in Self.fields {
                    let value = "\(field) of \(number): the quick brown fox jumps over the lazy dog"
                    if isSealed { record.encryptedValues[field] = value } else { record[field] = value }
                }
                return record
            }
            let results = try await database.modifyRecords(saving: records, deleting: [], savePolicy: .ifServerRecordUnchanged, atomically: true)
            for (_, result) in results.saveResults { _ = try result.get() }
            saved += results.saveResults.count
        }
        return saved
    }

    private func fetch(_ count: Int, per size: Int, isSealed: Bool) async throws -> Int {
        var fetched = 0
        while fetched < count {
            let ids = (fetched..<min(fetched + size, count)).map { recordID("record-\($0)") }
            let results = try await database.records(for: ids)
            for (_, result) in results {
                let record = try result.get()
                for field in Self.fields where (isSealed ? record.encryptedValues[field] : record[field]) as? String == nil { throw Missing() }
            }
            fetched += results.count
        }
        return fetched
    }

    private func upload(_ count: Int) async throws -> Int {
        let url = FileManager.default.temporaryDirectory.appending(path: "file-to-seal")
        defer { try? FileManager.default.removeItem(at: url) }
        guard let source = FileHandle(forReadingAtPath: "/dev/urandom"), var bytes = try source.read(upToCount: Self.fileBytes) else {
            throw Missing()
        }
        for number in 0..<count {
            // No two files share a chunk.
            for place in stride(from: 0, to: bytes.count, by: Self.markEvery) { bytes[place] = UInt8(truncatingIfNeeded: number) }
            try bytes.write(to: url)
            let record = CKRecord(recordType: "File", recordID: recordID("file-\(number)"))
            record["file"] = CKAsset(fileURL: url)
            let results = try await database.modifyRecords(saving: [record], deleting: [], savePolicy: .allKeys)
            for (_, result) in results.saveResults { _ = try result.get() }
        }
        return count
    }

    private func download(_ count: Int) async throws -> Int {
        for number in 0..<count {
            let asset = try await database.record(for: recordID("file-\(number)"))["file"] as? CKAsset
            guard let url = asset?.fileURL else { throw Missing() }
            guard try FileManager.default.attributesOfItem(atPath: url.path)[.size] as? Int == Self.fileBytes else { throw Missing() }
            try FileManager.default.removeItem(at: url)
        }
        return count
    }
}
