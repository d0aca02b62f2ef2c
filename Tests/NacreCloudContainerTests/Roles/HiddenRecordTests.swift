import NacreCloudServerWire
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests with two clouds that differ only in records that Bob may not read: both give him the same answers.
@Suite struct HiddenRecordTests {
    /// The contents of Ann's records in a cloud.
    private struct Secret {
        var text: String
        var number: Int64
        var place: Location
        var link: String
    }

    private static let secrets = [
        Secret(text: "hush word", number: 1, place: Location(latitude: 1, longitude: 1), link: "mine"),
        Secret(text: "other thing", number: 99, place: Location(latitude: 60, longitude: 60), link: "none"),
    ]

    enum Rule: String, CaseIterable {
        /// Bob may read his own records of the type.
        case creator = #"GRANT READ, CREATE, WRITE TO "_creator", GRANT CREATE TO "_icloud""#
        /// Bob may read none of them.
        case team = #"GRANT READ, WRITE TO Team, GRANT CREATE TO "_icloud""#
        /// Bob may write and not read.
        case blind = #"GRANT READ TO Team, GRANT CREATE, WRITE TO "_icloud""#
    }

    private static func cloud(_ engine: Engine, _ rule: Rule, _ secret: Secret) async throws -> TestCloud {
        let test = try await RoleTests.cloud(engine, rule.rawValue, roles: ["Team"])
        let (ann, bob) = (test.user("_ann", in: .public), test.user("_bob", in: .public))
        try await bob.modify([.make(.create, "mine", type: "Note", ["text": .string("m")])])
        for index in 0..<30 {
            let fields: RecordFields = [
                "text": .string(secret.text), "n": .int64(secret.number + Int64(index)), "place": .location(secret.place),
                "words": .stringList([secret.text]), "link": .reference(Reference(recordName: secret.link, action: .none)),
            ]
            try await ann.modify([.make(.create, "a\(index)", type: "Diary", fields)])
        }
        for index in 0..<3 {
            let fields: RecordFields = [
                "text": .string("hush"), "n": .int64(Int64(index * 20)), "place": .location(Location(latitude: 2, longitude: 2)),
            ]
            try await bob.modify([.make(.create, "b\(index)", type: "Diary", fields)])
        }
        return test
    }

    private static let queries: [Query] = {
        let values: [(QueryComparator, String, FieldValue)] = [
            (.equals, "text", .string("hush word")), (.notEquals, "text", .string("hush word")), (.beginsWith, "text", .string("hush")),
            (.in, "text", .stringList(["hush word", "hush"])), (.greaterThan, "n", .int64(5)), (.lessThanOrEquals, "n", .int64(30)),
            (.listContains, "words", .string("hush word")),
            (.equals, "link", .reference(Reference(recordName: "mine", action: .none))),
        ]
        var queries = values.map { Query(recordType: "Diary", filters: [QueryFilter($0.0, fieldName: $0.1, value: $0.2)]) }
        let place = FieldValue.location(Location(latitude: 1, longitude: 1))
        queries.append(Query(recordType: "Diary", filters: [QueryFilter(.near, fieldName: "place", value: place, distance: 1_000_000)]))
        queries.append(Query(recordType: "Diary", filters: [QueryFilter(.containsAllTokens, fieldName: nil, value: .string("hush"))]))
        let sorts = [
            QuerySort("text"), QuerySort("n", isAscending: false), QuerySort("place", relativeLocation: Location(latitude: 1, longitude: 1)),
        ]
        let sorted = sorts.map { Query(recordType: "Diary", sorts: [$0]) }
        let both = queries.map { Query(recordType: "Diary", filters: $0.filters, sorts: [QuerySort("n")]) }
        return [Query(recordType: "Diary")] + queries + sorted + both
    }()

