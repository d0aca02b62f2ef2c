import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer

/// Tests of valid targets of references, over every engine.
@Suite struct ReferenceTests {
    private static let actions = [Reference.Action.deleteSelf, .validate]

    private func pointing(_ name: String, at target: String, _ action: Reference.Action) -> RecordOperation {
        .make(.forceUpdate, name, ["ref": .reference(Reference(recordName: target, action: action))])
    }

    @Test(arguments: Engine.ofRules, actions) func `a target exists, or is saved in the same batch in any order`(
        engine: Engine, action: Reference.Action
    ) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        #expect(try await ann.modify([pointing("a", at: "t", action)]).map(\.error) == [.targetNotFound("ref")])
        #expect(try await ann.modify([pointing("a", at: "t", action), .create("t")]).map(\.error) == [nil, nil])
        #expect(try await ann.modify([.create("u"), pointing("b", at: "u", action)]).map(\.error) == [nil, nil])
        #expect(try await ann.modify([pointing("c", at: "t", action)]).map(\.error) == [nil])
        let refused = try await ann.modify([.make(.create, "v", type: nil), pointing("d", at: "v", action)])
        #expect(refused.map(\.error?.code) == [.badRequest, .validatingReferenceError], "a target whose save is refused is none")
        #expect(try await ann.modify([pointing("e", at: "", action)]).first?.error?.code == .badRequest)
        #expect(try await ann.modify([pointing("e", at: "_x", action)]).map(\.error) == [.targetNotFound("ref")], "a user who is not there")
        #expect(try await ann.living(["a", "b", "c", "d", "e"]) == ["a", "b", "c"])
    }

    @Test(arguments: Engine.ofRules, actions) func `a tombstone is no target, and a record may refer to itself`(
        engine: Engine, action: Reference.Action
    ) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.modify([.create("t")])
        try await ann.modify([.delete("t")])
        #expect(try await ann.modify([pointing("a", at: "t", action)]).map(\.error) == [.targetNotFound("ref")])
        #expect(try await ann.modify([pointing("s", at: "s", action)]).map(\.error) == [nil])
        #expect(try await ann.modify([.delete("s")]).map(\.error) == [nil])
        #expect(try await ann.living(["s"]).isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `a reference that only points may dangle, and stays when its target goes`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.modify([.create("t"), pointing("a", at: "t", .none), pointing("b", at: "nowhere", .none)])
        try await ann.modify([.delete("t")])
        let fields = try await ann.lookup(["a", "b"]).map { $0.record?.fields["ref"] }
        let zone = ZoneID(zoneName: ZoneID.defaultZoneName, ownerRecordName: "_ann")
        #expect(fields == ["t", "nowhere"].map { .reference(Reference(recordName: $0, action: .none, zoneID: zone)) })
    }

    @Test(arguments: Engine.ofRules) func `each link of a chain falls with the one before it, in any order`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        let chain = (1...20).map { RecordOperation.holder("r\($0)", of: ["r\($0 - 1)"]) }
        #expect(try await ann.modify(chain).map(\.error) == Array(repeating: .targetNotFound("owner"), count: 20))
        #expect(try await ann.modify(chain.reversed()).map(\.error) == Array(repeating: .targetNotFound("owner"), count: 20))
        #expect(try await ann.modify(chain.reversed() + [.create("r0")]).allSatisfy { $0.error == nil })
    }

    @Test(arguments: Engine.ofRules) func `in an atomic zone a missing target takes the batch with it`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("Z")
        let answers = try await ann.modify([.create("a"), .holder("h", of: ["none"])], zone: "Z")
        #expect(answers.map(\.error?.code) == [.atomicError, .validatingReferenceError])
        #expect(try await ann.living(["a", "h"], zone: "Z").isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `what a save keeps is not looked up again`(engine: Engine) async throws {
        let counting = CountingStore(try await engine.makeStore())
        let ann = TestCloud(counting).user("_ann")
        try await ann.modify([.create("t"), .holder("h", of: ["t"])])
        counting.reset()
        #expect(try await ann.modify([.update("h", ["n": .int64(1)])]).first?.record?.fields.count == 2)
        #expect(counting.transactions.last?.verbs == [.advance, .records, .apply])
    }

    @Test(arguments: Engine.ofRules) func `a target that is validated stays while somebody refers to it`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.modify([.create("t"), .create("u"), .holder("v", validates: ["t"])])
        #expect(try await ann.modify([.delete("t")]).map(\.error) == [.deleteViolatesReference("t")])
        #expect(try await ann.modify([.make(.forceUpdate, "v", cleared: ["validates"]), .delete("t")]).map(\.error) == [nil, nil])
        try await ann.modify([.holder("v", validates: ["u"])])
        #expect(try await ann.modify([.delete("u"), .holder("w", validates: ["u"])]).map(\.error) == [.deleteViolatesReference("u"), nil])
        #expect(try await ann.modify([.delete("u"), .delete("v"), .delete("w")]).map(\.error) == [nil, nil, nil])
    }

    @Test(arguments: Engine.ofRules) func `a thing is held by whoever refers to it, and not by one that did`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.modify([.create("t"), .holder("v", validates: ["t"]), .holder("h", of: ["t"])])
        try await ann.modify([.holder("v"), .holder("h")])
        #expect(try await ann.modify([.delete("t")]).map(\.error) == [nil])
        #expect(try await ann.living(["v", "h"]) == ["v", "h"])
    }

    // MARK: 750

    @Test(arguments: Engine.ofRules) func `at most 750 records go with one, counted over the store and the batch`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.modify([.create("t"), .create("u")])
        try await ann.save((0..<740).map { .holder("h\(1000 + $0)", of: ["t"]) })
        let more = (0..<20).map { RecordOperation.holder("m\(1000 + $0)", of: ["t"]) }
        let answers = try await ann.modify(more)
        #expect(answers.map(\.error) == Array(repeating: nil, count: 10) + Array(repeating: .tooManyOwningReferences, count: 10))
        #expect(try await ann.modify([.holder("n", of: ["u", "t"])]).map(\.error) == [.tooManyOwningReferences])
        #expect(try await ann.modify([.holder("h1000", of: ["t"])]).map(\.error) == [nil], "one that refers already is no new one")
        #expect(try await ann.modify([.holder("n", of: ["t"]), .delete("h1001")]).map(\.error) == [nil, nil], "one goes, one comes")
        #expect(try await ann.modify([.holder("h1002"), .holder("o", of: ["t"])]).map(\.error) == [nil, nil])
        #expect(try await ann.modify([.holder("p", of: ["t"])]).map(\.error) == [.tooManyOwningReferences])
        #expect(try await ann.modify([.holder("q", of: ["u"])]).map(\.error) == [nil])
        #expect(ServerError.tooManyOwningReferences.nativeCode == NativeErrorCode.limitExceeded.rawValue)
        #expect(try await ann.modify([.delete("t")]).map(\.error) == [nil])
        #expect(try await ann.living((0..<740).map { "h\(1000 + $0)" } + ["n", "o", "q"]) == ["h1002", "q"])
    }
}
