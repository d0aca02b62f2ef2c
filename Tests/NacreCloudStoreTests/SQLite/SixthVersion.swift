import FoundationEssentials
import NacreCloudContainer
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// Tests of `Fixtures/v6.sqlite`, with the additions of the sixth version of the schema: the indexes of a zone. It is
/// never written again: every later version must open it and read this.
///
/// It was made by running this suite with `NACRE_WRITE_FIXTURE` set to an empty folder, and copying `nacre.sqlite`
/// out of it.
@Suite struct SixthVersion {
    private static func write(to folder: String) async throws {
        let store = try await SQLiteStore.open(folder: folder, options: .inFirstRun)
        try await store.populate([Sample.put("first", 1)])
        try await store.apply(WritePlan(\.zoneChanges, [ZoneChange(Sample.zone, clientChangeToken: [7], indexesBelow: 12)]))
        await store.close()
    }

    private static func check(_ folder: TemporaryFolder) async throws {
        let store = try await SQLiteStore.open(folder: folder.path, options: .inFirstRun)
        let zone = try await store.read { try $0.zones(in: Sample.database, named: ["Notes"]).first }
        #expect(zone?.indexesBelow == 12 && zone?.clientChangeToken == [7])
        #expect(try await store.feed().map(\.record) == [Sample.put("first", 1).row])
        await store.close()
    }

    @Test func `a file of version 6 is opened and read exactly`() async throws {
        try await Self.check(try TemporaryFolder.fixture("v6.sqlite"))
    }

    /// With `NACRE_WRITE_FIXTURE=FOLDER` the file stays there: how the fixture of a new version is made.
    @Test func `this version writes what the sixth file holds`() async throws {
        let folder = try TemporaryFolder()
        let path = ProcessInfo.processInfo.environment["NACRE_WRITE_FIXTURE"]
        try await Self.write(to: path ?? folder.path)
        if path == nil { try await Self.check(folder) }
    }

    @Test func `a zone of an older file says of no index that it has it`() async throws {
        let folder = try TemporaryFolder.fixture("v5.sqlite")
        let store = try await SQLiteStore.open(folder: folder.path)
        #expect(try await store.read { try $0.zones(in: Sample.database, named: ["Notes"]) }.map(\.indexesBelow) == [0])
        await store.close()
    }
}
