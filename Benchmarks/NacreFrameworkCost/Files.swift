import CloudKit
import Foundation

/// Saves or fetches a large file of a record, and measures the memory above rest.
struct Files {
    private static let pieceBytes = 1 << 20
    private let recordID: CKRecord.ID
    private let database: CKDatabase

    init(_ zone: CKRecordZone.ID, of database: CKDatabase) {
        recordID = CKRecord.ID(recordName: "large-file", zoneID: zone)
        self.database = database
    }

    /// Saves a file of `count` bytes.
    /// - Returns: Megabytes of memory above rest.
    func upload(_ count: Int) async throws -> Double {
        let url = FileManager.default.temporaryDirectory.appending(path: "large-file")
        try write(count, to: url)
        // A first save opens the connection and makes one-time allocations.
        _ = try await database.modifyRecords(
            saving: [CKRecord(recordType: "Small", recordID: CKRecord.ID(recordName: UUID().uuidString, zoneID: recordID.zoneID))], deleting: [])
        let record = CKRecord(recordType: "Large", recordID: recordID)
        record["file"] = CKAsset(fileURL: url)
        return try await measured {
            let results = try await database.modifyRecords(saving: [record], deleting: [], savePolicy: .allKeys).saveResults
            for (_, result) in results { _ = try result.get() }
        }
    }

    func download(_ count: Int) async throws -> Double {
        _ = try? await database.record(for: CKRecord.ID(recordName: "nobody", zoneID: recordID.zoneID))
        return try await measured {
            let asset = try await database.record(for: recordID)["file"] as? CKAsset
            let size = try asset?.fileURL.map { try FileManager.default.attributesOfItem(atPath: $0.path)[.size] as? Int }
            guard size == .some(.some(count)) else { throw CocoaError(.fileReadCorruptFile) }
        }
    }

    private func measured(_ work: () async throws -> Void) async throws -> Double {
        // Resets the kernel's peak value.
        try Data("5".utf8).write(to: URL(filePath: "/proc/self/clear_refs"))
        let rest = try megabytes("VmRSS:")
        try await work()
        return try megabytes("VmHWM:") - rest
    }

    private func megabytes(_ key: String) throws -> Double {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix(key) }
        return (line?.split(separator: " ").dropFirst().first { Int($0) != nil }.flatMap { Double($0) } ?? 0) * 1024 / 1e6
    }

    private func write(_ count: Int, to url: URL) throws {
        try Data().write(to: url)
        let handle = try FileHandle(forWritingTo: url)
        var (state, left) = (UInt64.random(in: .min ... .max), count)
        while left > 0 {
            let piece = [UInt64](unsafeUninitializedCapacity: Self.pieceBytes / 8) { buffer, initialized in
                for index in 0..<Self.pieceBytes / 8 {
                    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    buffer.initializeElement(at: index, to: state ^ state >> 29)
                }
                initialized = Self.pieceBytes / 8
            }
            try handle.write(contentsOf: piece.withUnsafeBytes { Data($0.prefix(left)) })
            left -= min(left, Self.pieceBytes)
        }
        try handle.close()
    }
}
