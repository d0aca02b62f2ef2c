import NacreCloudServerWire
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests that every answer asks the read rule, with a rule that hides records from others than their creators.
@Suite struct ReadVerdictTests {
    private static let secret = "hush-hush"
    private static let notForYou = ServerError(.accessDenied, "READ operation not permitted")
    /// A rule by which records of the type `Diary` are for their creators.
    private static let diariesArePrivate = ReadRule { _, type, created, _, caller in
        type == "Diary" && created.userRecordName != caller.userRecordName ? .refuse(notForYou) : .whole
    }

    /// One request that can show a record of the public database.
    struct Way: Sendable, CustomTestStringConvertible {
        let name: String
        let ask: @Sendable (TestCloudUser) async throws -> String
        var testDescription: String { name }
    }

    private static func said(_ results: [RecordResult]) -> String {
        "\(results) \(results.map { $0.error?.serverRecord?.value })"
    }

    private static func query(_ user: TestCloudUser, _ query: Query, keys: [String]? = nil) async throws -> String {
        var request = RecordsQueryRequest(query: query)
        request.desiredKeys = keys
        return "\(try await user.cloud.queryRecords(request, in: user.target, by: user.caller))"
    }

    static let ways = [
        Way(name: "lookup") { said(try await $0.lookup(["d"])) },
        Way(name: "query") { try await query($0, Query(recordType: "Diary")) },
        Way(name: "query by a filter") {
            try await query($0, Query(recordType: "Diary", filters: [QueryFilter(.equals, fieldName: "text", value: .string(secret))]))
        },
        Way(name: "query of one field") { try await query($0, Query(recordType: "Diary", sorts: [QuerySort("text")]), keys: ["text"]) },
        Way(name: "creating over it") { said(try await $0.modify([.make(.create, "d", type: "Diary")])) },
        Way(name: "updating an old version") { said(try await $0.modify([.make(.update, "d", type: "Diary", tag: "0")])) },
        Way(name: "replacing an old version") { said(try await $0.modify([.make(.replace, "d", type: "Diary", tag: "0")])) },
        Way(name: "deleting an old version") { said(try await $0.modify([.make(.delete, "d", type: nil, tag: "0")])) },
        Way(name: "a conflict that is asked again") {
            _ = try await $0.modify([.make(.create, "d", type: "Diary")], id: "once")
            return said(try await $0.modify([.make(.create, "d", type: "Diary")], id: "once"))
        },
    ]

    private func cloud(_ rule: ReadRule) async throws -> (ann: TestCloudUser, bob: TestCloudUser) {
        let test = try await TestCloud(.memory, readRule: rule)
        let ann = test.user("_ann", in: .public)
        try await ann.modify([.make(.create, "d", type: "Diary", ["text": .string(Self.secret)])])
        for (field, options) in [("text", IndexOptions([.queryable, .sortable])), ("___recordID", [.queryable])] {
            _ = try await ann.cloud.schemas.changeSchema(of: TestCloud.container, .development) {
                _ = try $0.setIndexes(options, of: "Diary", field: field)
                $0.makeAll()
            }
        }
        try await test.runAllTasks()
        return (ann, test.user("_bob", in: .public))
    }

    @Test(arguments: ways) func `no answer shows a record that its caller may not read`(way: Way) async throws {
        let (ann, bob) = try await cloud(Self.diariesArePrivate)
        #expect(!(try await way.ask(bob)).contains(Self.secret))
        #expect(try await way.ask(ann).contains(Self.secret), "its creator sees it")
    }

    @Test(arguments: ways) func `without such a rule everybody sees it`(way: Way) async throws {
        let bob = try await cloud(.everything).bob
        #expect(try await way.ask(bob).contains(Self.secret))
    }

    @Test func `who asks for it by name hears why, and others hear nothing of it`() async throws {
        let (_, bob) = try await cloud(Self.diariesArePrivate)
        #expect(try await bob.lookup(["d"]).map(\.error) == [Self.notForYou])
        let found = try await bob.cloud.queryRecords(RecordsQueryRequest(query: Query(recordType: "Diary")), in: bob.target, by: bob.caller)
        #expect(found.records.isEmpty && found.failures.isEmpty && found.continuationMarker == nil)
    }

    @Test func `a page of changes leaves out what its caller may not read, and its token is behind it`() async throws {
        let hidden = ReadRule { name, _, _, _, _ in name == "b" ? .refuse(Self.notForYou) : .whole }
        let ann = try await TestCloud(.memory, readRule: hidden).user("_ann")
        try await ann.makeZone("Z")
        try await ann.modify(["a", "b", "c"].map { .create($0, ["text": .string(Self.secret)]) }, zone: "Z")
        let page = try await ann.changes("Z")
        #expect(page.records.compactMap(\.recordName) == ["a", "c"])
        #expect(try await ann.changes("Z", after: page.syncToken).records.isEmpty)
        let asked = RecordsChangesRequest(.init(zoneID: ZoneID(zoneName: "Z"), syncToken: nil))
        let older = try await ann.cloud.recordChanges(asked, in: ann.target, by: ann.caller)
        #expect(older.records.compactMap(\.recordName) == ["a", "c"])
    }

    @Test func `one who may save a record and not read it hears its new tag and none of its fields`() async throws {
        let nobody = ReadRule { _, _, _, _, _ in .refuse(Self.notForYou) }
        let ann = try await TestCloud(.memory, readRule: nobody).user("_ann")
        for _ in 0..<2 {
            let saved = try #require(try await ann.modify([.create("a", ["text": .string(Self.secret)])], id: "1").first?.record)
            #expect(saved.fields.isEmpty && !saved.recordChangeTag.isEmpty)
        }
    }
}
