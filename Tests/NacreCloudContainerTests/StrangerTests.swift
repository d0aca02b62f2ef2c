import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests of references to a stranger's record in a public database, beside the same references among a user's own
/// records.
@Suite struct StrangerTests {
    // MARK: The table

    enum Tie: CaseIterable { case parent, validate, deleteSelf, none }
    enum Place: CaseIterable { case privately, publicly }

    struct Cell: CustomTestStringConvertible {
        var tie: Tie
        var place: Place
        var isStrangers: Bool
        var testDescription: String { "\(tie), \(place), \(isStrangers ? "a stranger's" : "one's own")" }
    }

    static let table: [Cell] = Tie.allCases.flatMap { tie in
        [
            Cell(tie: tie, place: .privately, isStrangers: false), Cell(tie: tie, place: .publicly, isStrangers: false),
            Cell(tie: tie, place: .publicly, isStrangers: true),
        ]
    }

    private static func holder(_ tie: Tie, of target: String) -> RecordOperation {
        func reference(_ action: Reference.Action) -> RecordFields { ["ref": .reference(Reference(recordName: target, action: action))] }
        return switch tie {
        case .parent: .create("h", parent: target)
        case .validate: .create("h", reference(.validate))
        case .deleteSelf: .create("h", reference(.deleteSelf))
        case .none: .create("h", reference(.none))
        }
    }

    /// Returns for each cell whether the save changes the target's tag, whether its owner may delete it, and whether
    /// the holder is deleted with it.
    private static func expected(_ cell: Cell) -> (touches: Bool, holds: Bool, goes: Bool) {
        switch cell.tie {
        case .parent: (!cell.isStrangers, !cell.isStrangers, false)
        case .validate: (false, !cell.isStrangers, false)
        case .deleteSelf: (false, false, true)
        case .none: (false, false, false)
        }
    }

    @Test(arguments: Engine.ofRules, table) func `a stranger's reference costs the owner of its target nothing`(engine: Engine, cell: Cell)
        async throws
    {
        let test = try await TestCloud(engine)
        let scope: DatabaseKey.Scope = cell.place == .publicly ? .public : .private
        let ann = test.user("_ann", in: scope)
        let who = cell.isStrangers ? test.user("_bob", in: scope) : ann
        let target = try #require(try await ann.modify([.create("t")]).first?.record)
        let held = try #require(try await who.modify([Self.holder(cell.tie, of: "t")]).first?.record)
        let wanted = Self.expected(cell)
        let now = try #require(try await ann.lookup(["t"]).first?.record)
        #expect((now.recordChangeTag != target.recordChangeTag) == wanted.touches)
        // The owner's next save succeeds with the old tag if nothing touched the record.
        let save = try await ann.modify([.make(.update, "t", tag: target.recordChangeTag)]).first
        #expect(save?.error?.code == (wanted.touches ? .conflict : nil))
        let deletion = try await ann.modify([.delete("t")]).first
        #expect(deletion?.error == (wanted.holds ? .deleteViolatesReference("t") : nil))
        #expect(try await ann.living(["t", "h"]) == (wanted.holds ? ["t", "h"] : wanted.goes ? [] : ["h"]))
        guard !wanted.holds, !wanted.goes else { return }
        // The reference is unchanged, and its owner may send it back, change it or clear it.
        let left = try #require(try await who.lookup(["h"]).first?.record)
        #expect(left.fields == held.fields && left.parent == held.parent && left.recordChangeTag == held.recordChangeTag)
        let back = RecordChange(
            recordName: "h", recordType: "Note", recordChangeTag: left.recordChangeTag, set: left.fields,
            parent: left.parent.map { .set(Reference(recordName: $0.recordName, action: .none)) } ?? .keep)
        let again = try #require(try await who.modify([RecordOperation(.replace, back)]).first?.record)
        #expect(again.fields == left.fields && again.parent == left.parent)
        #expect(try await who.modify([.make(.forceReplace, "h", [:], parent: .clear)]).first?.record?.parent == nil)
    }

    // MARK: Among more records

    private func owned(_ name: String, by owner: String) -> RecordOperation { .holder(name, of: [owner]) }

