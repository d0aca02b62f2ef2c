import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import NacreEncryptionForms
import NacreLocks
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests of concurrent writes wherever the store's protocol names no lock, each with another write between its body
/// and its commit.
@Suite struct SideBySideTests {
    /// Runs work once between the next body and its commit.
    private final class Between: Sendable {
        private let deed = Locked<(@Sendable () async throws -> Void)?>(nil)

        func next(_ deed: @escaping @Sendable () async throws -> Void) {
            self.deed.withLock { $0 = deed }
        }

        func happen() async {
            let deed = deed.withLock { deed in
                defer { deed = nil }
                return deed
            }
            do {
                try await deed?()
            } catch {
                Issue.record(error)
            }
        }

        var isWaiting: Bool { deed.withLock { $0 != nil } }
    }

    private let between: Between
    private let test: TestCloud
    private let ann: TestCloudUser

    init() {
        self.init(nil)
    }

    private init(_ fault: SideBySideStore.PlantedFault?) {
        let between = Between()
        self.between = between
        test = TestCloud(SideBySideStore(fault: fault, beforeCommit: { await between.happen() }))
        ann = test.user("_ann")
    }

    private func index(_ field: String) async throws {
        _ = try await ann.cloud.schemas.changeSchema(of: TestCloud.container, .development) {
            _ = try $0.setIndexes([.queryable], of: "Note", field: field)
            $0.make([FieldIndex(type: "Note", field: field, kind: .values)])
        }
    }

    private func found(zone: String) async throws -> Set<String> {
        let query = Query(recordType: "Note", filters: [QueryFilter(.equals, fieldName: "n", value: .int64(1))])
        var names: Set<String> = []
        var marker: String?
        repeat {
            let request = RecordsQueryRequest(query: query, zoneID: ZoneID(zoneName: zone), continuationMarker: marker)
            let page = try await ann.cloud.queryRecords(request, in: ann.target, by: ann.caller)
            names.formUnion(page.records.map(\.recordName))
            marker = page.continuationMarker
        } while marker != nil
        return names
    }

    /// Makes a schema whose field `n` has no index, and a zone with a record.
    private func prepare(_ zone: String) async throws {
        if zone != ZoneID.defaultZoneName { try await ann.makeZone(zone) }
        try await ann.modify([.create("first", ["n": .int64(1)])], zone: zone)
        _ = try await ann.cloud.schemas.changeSchema(of: TestCloud.container, .development) { try $0.setIndexes([], of: "Note", field: "n") }
        try await test.runAllTasks()
    }

    @Test(arguments: ["Z", ZoneID.defaultZoneName])
    func `a save that was decided before an index was built is in the index`(zone: String) async throws {
        try await prepare(zone)
        between.next {
            try await index("n")
            try await test.runAllTasks()
        }
        try await ann.modify([.create("late", ["n": .int64(1)])], zone: zone)
        #expect(!between.isWaiting)
        #expect(try await found(zone: zone) == ["first", "late"])
        #expect(try await test.check().isEmpty)
    }

    @Test func `a deletion that was decided before an index was built leaves nothing in the index`() async throws {
        try await prepare("Z")
        between.next {
            try await index("n")
            try await test.runAllTasks()
        }
        try await ann.modify([.delete("first")], zone: "Z")
        #expect(try await found(zone: "Z").isEmpty)
        #expect(try await test.check().isEmpty)
    }

    @Test func `a zone that is made beside the building of an index is no hole in it`() async throws {
        try await prepare("Z")
        between.next {
            try await index("n")
            try await test.runAllTasks()
        }
        try await ann.makeZone("New")
        try await ann.modify([.create("a", ["n": .int64(1)])], zone: "New")
        // A query that finds the zone without the index has it built once more.
        #expect(try await found(zone: "New") == ["a"])
        try await test.runAllTasks()
        #expect(try await found(zone: "New") == ["a"])
    }

    @Test func `the first save of a user beside the building of an index is no hole in it`() async throws {
        try await prepare("Z")
        let bob = test.user("_bob")
        between.next {
            try await index("n")
            try await test.runAllTasks()
        }
        try await bob.modify([.create("b", ["n": .int64(1)])])
        let query = Query(recordType: "Note", filters: [QueryFilter(.equals, fieldName: "n", value: .int64(1))])
        func names() async throws -> [String] {
            try await bob.cloud.queryRecords(RecordsQueryRequest(query: query), in: bob.target, by: bob.caller).records.map(\.recordName)
        }
        #expect(try await names() == ["b"], "found without the index")
        #expect(try await test.cloud.schemas.schema(of: TestCloud.container, .development).building.count == 1, "which is built once more")
        try await test.runAllTasks()
        #expect(try await names() == ["b"])
    }

