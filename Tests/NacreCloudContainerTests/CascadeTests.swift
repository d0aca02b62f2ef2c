import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of the records deleted with a record, over every engine.
@Suite struct CascadeTests {
    @Test(arguments: Engine.ofRules) func `a chain goes whole, in one commit of the feed, and the answer lists what was asked for`(
        engine: Engine
    ) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("Z")
        try await ann.save([.create("r0"), .create("other")] + (1...150).map { .holder("r\($0)", of: ["r\($0 - 1)"]) }, zone: "Z")
        let token = try await ann.changes("Z").syncToken
        let answer = try await ann.modify([.delete("r0")], zone: "Z")
        #expect(answer.map(\.tombstone?.recordName) == ["r0"])
        let page = try await ann.changes("Z", after: token)
        #expect(Set(page.records.compactMap { $0.tombstone?.recordName }) == Set((0...150).map { "r\($0)" }))
        #expect(page.records.count == 151 && !page.moreComing)
        #expect(page.records.allSatisfy { $0.tombstone?.recordType == "Note" })
        #expect(try await ann.changes("Z").records.map(\.recordName) == ["other"])
    }

    @Test(arguments: Engine.ofRules) func `circles go from wherever they are entered, and records that refer to themselves`(engine: Engine)
        async throws
    {
        let ann = try await TestCloud(engine).user("_ann")
        for start in ["a", "b", "c", "in"] {
            try await ann.save([
                .create("in"), .holder("a", of: ["c", "in"]), .holder("b", of: ["a", "b"]), .holder("c", of: ["b"]), .holder("tail", of: ["c"]),
            ])
            try await ann.modify([.delete(start)])
            #expect(try await ann.living(["in", "a", "b", "c", "tail"]) == (start == "in" ? [] : ["in"]), "from \(start)")
            try await ann.modify([.delete("in")])
        }
    }

    @Test(arguments: Engine.ofRules) func `any of several targets is enough, in one field or in many`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.save([.create("s"), .create("t"), .holder("h", of: ["s", "t"])])
        var two = RecordFields.holding(["s"])
        two["owner2"] = .reference(Reference(recordName: "t", action: .deleteSelf))
        two["same"] = .reference(Reference(recordName: "s", action: .deleteSelf))
        try await ann.modify([.make(.create, "k", two)])
        try await ann.modify([.delete("t")])
        #expect(try await ann.living(["s", "h", "k"]) == ["s"])
    }

    @Test(arguments: Engine.ofRules) func `a record met on two ways goes if it goes on either`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.save([
            .create("r"), .holder("a", of: ["r"]), .holder("b", of: ["r"]), .holder("long", of: ["a"]), .holder("both", of: ["b", "long"]),
            .holder("stays", of: ["a"]), .holder("x", of: ["stays", "long"]), .holder("y", of: ["stays"]),
        ])
        #expect(
            try await ann.modify([.delete("r"), .holder("stays"), .make(.update, "a", tag: "stale")]).map(\.error?.code) == [nil, nil, .conflict])
        #expect(try await ann.living(["r", "a", "b", "long", "both", "stays", "x", "y"]) == ["stays", "y"])
    }

    @Test(arguments: Engine.ofRules) func `the default zone, the public database and other people's records cascade too`(engine: Engine) async throws
    {
        let test = try await TestCloud(engine)
        let (ann, bob) = (test.user("_ann", in: .public), test.user("_bob", in: .public))
        try await ann.modify([.create("post")])
        try await bob.modify([.holder("comment", of: ["post"])])
        #expect(try await bob.modify([.delete("post")]).map(\.error) == [.writeNotPermitted])
        try await ann.modify([.delete("post")])
        #expect(try await ann.living(["post", "comment"]).isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `750 holders go with their target, and theirs with them`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("Z")
        let names = (0..<750).map { "h\($0)" }
        try await ann.save([.create("t")], zone: "Z")
        try await ann.save(names.map { .holder($0, of: ["t"]) }, zone: "Z")
        try await ann.save(names.map { .holder("x\($0)", of: [$0]) }, zone: "Z")
        let token = try await ann.changes("Z").syncToken
        try await ann.modify([.delete("t")], zone: "Z")
        #expect(try await ann.living(names, zone: "Z").isEmpty)
        var (page, gone) = (try await ann.changes("Z", after: token), [String]())
        #expect(page.isMidCommit && page.moreComing, "a commit of 1501 changes is split, and says so")
        while true {
            gone += page.records.compactMap { $0.tombstone?.recordName }
            guard page.moreComing else { break }
            page = try await ann.changes("Z", after: page.syncToken)
        }
        #expect(gone.count == 1501 && Set(gone).count == 1501)
    }

    // MARK: A holder in the same batch

    @Test(arguments: Engine.ofRules, [true, false]) func `a holder that the batch saves away stays, and one whose operation is refused goes`(
        engine: Engine, deletionFirst: Bool
    ) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.save([
            .create("t"), .holder("away", of: ["t"]), .holder("stale", of: ["t"]), .holder("still", of: ["t"]), .holder("x", of: ["stale"]),
        ])
        let others: [RecordOperation] = [.holder("away"), .make(.update, "stale", tag: "zz"), .update("still", ["n": .int64(1)])]
        let answers = try await ann.modify(deletionFirst ? [.delete("t")] + others : others + [.delete("t")])
        let errors = Dictionary(uniqueKeysWithValues: answers.map { ($0.recordName ?? "", $0.error) })
        #expect(errors["t"] == .some(nil) && errors["away"] == .some(nil))
        #expect(errors["stale"]??.code == .conflict)
        #expect(errors["still"] == .some(.targetNotFound("owner")))
        #expect(try await ann.living(["t", "away", "stale", "still", "x"]) == ["away"])
    }

    @Test(arguments: Engine.ofRules) func `a save that refers to what the batch deletes, or what goes with it, is refused`(engine: Engine)
        async throws
    {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.save([.create("t"), .holder("h", of: ["t"])])
        let answers = try await ann.modify([.delete("t"), .holder("a", of: ["t"]), .holder("b", of: ["h"]), .create("c")])
        #expect(answers.map(\.error) == [nil, .targetNotFound("owner"), .targetNotFound("owner"), nil])
        #expect(try await ann.living(["t", "h", "a", "b", "c"]) == ["c"])
    }

    // MARK: Blocked

    @Test(arguments: Engine.ofRules, [true, false]) func `a cascade that would take a held record is refused at its root, and nothing goes`(
        engine: Engine, isParent: Bool
    ) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.save([.create("r"), .holder("h", of: ["r"]), .holder("g", of: ["h"]), .create("other"), .holder("k", of: ["other"])])
        try await ann.save([isParent ? .holder("keeper", parent: "g") : .holder("keeper", validates: ["g"])])
        #expect(try await ann.modify([.delete("r"), .delete("other")]).map(\.error) == [.deleteViolatesReference("g"), nil])
        #expect(try await ann.living(["r", "h", "g", "other", "k"]) == ["r", "h", "g"])
        #expect(try await ann.modify([.delete("r"), .holder("keeper")]).map(\.error) == [nil, nil])
        #expect(try await ann.living(["r", "h", "g", "keeper"]) == ["keeper"])
    }

    @Test(arguments: Engine.ofRules) func `children that go too hold nothing, whichever way they go`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("Z")
        try await ann.save([.create("r")] + (0..<30).map { .holder("c\($0)", of: ["r"], parent: "r") }, zone: "Z")
        try await ann.save((0..<30).map { .holder("d\($0)", of: ["c\($0)"], validates: ["r"], parent: "c\($0)") }, zone: "Z")
        try await ann.save([.holder("plain", parent: "d7")], zone: "Z")
        #expect(try await ann.modify([.delete("r")], zone: "Z").map(\.error) == [.deleteViolatesReference("d7")])
        #expect(try await ann.modify([.delete("r"), .delete("plain")], zone: "Z").map(\.error) == [nil, nil])
        #expect(try await ann.changes("Z").records.isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `what stays because another deletion is refused holds what it holds`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        // Without s, p would be deleted: c is deleted with s, but keeper holds s.
        try await ann.save([
            .create("r"), .create("s"), .holder("p", of: ["r"]), .holder("c", of: ["s"], parent: "p"), .holder("keeper", parent: "s"),
        ])
        let answers = try await ann.modify([.delete("r"), .delete("s")])
        #expect(answers.map(\.error) == [.deleteViolatesReference("p"), .deleteViolatesReference("s")])
        #expect(try await ann.living(["r", "s", "p", "c", "keeper"]).count == 5)
        #expect(try await ann.modify([.delete("r"), .delete("s"), .delete("keeper")]).map(\.error) == [nil, nil, nil])
    }

    @Test(arguments: Engine.ofRules) func `an atomic batch whose cascade is refused leaves everything, the holders too`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("Z")
        try await ann.save(
            [.create("r"), .holder("h", of: ["r"]), .holder("keeper", parent: "h"), .create("free"), .holder("f", of: ["free"])], zone: "Z")
        let token = try await ann.changes("Z").syncToken
        let answers = try await ann.modify([.delete("free"), .delete("r")], zone: "Z")
        #expect(answers.map(\.error?.code) == [.atomicError, .validatingReferenceError])
        #expect(try await ann.changes("Z", after: token).records.isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `a target made again has no holders, and its old ones do not come back`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.save([.create("t"), .holder("h", of: ["t"])])
        try await ann.modify([.delete("t")])
        try await ann.save([.create("t"), .create("h")])
        try await ann.modify([.delete("t")])
        #expect(try await ann.living(["h"]) == ["h"])
    }

    @Test(arguments: Engine.ofRules) func `a retry of a deletion is answered as before, and takes nothing more`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.save([.create("t"), .holder("h", of: ["t"])])
        try await ann.modify([.delete("t")], id: "op")
        try await ann.save([.create("t"), .holder("h", of: ["t"])])
        #expect(try await ann.modify([.delete("t")], id: "op").map(\.error) == [nil])
        #expect(try await ann.living(["t", "h"]) == ["t", "h"])
    }
}