    /// Pages of these queries end after a few index reads, whoever owns the records: see
    /// `docs/decisions/roles.md`.
    private static func isByDistance(_ query: Query) -> Bool {
        query.filters.contains { $0.comparator == .near } || query.sorts.contains { $0.relativeLocation != nil }
    }

    /// Returns all of Bob's answers as text: each query page by page, lookups, and refused operations.
    private static func heard(by user: TestCloudUser, under rule: Rule) async throws -> [String] {
        var heard: [String] = []
        for query in queries where rule != .creator || !isByDistance(query) {
            for limit in [1, 2, 200] {
                var marker: String?
                var pages = 0
                repeat {
                    var request = RecordsQueryRequest(query: query)
                    request.resultsLimit = limit
                    request.continuationMarker = marker
                    let page = try await user.cloud.queryRecords(request, in: user.target, by: user.caller)
                    heard.append("\(query) \(limit): \(page.records) \(page.failures) \(page.continuationMarker ?? "last")")
                    marker = page.continuationMarker
                    pages += 1
                } while marker != nil && pages < 100
            }
        }
        let names = (0..<30).map { "a\($0)" }
        func say(_ results: [RecordResult]) { heard.append("\(results) \(results.map { $0.error?.serverRecord?.value })") }
        say(try await user.lookup(names))
        for (number, type) in NacreCloudWire.OperationType.allCases.enumerated() where [.create, .update, .replace].contains(type) {
            // A current tag, and an invalid one.
            say(try await user.modify([.make(type, "a0", type: "Diary", tag: "0", ["n": .int64(1)])], id: "\(number)"))
            say(try await user.modify([.make(type, "a0", type: "Diary", tag: "0", ["n": .int64(1)])], id: "\(number)"))
        }
        say(try await user.modify([.make(.delete, "a1", type: nil, tag: "0")]))
        let link = FieldValue.reference(Reference(recordName: "a2", action: .validate))
        say(try await user.modify([.make(.create, "n", type: "Note", ["link": link])]))
        say(try await user.modify([.delete("mine")]))
        return heard
    }

    @Test(arguments: Engine.ofRules, Rule.allCases) func `no answer depends on what a record holds that its caller may not read`(
        engine: Engine, rule: Rule
    ) async throws {
        var answers: [[String]] = []
        for secret in Self.secrets {
            let test = try await Self.cloud(engine, rule, secret)
            answers.append(try await Self.heard(by: test.user("_bob", in: .public), under: rule))
        }
        #expect(answers[0].count == answers[1].count)
        for (one, other) in zip(answers[0], answers[1]) { #expect(one == other) }
        #expect(!answers[0].contains { $0.contains("hush word\"") && $0.contains("\"_ann\"") })
        // Without the rule they differ, so the requests are revealing ones.
        let open = try await Self.cloud(.memory, rule, Self.secrets[0])
        _ = try await open.cloud.schemas.assign("Team", to: "_bob", in: RoleTests.container, .development)
        let told = try await Self.heard(by: open.user("_bob", in: .public), under: rule)
        #expect(rule == .creator || told != answers[0])
    }

    @Test(arguments: Engine.ofRules) func `a query's pages are those of a zone without what its caller may not read`(engine: Engine) async throws {
        let test = try await Self.cloud(engine, .creator, Self.secrets[0])
        let bob = test.user("_bob", in: .public)
        for query in Self.queries where !Self.isByDistance(query) {
            var request = RecordsQueryRequest(query: query)
            let all = try await bob.cloud.queryRecords(request, in: bob.target, by: bob.caller)
            #expect(all.records.allSatisfy { $0.recordName.hasPrefix("b") } && all.continuationMarker == nil)
            request.resultsLimit = max(all.records.count, 1)
            let exact = try await bob.cloud.queryRecords(request, in: bob.target, by: bob.caller)
            #expect(exact.records == all.records, "a page is full of what may be read")
            #expect(exact.continuationMarker == nil, "and none says that there is more")
        }
    }
}
