import Foundation
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of the files beside backups, which are deleted with them.
struct AssetBackupTests {
    private let manager = FileManager.default

    @Test func `chunks go with the last backup that needs them, and not while one is made or cannot be read`() async throws {
        let folder = try TemporaryFolder()
        let store = try await SQLiteStore.open(folder: folder.path + "/data")
        let files = try await AssetFiles.open(folder: folder.path + "/data/assets")
        let scene = try await AssetCloud(store: store, storage: files)
        let backups = folder.path + "/backups"
        func backUp(_ name: String) async throws {
            let control = BackupControl()
            try await AssetBackup.sharing(files, with: backups + "/assets", control)
            _ = try await store.backUp(BackupOrder(path: "\(backups)/\(name)", folder: folder.path + "/data", nacre: "1"), control)
            #expect(hasAll(backups, name))
        }
        try manager.createDirectory(atPath: backups, withIntermediateDirectories: true)
        let (old, shared) = (someBytes(400_000, seed: 21), someBytes(400_000, seed: 22))
        _ = try await scene.save(.asset(try await scene.upload(old, "old")), in: "old")
        _ = try await scene.save(.asset(try await scene.upload(shared, "shared")), in: "shared")
        try await backUp("one")
        let both = try count(backups)
        // Pruning removes no needed file.
        #expect(try AssetBackup.prune(besides: backups) == 0)
        try await scene.ada.modify([.delete("old")], zone: "Z")
        try await scene.wait(Limits.assetGraceSeconds + 1)
        try await backUp("two")
        #expect(try AssetBackup.prune(besides: backups) == 0)
        #expect(try count(backups) == both)
        // A backup in progress may need any file.
        try manager.removeItem(atPath: backups + "/one")
        try Data("x".utf8).write(to: URL(filePath: backups + "/three.part"))
        #expect(try AssetBackup.prune(besides: backups) == 0)
        try manager.removeItem(atPath: backups + "/three.part")
        // Another file beside them is no backup.
        try Data("x".utf8).write(to: URL(filePath: backups + "/notes.txt"))
        let gone = try AssetBackup.prune(besides: backups)
        let left = try count(backups)
        #expect(gone > 0 && left == both - gone)
        #expect(hasAll(backups, "two"))
        #expect(try AssetBackup.prune(besides: backups) == 0)
        await files.close()
        await store.close()
    }

    /// Returns whether each chunk that a backup needs is beside it. Names are not compared with bytes: the keys of
    /// this cloud are a test's.
    private func hasAll(_ backups: String, _ name: String) -> Bool {
        do {
            try AssetBackup.look("\(backups)/\(name)", BackupControl()).requireWhole()
            return true
        } catch {
            return "\(error)".contains(" 0 are missing")
        }
    }

    private func count(_ backups: String) throws -> Int {
        let parts = try manager.contentsOfDirectory(atPath: backups + "/assets").filter { $0.utf8.count == 2 }
        return try parts.reduce(0) { try $0 + manager.contentsOfDirectory(atPath: "\(backups)/assets/\($1)").count }
    }
}
