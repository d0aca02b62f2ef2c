import Foundation
import NacreCloudContainer
import NacreCloudStore
import NacreCloudTasks
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// Tests with a broken index of SQLite's own while every row is sound: lookups may find another row, or none.
@Suite struct BrokenIndex {
    /// Makes a cloud in which one letter of a name is wrong in the index by which records are found.
    private static func broken() async throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        let store = try await SQLiteStore.open(folder: folder.path)
        let ann = TestCloud(store).user("_ann")
        try await ann.makeZone("Notes")
        for index in 10..<30 { try await ann.modify([.create("record\(index)", ["n": .int64(1)])], zone: "Notes") }
        await store.close()
        let root = try #require(
            try folder.sql("SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_records_1'").first.flatMap { Int($0) })
        let url = URL(fileURLWithPath: folder.path + "/nacre.sqlite")
        var data = try Data(contentsOf: url)
        let page = (root - 1) * 4096..<root * 4096
        let name = try #require(data.range(of: Data("record17".utf8), in: page))
        data[name.lowerBound + 6] ^= 4
        try data.write(to: url)
        return folder
    }

    private static func rows(_ folder: TemporaryFolder) throws -> [String] {
        try folder.sql("SELECT name || ' ' || hex(body) FROM records NOT INDEXED ORDER BY id")
    }

    @Test func `a repair takes no sound record for lost`() async throws {
        let folder = try await Self.broken()
        let before = try Self.rows(folder)
        let store = try await SQLiteStore.open(folder: folder.path)
        let test = TestCloud(store)
        for mode in [CheckMode.look, .repair, .removeLost] {
            let findings = try await test.check(mode)
            #expect(findings.contains { $0.outcome == .beyondRepair } && !findings.contains { $0.outcome == .mended }, "\(mode)")
        }
        await store.close()
        #expect(try Self.rows(folder) == before)
    }

    @Test func `it is no whole backup`() async throws {
        let folder = try await Self.broken()
        let order = BackupOrder(path: folder.path + "/a.backup", folder: folder.path, nacre: "0")
        #expect(throws: (any Error).self) { try FolderBackup.create(order, BackupControl()) }
        #expect(!FileManager.default.fileExists(atPath: order.path))
    }
}
