import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of `changes/database` over every engine: the changed zones, each at its newest place.
@Suite struct DatabaseFeedTests {
    private func names(_ response: ChangesDatabaseResponse) -> [String] {
        response.zones.map { ($0.deletion == nil ? "" : "-") + $0.zoneID.zoneName }
    }

    @Test(arguments: Engine.ofRules) func `zones show where they changed last, with a deletion's reason`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        let nothing = try await ann.databaseChanges()
        #expect(nothing.zones.isEmpty && !nothing.moreComing)
        try await ann.makeZone("A")
        try await ann.makeZone("B")
        try await ann.makeZone("C")
        let made = try await ann.databaseChanges(after: nothing.syncToken)
        #expect(names(made) == ["A", "B", "C"] && made.zones.allSatisfy { $0.zoneID.ownerRecordName == "_ann" })
        try await ann.modify([.create("r")], zone: "A")
        #expect(try await names(ann.databaseChanges()) == ["B", "C", "A"])
        try await ann.modify([.create("r")])
        try await ann.deleteZone("B")
        let later = try await ann.databaseChanges(after: made.syncToken)
        #expect(names(later) == ["A", "-B"] && later.zones.last?.deletion == .deleted)
        #expect(try await names(ann.databaseChanges()) == ["C", "A"], "who never saw B is not told that it is gone")
        #expect(try await names(ann.databaseChanges(after: later.syncToken)).isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `a zone deleted and made again shows as changed, and one deleted twice shows once`(
        engine: Engine
    ) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("A", "B")
        let token = try await ann.databaseChanges().syncToken
        for _ in 0..<3 {
            try await ann.deleteZone("A")
            try await ann.makeZone("A")
        }
        #expect(try await names(ann.databaseChanges(after: token)) == ["A"])
        try await ann.deleteZone("A")
        #expect(try await names(ann.databaseChanges(after: token)) == ["-A"])
        var pages: [String] = []
        var next: String? = token
        repeat {
            let page = try await ann.databaseChanges(after: next, limit: 1)
            pages += names(page)
            next = page.moreComing ? page.syncToken : nil
        } while next != nil
        #expect(Set(pages) == ["-A"])
    }

    @Test(arguments: Engine.ofRules) func `zones of one commit come by name, and pages of every limit give all of them`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("m", "a", "z", "B", "k")
        try await ann.makeZone("c")
        let all = ["B", "a", "k", "m", "z", "c"]
        #expect(try await names(ann.databaseChanges()) == all)
        let end = try await ann.databaseChanges().syncToken
        for limit in 1...7 {
            var pages: [ChangesDatabaseResponse] = []
            repeat {
                pages.append(try await ann.databaseChanges(after: pages.last?.syncToken, limit: limit))
            } while pages.last?.moreComing == true
            #expect(pages.flatMap(names) == all, "limit \(limit)")
            #expect(pages.count == (all.count + limit - 1) / limit, "a page that ends the feed says so")
            #expect(pages.last?.syncToken == end)
        }
        await #expect(throws: ServerError.self) { try await ann.databaseChanges(limit: -5) }
    }

    @Test(arguments: Engine.ofRules) func `a new reader hears of zones that go while it reads, and not of those gone before`(
        engine: Engine
    ) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        for index in 0..<6 { try await ann.makeZone("z\(index)") }
        try await ann.deleteZone("z1", "z4")
        let first = try await ann.databaseChanges(limit: 2)
        #expect(names(first) == ["z0", "z2"] && first.moreComing)
        try await ann.deleteZone("z0", "z5")
        #expect(try await names(ann.databaseChanges(after: first.syncToken)) == ["z3", "-z0", "-z5"])
        var seen: [String] = []
        var page = first
        while page.moreComing {
            page = try await ann.databaseChanges(after: page.syncToken, limit: 1)
            seen += names(page)
        }
        #expect(seen == ["z3", "-z0", "-z5"])
    }

    @Test(arguments: Engine.ofRules) func `a commit tells of its database once, after it happened`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        let id = try await test.cloud.databaseID(databaseVerdict(ann.target, for: .write, by: ann.caller).get())
        try await ann.makeZone("Z")
        #expect(test.takeMoved() == [id])
        try await ann.modify([.create("a"), .create("b")], zone: "Z", id: "op")
        #expect(test.takeMoved() == [id])
        try await ann.modify([.create("a"), .create("b")], zone: "Z", id: "op")
        #expect(test.takeMoved().isEmpty, "a retry changed nothing")
        try await ann.deleteZone("Z")
        #expect(test.takeMoved() == [id])
    }
}
