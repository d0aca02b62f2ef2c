import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer

/// Tests of the rule of parents, with a store.
@Suite struct ParentTests {
    @Test(arguments: Engine.ofRules) func `saving a child gives its parent a new tag and a new place in the feed, and nothing else`(
        engine: Engine
    ) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        let parent = try #require(try await ann.modify([.create("p", ["n": .int64(1)])], zone: "Z").first?.record)
        try await ann.modify([.create("other")], zone: "Z")
        test.clock.move(bySeconds: 60)
        let token = try await ann.changes("Z").syncToken
        let answer = try await ann.modify([.create("c", parent: "p")], zone: "Z")
        #expect(answer.count == 1, "a touched parent is no answer to anything")
        let page = try await ann.changes("Z", after: token)
        #expect(page.records.map(\.recordName) == ["c", "p"])
        let touched = try #require(page.records.last?.record)
        #expect(touched.recordChangeTag != parent.recordChangeTag)
        #expect(touched.modified == parent.modified && touched.fields == parent.fields)
        #expect(try await ann.changes("Z").records.map(\.recordName) == ["other", "c", "p"])
        try await ann.modify([.update("c")], zone: "Z")
        #expect(try await ann.changes("Z", after: page.syncToken).records.map(\.recordName) == ["c", "p"], "a kept parent is touched too")
        try await ann.modify([.make(.forceUpdate, "c", parent: .clear)], zone: "Z")
        #expect(try await ann.changes("Z", after: page.syncToken).records.map(\.recordName) == ["p", "c"], "one given up is not")
    }

    @Test(arguments: Engine.ofRules) func `a parent with a child elsewhere is not deleted, and goes with it`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.modify([.create("p"), .create("c", parent: "p"), .create("g", parent: "c")])
        #expect(try await ann.modify([.delete("p")]).first?.error == .deleteViolatesReference("p"))
        #expect(try await ann.modify([.delete("p"), .delete("c")]).map(\.error) == [.deleteViolatesReference("c"), .deleteViolatesReference("c")])
        #expect(try await ann.modify([.delete("p"), .delete("g")]).map(\.error) == [.deleteViolatesReference("p"), nil])
        #expect(try await ann.modify([.delete("p"), .delete("c")]).map(\.error) == [nil, nil])
        #expect(try await ann.modify([.create("c", parent: "p")]).first?.error?.code == .validatingReferenceError)
    }

    @Test(arguments: Engine.ofRules) func `a deleted child holds its parent no more, and one made again has none`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.modify([.create("p"), .create("c", parent: "p")])
        try await ann.modify([.delete("c")])
        #expect(try await ann.modify([.update("c")]).first?.record?.parent == nil)
        #expect(try await ann.modify([.delete("p")]).first?.error == nil)
    }

    @Test(arguments: Engine.ofRules) func `a batch gives a child a new parent and deletes the old one`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.modify([.create("p"), .create("c", parent: "p")])
        let moved = RecordOperation.make(.forceUpdate, "c", parent: .set(Reference(recordName: "q", action: .none)))
        let results = try await ann.modify([.delete("p"), moved, .create("q")])
        #expect(results.map(\.error) == [nil, nil, nil])
        #expect(try await ann.lookup(["c"]).first?.record?.parent?.recordName == "q")
        #expect(try await ann.modify([.delete("q")]).first?.error == .deleteViolatesReference("q"))
    }

    @Test(arguments: Engine.ofRules) func `a child's refused update still holds the parent that it has`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.modify([.create("p"), .create("c", parent: "p")])
        let away = RecordOperation.make(.update, "c", tag: "stale", parent: .clear)
        #expect(try await ann.modify([.delete("p"), away]).map(\.error?.code) == [.validatingReferenceError, .conflict])
        #expect(try await ann.lookup(["p", "c"]).allSatisfy { $0.record != nil })
    }

    @Test func `in a public database no answer tells of the parents of others' records`() async throws {
        let test = try await TestCloud(.memory)
        let (ann, bob) = (test.user("_ann", in: .public), test.user("_bob", in: .public))
        try await bob.modify([.create("b")])
        try await ann.modify([.create("a", parent: "b")])
        let below = RecordOperation.make(.forceUpdate, "b", parent: .set(Reference(recordName: "a", action: .none)))
        #expect(try await bob.modify([below]).map(\.error) == [nil])
    }

    @Test(arguments: ["Z", "_defaultZone"]) func `a record is never moved below itself, in a batch or over several, and other moves stand`(
        zone: String
    ) async throws {
        let ann = try await TestCloud(.memory).user("_ann")
        if zone == "Z" { try await ann.makeZone(zone) }
        func move(_ name: String, below parent: String) -> RecordOperation {
            .make(.forceUpdate, name, parent: .set(Reference(recordName: parent, action: .none)))
        }
        func errors(_ operations: RecordOperation...) async throws -> [ServerError?] {
            try await ann.modify(operations, zone: zone, atomic: false).map(\.error)
        }
        #expect(try await errors(.create("a"), .create("b", parent: "a"), .create("c", parent: "b")) == [nil, nil, nil])
        #expect(try await errors(move("a", below: "c")) == [.parentRing], "through records of earlier requests")
        #expect(try await errors(move("a", below: "d"), .create("d", parent: "b"), .create("e", parent: "b")) == [.parentRing, nil, nil])
        #expect(try await errors(.create("x", parent: "y"), .create("y", parent: "x")) == [.parentRing, .parentRing])
        #expect(try await errors(move("b", below: "e"), move("e", below: "a")) == [nil, nil], "the ring that was there is resolved")
        #expect(try await ann.lookup(["a", "b"], zone: zone).map { $0.record?.parent?.recordName } == [nil, "e"])
    }
}
