import FoundationEssentials
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto
import Testing

/// Tests of `Fixtures/v1-cloud.sqlite`: a small cloud of the first version, with a value of every kind. It is never
/// written again: every later version must open it and give the first one's answers.
///
/// The file was made by running this suite with `NACRE_WRITE_FIXTURE` set to an empty folder, and copying
/// `cloud/nacre.sqlite` out of it.
@Suite struct FirstCloud {
    private static let names = ["all", "child", "gone", "parent"]

    private static let values: RecordFields = [
        "string": .string("Ein Wort, 日本語, e\u{301}"), "int": .int64(.min), "double": .double(0.1), "bytes": .bytes([0, 255]),
        "when": .timestamp(Timestamp(secondsSince2001: 800_000_000.123_456_7)),
        "place": .location(Location(latitude: 52.52, longitude: 13.405, altitude: 34, timestamp: Timestamp(secondsSince2001: 1))),
        "link": .reference(Reference(recordName: "parent", action: .none)), "strings": .stringList(["a", ""]), "ints": .int64List([1, -1]),
        "doubles": .doubleList([.pi]), "whens": .timestampList([Timestamp(secondsSince2001: -0.5)]), "blocks": .bytesList([[1], []]),
        "places": .locationList([Location(latitude: 0, longitude: 0)]), "links": .referenceList([Reference(recordName: "x", action: .none)]),
        "sealed": .sealed(SealedValue(type: .string, keyID: ManifestBytes.keyID(in: "Notes"), bytes: [9, 8, 7])),
    ]

    private static func write(to test: TestCloud) async throws {
        let ann = test.user("_ann")
        try await ann.makeZone("Notes")
        try await ann.makeScope(in: "Notes")
        var all = RecordOperation.create("all", values)
        all.change.manifest = RecordChange.Manifest(bytes: ManifestBytes(in: "Notes", stamp: 1, ["sealed": [9, 8, 7]]).written { SHA256.digest($0) })
        try await ann.modify([.create("parent", ["n": .int64(1)]), .create("gone"), all], zone: "Notes", id: "operation")
        test.clock.move(bySeconds: 60)
        try await ann.modify([.create("child", parent: "parent"), .delete("gone")], zone: "Notes", token: [1, 2, 3])
        try await test.user("_bob", in: .public).modify([.create("hello", values.only(["string", "int"]))])
    }

    /// Returns a reader's answers, without tokens, which each server seals anew, and without manifests and names of
    /// scopes' keys, which the first version did not know.
    private static func answers(of test: TestCloud) async throws -> [RecordResult] {
        let ann = test.user("_ann")
        let page = try await ann.changes("Notes")
        #expect(page.clientChangeToken == [1, 2, 3] && !page.moreComing)
        #expect(try await ann.databaseChanges().zones.map(\.zoneID.zoneName) == ["Notes"])
        return try await (ann.lookup(names, zone: "Notes") + page.records + test.world().lookup(["hello"])).map { result in
            guard case .record(var record) = result else { return result }
            record.manifest = nil
            if case .sealed(var value)? = record.fields["sealed"] {
                value.keyID = "k"
                record.fields["sealed"] = .sealed(value)
            }
            return .record(record)
        }
    }

    @Test func `a cloud of version 1 is answered as it was`() async throws {
        let folder = try TemporaryFolder.fixture("v1-cloud.sqlite")
        let store = try await SQLiteStore.open(folder: folder.path, options: .inFirstRun)
        let old = TestCloud(store, seed: 2)
        let fresh = TestCloud(MemoryStore())
        try await Self.write(to: fresh)
        #expect(try await Self.answers(of: old) == Self.answers(of: fresh))
        // The old file goes on: a save over the old version's tag, and the feed from there.
        let all = try #require(try await old.user("_ann").lookup(["all"], zone: "Notes").first?.record)
        #expect(all.fields.count == Self.values.count && all.recordChangeTag == "1")
        let saved = try await old.user("_ann").modify([.make(.update, "all", tag: "1", ["int": .int64(7)])], zone: "Notes")
        #expect(saved.first?.record?.fields["int"] == .int64(7))
        let query = Query(recordType: all.recordType, filters: [QueryFilter(.equals, fieldName: "int", value: .int64(7))])
        let ann = old.user("_ann")
        let found = try await ann.cloud.queryRecords(
            RecordsQueryRequest(query: query, zoneID: ZoneID(zoneName: "Notes")), in: ann.target, by: ann.caller)
        #expect(found.records.map(\.fields) == saved.compactMap(\.record?.fields))
        await store.close()
    }

    /// With `NACRE_WRITE_FIXTURE=FOLDER` the file stays there: how the fixture of a new version is made.
    @Test func `this version keeps what the first one kept`() async throws {
        let folder = try TemporaryFolder()
        let store = try await SQLiteStore.open(
            folder: ProcessInfo.processInfo.environment["NACRE_WRITE_FIXTURE"].map { $0 + "/cloud" } ?? folder.path, options: .inFirstRun)
        let test = TestCloud(store)
        try await Self.write(to: test)
        let answers = try await Self.answers(of: test)
        #expect(answers.compactMap(\.record).map(\.recordName) == ["all", "child", "parent", "all", "child", "parent", "hello"])
        await store.close()
    }
}
