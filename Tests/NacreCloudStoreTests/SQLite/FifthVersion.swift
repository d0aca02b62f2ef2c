import FoundationEssentials
import NacreCloudContainer
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// Tests of `Fixtures/v5.sqlite`, with the additions of the fourth and fifth version of the schema: runs and their
/// ends, callers of logged operations, links of strangers, checksums. It is never written again: every later version
/// must open it and read this.
///
/// It was made by running this suite with `NACRE_WRITE_FIXTURE` set to an empty folder, and copying `nacre.sqlite`
/// out of it.
@Suite struct FifthVersion {
    private static let runs: [Int64] = [5 << 32 | 7, 6 << 32 | 1]
    private static let operation = OperationRow(
        database: Sample.database, id: "_ann/1", caller: "_ann", digest: [1], result: [2], expires: Timestamp(secondsSince2001: 9.5))
    private static let entry = EntryRow(key: EntryKey(Sample.database, .user, "é"), value: [0, 255], expires: Timestamp(secondsSince2001: 1))

    private static func options(run: Int64) -> SQLiteOptions {
        var options = SQLiteOptions()
        options.drawRun = { _ in run }
        return options
    }

    /// Writes a change in each of two runs, after changes without a run.
    private static func write(to folder: String) async throws {
        for (place, run) in runs.enumerated() {
            let store = try await SQLiteStore.open(folder: folder, options: options(run: run))
            if place == 0 {
                var first = Sample.put("first", 1)
                first.linked = [.deleteSelf, .validate, .othersDeleteSelf].map { ReferenceLink(target: "target", kind: $0) }
                try await store.populate([first])
                var plan = WritePlan()
                plan.operations = [operation]
                plan.entries = [entry]
                try await store.apply(plan)
            }
            try await store.write { transaction in
                _ = try transaction.advance(zoneNamed: "Notes", in: Sample.database, operation: nil)
                try transaction.apply(WritePlan(\.zonesChanged, [Sample.zone]))
                return .commit(())
            }
            await store.close()
        }
    }

    private static func check(_ folder: TemporaryFolder) async throws {
        #expect(try folder.sql("SELECT run FROM runs") == ["\(runs[1])"])
        let store = try await SQLiteStore.open(folder: folder.path, options: options(run: 7 << 32))
        let zone = try await store.read { try $0.zones(in: Sample.database, named: ["Notes"]) }
        #expect(zone.map(\.number) == [ChangeNumber(run: runs[1], seq: 2)])
        #expect(try await store.read { try $0.databases([Sample.database]) }.map(\.number) == [ChangeNumber(run: runs[1], seq: 2)])
        for place in [NumberedPlace.zone(Sample.zone), .database(Sample.database)] {
            let ends = try await store.read { try $0.ends(of: [Run.first] + runs, in: place) }
            #expect(ends.sorted() == [ChangeNumber(run: Run.first, seq: 0), ChangeNumber(run: runs[0], seq: 1)])
        }
        let advance = try await store.write {
            .commit(try $0.advance(zoneNamed: "Notes", in: Sample.database, operation: "_ann/1", entries: [entry.key]))
        }
        #expect(advance.operation == operation && advance.entries == [entry] && advance.zone?.number == ChangeNumber(run: 7 << 32, seq: 3))
        let dependents = try await store.dependents(of: ["target"])
        #expect(dependents.map(\.owned) == [["first"]] && dependents.map(\.isValidated) == [true])
        #expect(try await store.feed().map(\.record) == [Sample.put("first", 1).row])
        await store.close()
        #expect(try folder.sql("SELECT count(*) FROM entries WHERE checksum IS NULL") == ["0"])
        #expect(try folder.sql("SELECT count(*) FROM zones WHERE checksum IS NULL") == ["0"])
    }

    @Test func `a file of version 5 is opened and read exactly`() async throws {
        try await Self.check(try TemporaryFolder.fixture("v5.sqlite"))
    }

    /// With `NACRE_WRITE_FIXTURE=FOLDER` the file stays there: how the fixture of a new version is made.
    @Test func `this version writes what the fifth file holds`() async throws {
        let folder = try TemporaryFolder()
        let path = ProcessInfo.processInfo.environment["NACRE_WRITE_FIXTURE"]
        try await Self.write(to: path ?? folder.path)
        if path == nil { try await Self.check(folder) }
    }
}
