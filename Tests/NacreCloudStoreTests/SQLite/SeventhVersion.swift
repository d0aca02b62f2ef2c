import FoundationEssentials
import NacreCloudContainer
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// Tests of `Fixtures/v7.sqlite`, with the additions of the seventh version of the schema: zones and databases count
/// the bytes of their records. It is never written again: every later version must open it and read this.
///
/// It was made by running this suite with `NACRE_WRITE_FIXTURE` set to an empty folder, and copying `nacre.sqlite`
/// out of it.
@Suite struct SeventhVersion {
    private static func write(to folder: String) async throws {
        let store = try await SQLiteStore.open(folder: folder, options: .inFirstRun)
        try await store.populate([Sample.put("first", 1), Sample.put("gone", 1, isTombstone: true), Sample.put("é", 1, body: [1, 2, 3, 4, 5, 6])])
        await store.close()
    }

    private static func check(_ folder: TemporaryFolder) async throws {
        let store = try await SQLiteStore.open(folder: folder.path, options: .inFirstRun)
        let zone = try await store.read { try $0.zones(in: Sample.database, named: ["Notes"]).first }
        #expect(zone?.bytes == 9)
        #expect(try await store.read { try $0.databases([Sample.database]).first?.bytes } == 9)
        #expect(try await store.feed().map(\.record.name) == ["first", "gone", "é"])
        await store.close()
    }

    @Test func `a file of version 7 is opened and read exactly`() async throws {
        try await Self.check(try TemporaryFolder.fixture("v7.sqlite"))
    }

    /// With `NACRE_WRITE_FIXTURE=FOLDER` the file stays there: how the fixture of a new version is made.
    @Test func `this version writes what the seventh file holds`() async throws {
        let folder = try TemporaryFolder()
        let path = ProcessInfo.processInfo.environment["NACRE_WRITE_FIXTURE"]
        try await Self.write(to: path ?? folder.path)
        if path == nil { try await Self.check(folder) }
    }

    @Test(arguments: 1...6) func `a file of an earlier version is counted when it is opened`(version: Int) async throws {
        guard version != 4 else { return }
        let folder = try TemporaryFolder.fixture("v\(version).sqlite")
        let store = try await SQLiteStore.open(folder: folder.path)
        let (zones, databases) = try await store.read { transaction in
            let zones = try transaction.rows(of: .zones, after: nil, limit: 100).compactMap { row -> ZoneRow? in
                if case .zone(let zone) = row.value { zone } else { nil }
            }
            let databases = try transaction.rows(of: .databases, after: nil, limit: 100).compactMap { row -> DatabaseRow? in
                if case .database(let database) = row.value { database } else { nil }
            }
            for zone in zones {
                #expect(zone.bytes == (zone.state == .live ? try transaction.bytes(of: zone.address) : 0), "\(zone.name)")
            }
            return (zones, databases)
        }
        #expect(zones.contains { $0.bytes > 0 })
        for database in databases {
            #expect(database.bytes == zones.filter { $0.address.database == database.id }.reduce(0) { $0 + $1.bytes })
        }
        await store.close()
        // The statements that count also update the checksums; otherwise the rows could not have been read.
        #expect(try folder.sql("SELECT count(*) FROM zones WHERE checksum IS NOT NULL") != ["0"] || version < 5)
    }
}