    @Test func `a zone is made once by two who make it`() async throws {
        between.next { try await ann.makeZone("Z") }
        let made = try await ann.makeZone("Z")
        #expect(made.compactMap(\.zone).count == 1)
        #expect(try await ann.databaseChanges().zones.map(\.zoneID.zoneName) == ["Z"])
    }

    @Test func `a first save into a default zone beside another keeps both`() async throws {
        between.next { try await ann.modify([.create("one")]) }
        try await ann.modify([.create("two")])
        #expect(try await ann.lookup(["one", "two"]).compactMap(\.record).count == 2)
    }

    @Test func `no place in a database's feed is lost to somebody who forgets a zone`() async throws {
        try await ann.makeZone("Gone", "Kept")
        try await ann.deleteZone("Gone")
        try await test.runAllTasks()
        let token = try await ann.databaseChanges().syncToken
        test.clock.move(bySeconds: Limits.tombstoneSeconds + 1)
        between.next { try await ann.makeZone("New") }
        try await test.runAllTasks()
        try await ann.modify([.create("a")], zone: "Kept")
        #expect(Set(try await ann.databaseChanges(after: token).zones.map(\.zoneID.zoneName)) == ["Kept", "New"])
    }

    @Test func `a zone that is deleted beside a save keeps no change number twice`() async throws {
        try await ann.makeZone("Z")
        let first = try await ann.modify([.create("a")], zone: "Z")
        between.next { try await ann.modify([.create("b")], zone: "Z") }
        try await ann.deleteZone("Z")
        try await ann.makeZone("Z")
        let again = try await ann.modify([.create("a")], zone: "Z")
        #expect(first[0].record?.recordChangeTag != again[0].record?.recordChangeTag)
    }

    /// Returns the results of two concurrent creations of one container; the second began first.
    private func newContainer() async throws -> [Bool] {
        let cloud = ann.cloud
        _ = try await cloud.registry.createContainer("iCloud.com.example.old")
        let isNew = Locked<[Bool]>([])
        between.next {
            let made = try await cloud.registry.createContainer("iCloud.com.example.new").isNew
            isNew.withLock { $0.append(made) }
        }
        let made = try await cloud.registry.createContainer("iCloud.com.example.new").isNew
        return isNew.withLock { $0 } + [made]
    }

    @Test func `of two who make one container one hears that it is new`() async throws {
        #expect(try await newContainer() == [true, false])
    }

    @Test func `an encrypted value that was decided before its key had a newer version is refused`() async throws {
        var scope = try SampleScope(SampleKeyring("_ann", container: TestCloud.container), zone: "Z")
        let first = try #require(scope.newest.parts.keyID)
        try await ann.makeZone("Z")
        _ = try await ann.cloud.appendKeyStatement(scope.keys.request(), in: ann.target, by: ann.caller)
        _ = try await ann.cloud.modifyScope(scope.request(isNewKey: true), in: ann.target, by: ann.caller)
        #expect(try await ann.modify([.sealing("first", under: first)], zone: "Z").first?.error == nil)
        try scope.goOn(isRotated: true)
        let rotation = try scope.request(isNewKey: true)
        between.next { _ = try await ann.cloud.modifyScope(rotation, in: ann.target, by: ann.caller) }
        #expect(try await ann.modify([.sealing("a", under: first)], zone: "Z").first?.error == .keyIsNotNewest("secret"))
        #expect(!between.isWaiting)
    }

    // MARK: Planted faults

    @Test func `where locks keep nobody out, both hear that it is new`() async throws {
        #expect(try await SideBySideTests(.noLocks).newContainer() == [true, true])
    }

    @Test func `where zones do not learn which indexes they have, the late save is missing from the index`() async throws {
        let faulty = SideBySideTests(.noIndexNumbers)
        try await faulty.prepare("Z")
        faulty.between.next {
            try await faulty.index("n")
            try await faulty.test.runAllTasks()
        }
        try await faulty.ann.modify([.create("late", ["n": .int64(1)])], zone: "Z")
        #expect(try await faulty.test.check().contains { $0.record == "late" })
    }
}