    @Test(arguments: Engine.ofRules) func `a stranger's record that its creator holds stays behind, and holds up nothing`(engine: Engine)
        async throws
    {
        let test = try await TestCloud(engine)
        let (ann, bob) = (test.user("_ann", in: .public), test.user("_bob", in: .public))
        try await ann.save([.create("post"), owned("photo", by: "post")])
        try await bob.save([owned("comment", by: "post"), owned("reply", by: "comment"), .holder("keeper", validates: ["reply"])])
        #expect(try await ann.modify([.delete("post")]).map(\.error) == [nil])
        #expect(try await ann.living(["post", "photo", "comment", "reply", "keeper"]) == ["comment", "reply", "keeper"])
        // Among Bob's own records the usual rule holds.
        #expect(try await bob.modify([.delete("comment")]).map(\.error) == [.deleteViolatesReference("reply")])
        #expect(try await bob.modify([.delete("keeper"), .delete("comment")]).map(\.error) == [nil, nil])
        #expect(try await ann.living(["comment", "reply", "keeper"]).isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `the owner's own hold counts, whatever strangers do beside it`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let (ann, bob) = (test.user("_ann", in: .public), test.user("_bob", in: .public))
        try await ann.save([.create("post"), .holder("index", validates: ["post"])])
        try await bob.save([owned("comment", by: "post"), .create("child", parent: "post")])
        #expect(try await ann.modify([.delete("post")]).map(\.error) == [.deleteViolatesReference("post")])
        #expect(try await ann.living(["post", "index", "comment", "child"]).count == 4)
        #expect(try await ann.modify([.holder("index"), .delete("post")]).map(\.error) == [nil, nil])
        #expect(try await ann.living(["post", "index", "comment", "child"]) == ["index", "child"])
        // A new target of the same name is not held by holders of the old one.
        try await bob.save([.create("post")])
        #expect(try await bob.modify([.delete("post")]).map(\.error) == [nil])
    }

    @Test(arguments: Engine.ofRules) func `strangers cannot use up the room of the owner's own records`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let (ann, bob, cid) = (test.user("_ann", in: .public), test.user("_bob", in: .public), test.user("_cid", in: .public))
        try await ann.save([.create("post")])
        try await bob.save((0..<Limits.owningReferences).map { owned("b\($0)", by: "post") })
        for stranger in [bob, cid] {
            #expect(try await stranger.modify([owned("more", by: "post")]).first?.error == .tooManyOwningReferences)
        }
        try await ann.save((0..<Limits.owningReferences).map { owned("a\($0)", by: "post") })
        #expect(try await ann.modify([owned("more", by: "post")]).first?.error == .tooManyOwningReferences)
        // Room that a stranger frees is for strangers.
        #expect(try await bob.modify([.delete("b0")]).first?.error == nil)
        #expect(try await ann.modify([owned("more", by: "post")]).first?.error == .tooManyOwningReferences)
        #expect(try await cid.modify([owned("more", by: "post")]).first?.error == nil)
        #expect(try await ann.modify([.delete("post")]).map(\.error) == [nil])
        while try await test.cloud.runDueTasks().taken > 0 {}
        let names = (0..<Limits.owningReferences).flatMap { ["a\($0)", "b\($0)"] } + ["more", "post"]
        #expect(try await ann.living(names).isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `a cascade of strangers' records goes on by tasks, and leaves what is held`(engine: Engine) async throws {
        let test = try await TestCloud(engine, cascadePerTransaction: 2)
        let (ann, bob) = (test.user("_ann", in: .public), test.user("_bob", in: .public))
        try await ann.save([.create("post")])
        try await bob.save((0..<6).map { owned("c\($0)", by: "post") })
        try await bob.save([owned("r0", by: "c0"), .holder("keeper", validates: ["c1"])])
        #expect(try await ann.modify([.delete("post")]).map(\.error) == [nil])
        while try await test.cloud.runDueTasks().taken > 0 {}
        #expect(try await ann.living(["post", "c0", "c1", "c2", "c3", "c4", "c5", "r0", "keeper"]) == ["c1", "keeper"])
    }

    @Test(arguments: Engine.ofRules) func `a target must be there for strangers too`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let bob = test.user("_bob", in: .public)
        for tie in Tie.allCases {
            let error = try await bob.modify([Self.holder(tie, of: "nothing")]).first?.error
            #expect(error?.code == (tie == .none ? nil : .validatingReferenceError), "\(tie)")
        }
    }
}
