import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests in which the store fails at its first call, then at its second, and so on: the state is as before or as
/// after, never in between.
@Suite struct FaultTests {
    /// One change of a cloud: a client's request, by name.
    struct Change: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var run: @Sendable (TestCloudUser) async throws -> Void

        init(_ name: String, _ run: @escaping @Sendable (TestCloudUser) async throws -> Void) {
            testDescription = name
            self.run = run
        }
    }

    static let changes: [Change] = [
        Change("first save into the default zone") { try await $0.modify([.create("a"), .create("b", parent: "a")], id: "op") },
        Change("mixed batch") {
            try await $0.modify(
                [.create("a"), .update("r1"), .delete("r2"), .create("c", parent: "r0"), .update("k")], zone: "Z", id: "op", token: [9])
        },
        Change("a save that brings a type and a field") {
            try await $0.modify(
                [.make(.create, "a", type: "Other", ["x": .string("y")]), .create("b", ["x": .int64(1)]), .update("r1", ["x": .int64(2)])], zone: "Z")
        },
        Change("atomic batch that falls") { try await $0.modify([.create("a"), .create("r1")], zone: "Z") },
        Change("deletion with a child outside") { try await $0.modify([.delete("p")], zone: "Z") },
        Change("zones made and deleted") {
            try await $0.modifyZones(ZoneOperation(.create, ZoneID(zoneName: "N")), ZoneOperation(.delete, ZoneID(zoneName: "Z")))
        },
    ]

    /// Everything that a client can see.
    private struct View: Equatable {
        var zones: [ZoneResult]
        var feeds: [ChangesZoneResponse.Result]
        var database: ChangesDatabaseResponse
        var records: [RecordResult]

        /// The part that is comparable after an interrupted run: keys of new zones are drawn anew, and are in tokens.
        var withoutKeys: View {
            var view = self
            view.zones = zones.map { $0.zone.map { .zone(Zone(zoneID: $0.zoneID, syncToken: nil, atomic: $0.atomic)) } ?? $0 }
            view.feeds = feeds.map { feed in
                guard case .page(var page) = feed else { return feed }
                page.syncToken = ""
                return .page(page)
            }
            return view
        }
    }

    private func view(_ user: TestCloudUser) async throws -> View {
        let zones = try await user.cloud.listZones(in: user.target, by: user.caller).zones
        let asked = ["Z", "Y", "N"].map { ChangesZoneRequest.Item(zoneID: ZoneID(zoneName: $0)) }
        return View(
            zones: zones, feeds: try await user.cloud.zoneChanges(ChangesZoneRequest(zones: asked), in: user.target, by: user.caller).zones,
            database: try await user.databaseChanges(), records: try await user.lookup(["a", "b", "r1"]))
    }

    private func prepare(_ user: TestCloudUser) async throws {
        try await user.makeZone("Z", "Y")
        try await user.modify([.create("r0"), .create("r1"), .create("r2"), .create("p"), .create("k", parent: "p")], zone: "Z")
    }

    @Test(arguments: Engine.ofRules, changes) func `whichever call fails, a change happened or did not, and its retry ends it`(
        engine: Engine, change: Change
    ) async throws {
        let whole = try await TestCloud(engine).user("_ann")
        try await prepare(whole)
        try await change.run(whole)
        let after = try await view(whole)
        for call in 1...40 {
            let failing = FailingStore(try await engine.makeStore(), failingAtCall: nil)
            let test = TestCloud(failing)
            let ann = test.user("_ann")
            try await prepare(ann)
            let before = try await view(ann)
            _ = test.takeMoved()
            failing.fail(atCall: call)
            do {
                try await change.run(ann)
                if failing.callsMade < call { return }
            } catch let error as ServerError {
                #expect(error.code == .tryAgainLater && error.retryAfter != nil && error.nativeCode == NativeErrorCode.serviceUnavailable.rawValue)
                #expect(test.takeMoved().isEmpty)
            }
            failing.fail(atCall: nil)
            #expect(try await view(ann) == before, "call \(call)")
            try await change.run(ann)
            #expect(try await view(ann).withoutKeys == after.withoutKeys, "call \(call)")
        }
        Issue.record("a change of more than 40 calls")
    }

    @Test(arguments: Engine.ofRules, 1...8) func `a read that fails says of each zone to try again`(engine: Engine, call: Int) async throws {
        let failing = FailingStore(try await engine.makeStore(), failingAtCall: nil)
        let test = TestCloud(failing)
        let ann = test.user("_ann")
        try await prepare(ann)
        failing.fail(atCall: call)
        let asked = ["Z", "Y"].map { ChangesZoneRequest.Item(zoneID: ZoneID(zoneName: $0), resultsLimit: 1) }
        let results = try await ann.cloud.zoneChanges(ChangesZoneRequest(zones: asked), in: ann.target, by: ann.caller).zones
        let errors = results.compactMap { result -> ServerError? in
            if case .failure(_, let error) = result { error } else { nil }
        }
        #expect(errors.map(\.code) == (failing.callsMade >= call ? [.tryAgainLater, .tryAgainLater] : []))
        for read in [
            { _ = try await ann.lookup(["r0"], zone: "Z") }, { _ = try await ann.databaseChanges() },
            { _ = try await ann.cloud.listZones(in: ann.target, by: ann.caller) },
        ] as [() async throws -> Void] {
            failing.fail(atCall: 1)
            let error = await #expect(throws: ServerError.self) { try await read() }
            #expect(error?.code == .tryAgainLater && error?.retryAfter != nil)
        }
    }

    @Test func `damage of one zone keeps no changes of others back`() async throws {
        let store = DamagedZoneStore(try await Engine.memory.makeStore())
        let ann = TestCloud(store).user("_ann")
        for zone in ["X", "Y", "Z"] {
            try await ann.makeZone(zone)
            try await ann.modify([.create("r")], zone: zone)
        }
        let id = try await ann.cloud.databaseID(databaseVerdict(ann.target, for: .write, by: ann.caller).get())
        store.damage(try #require(try await store.read { try $0.zones(in: id, named: ["Y"]) }.first).address)
        let asked = ["X", "Y", "Z"].map { ChangesZoneRequest.Item(zoneID: ZoneID(zoneName: $0)) }
        let results = try await ann.cloud.zoneChanges(ChangesZoneRequest(zones: asked), in: ann.target, by: ann.caller).zones
        let heard = results.map { result in
            switch result {
            case .page(let page): page.records.map(\.recordName)
            case .failure(_, let error): [error.code.rawValue]
            }
        }
        #expect(heard == [["r"], [ServerError(DamagedZoneStore.failure).code.rawValue], ["r"]])
    }

    @Test(arguments: StoreErrorCase.all) func `what a store cannot is told as what a client can do`(example: StoreErrorCase) {
        let error = ServerError(StoreError(example.code, "text", ["path": "/secret"]))
        #expect(error.code == example.expected && (error.retryAfter != nil) == (example.expected == .tryAgainLater))
        #expect(!error.reason.contains("secret") && error.field == nil)
    }

    struct StoreErrorCase: Sendable {
        var code: StoreError.Code
        var expected: ServerErrorCode

        static let all: [StoreErrorCase] = [
            .init(code: .full, expected: .tryAgainLater), .init(code: .unavailable, expected: .tryAgainLater),
            .init(code: .readOnly, expected: .tryAgainLater), .init(code: .closed, expected: .tryAgainLater),
            .init(code: .collision, expected: .tryAgainLater),
            .init(code: .corrupt, expected: .internalError),
            .init(code: .inUse, expected: .internalError), .init(code: .newerVersion, expected: .internalError),
        ]
    }

    @Test(arguments: Engine.ofRules) func `a damaged record is an error and never an answer`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        try await ann.modify([.create("r"), .create("s")], zone: "Z")
        let id = try await test.cloud.databaseID(databaseVerdict(ann.target, for: .write, by: ann.caller).get())
        try await test.store.write { transaction in
            let zone = try #require(try transaction.zones(in: id, named: ["Z"]).first)
            var row = try #require(try transaction.records(in: zone.address, named: ["r"]).first)
            row.body[row.body.count / 2] ^= 1
            var plan = WritePlan()
            plan.records = [.damaged(row, in: zone.address, over: row)]
            try transaction.apply(plan)
            return .commit(())
        }
        for results in [try await ann.lookup(["r", "s"], zone: "Z"), try await ann.changes("Z").records] {
            #expect(results.map(\.error) == [.recordDamaged, nil] && results.last?.record != nil)
        }
        #expect(try await ann.modify([.update("r")], zone: "Z").map(\.error) == [.recordDamagedBeneathMerge])
    }
}
