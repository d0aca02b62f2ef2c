import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests that a request with an operation ID is done once, however often it is sent.
@Suite struct OperationLogTests {
    @Test(arguments: Engine.ofRules) func `a retry gets the same answer and nothing is done twice`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        try await ann.modify([.create("there"), .create("goes")], zone: "Z")
        let operations: [RecordOperation] = [
            .create("a", ["n": .int64(1)]), .create(nil), .create("there"), .delete("goes"), .delete("never"), .create("_bad"),
        ]
        let first = try await ann.modify(operations, zone: "Z", atomic: false, id: "op", digest: [7])
        #expect(first.map(\.error?.code) == [nil, nil, .conflict, nil, nil, .badRequest])
        let token = try await ann.changes("Z").syncToken
        test.clock.move(bySeconds: 100)
        for _ in 0..<3 {
            #expect(try await ann.modify(operations, zone: "Z", atomic: false, id: "op", digest: [7]) == first)
        }
        #expect(try await ann.changes("Z", after: token).records.isEmpty)
        #expect(first[1].recordName?.utf8.count == 36)
    }

    @Test(arguments: Engine.ofRules) func `a retry that deletes what was deleted before says the same type`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.modify([.create("gone")])
        try await ann.modify([.delete("gone")])
        let operations: [RecordOperation] = [.create("a"), .delete("gone")]
        let first = try await ann.modify(operations, id: "op")
        #expect(first.last?.tombstone?.recordType == "Note")
        #expect(try await ann.modify(operations, id: "op") == first)
    }

    @Test(arguments: Engine.ofRules) func `an ID with other bytes is refused and nothing is done`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.modify([.create("a")], id: "op", digest: [1])
        await #expect(throws: ServerError.operationReused) { try await ann.modify([.create("b")], id: "op", digest: [2]) }
        #expect(try await ann.lookup(["b"]).first?.error == .recordNotFound)
        #expect(try await ann.modify([.create("b")], id: "op2", digest: [2]).first?.error == nil)
    }

    @Test(arguments: Engine.ofRules) func `an ID is its user's own`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let (ann, bob) = (test.user("_ann", in: .public), test.user("_bob", in: .public))
        try await ann.modify([.create("a")], id: "1", digest: [1])
        #expect(try await bob.modify([.create("b")], id: "1", digest: [2]).first?.record?.created.userRecordName == "_bob")
        #expect(try await bob.modify([.create("a")], id: "2", digest: [1]).first?.error?.code == .conflict)
    }

    @Test(arguments: Engine.ofRules) func `a record changed since is answered as it is now, one deleted since is lost`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("Z")
        try await ann.modify([.create("there")], zone: "Z")
        let operations: [RecordOperation] = [.create("a", ["n": .int64(1)]), .create("b"), .create("there")]
        try await ann.modify(operations, zone: "Z", atomic: false, id: "op")
        let newer = try #require(try await ann.modify([.update("a", ["n": .int64(2)]), .delete("b"), .delete("there")], zone: "Z").first?.record)
        let retried = try await ann.modify(operations, zone: "Z", atomic: false, id: "op")
        #expect(retried.first?.record == newer)
        #expect(retried[1].error == .lostSinceSaved)
        #expect(retried[2].error?.code == .conflict && retried[2].error?.serverRecord == nil)
        try await ann.deleteZone("Z")
        await #expect(throws: ServerError.zoneNotFound(ZoneID(zoneName: "Z"))) {
            try await ann.modify(operations, zone: "Z", atomic: false, id: "op")
        }
        try await ann.makeZone("Z")
        #expect(try await ann.modify(operations, zone: "Z", atomic: false, id: "op").first?.error == .lostSinceSaved)
    }

    @Test(arguments: Engine.ofRules) func `an operation is remembered for eight days and then forgotten`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        let first = try await ann.modify([.create("a")], id: "op")
        test.clock.move(bySeconds: 8 * 24 * 3600 - 1)
        #expect(try await test.cloud.removeExpired() == 0)
        #expect(try await ann.modify([.create("a")], id: "op") == first)
        test.clock.move(bySeconds: 2)
        #expect(try await test.cloud.removeExpired() == 1)
        #expect(try await ann.modify([.create("a")], id: "op").first?.error?.code == .conflict)
    }

    /// Logs old operations of a user, so many that they fill his share.
    private func fill(
        _ test: TestCloud, _ database: DatabaseID, of caller: String, secondsAgo: Double, count: Int = Limits.operationsPerCaller, bytes: Int = 0
    ) async throws {
        let done = test.clock.now + -secondsAgo
        try await test.store.write { transaction in
            var plan = WritePlan()
            plan.operations = (0..<count).map { index in
                OperationRow(
                    database: database, id: "\(caller)/flood\(index)", caller: caller, digest: [], result: Array(repeating: 1, count: bytes),
                    expires: done + Limits.operationSeconds + Double(index) / 1e6)
            }
            try transaction.apply(plan)
            return .commit(())
        }
    }

    private func trim(_ test: TestCloud, _ database: DatabaseID, of caller: String) async throws {
        let task = TrimOperations.task(in: database, of: caller, due: test.clock.now)
        try await test.store.write { transaction in
            var plan = WritePlan()
            plan.tasks = [task]
            try transaction.apply(plan)
            return .commit(())
        }
        while try await test.cloud.runDueTasks().taken > 0 {}
    }

    @Test(arguments: Engine.ofRules) func `a flood of another user's saves pushes nobody else's result out`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let (ann, bob) = (test.user("_ann", in: .public), test.user("_bob", in: .public))
        let first = try await ann.modify([.update("a", ["n": .int64(1)])], id: "op")
        test.clock.move(bySeconds: Limits.operationMinimumSeconds + 1)
        let id = try await test.cloud.databaseID(databaseVerdict(ann.target, for: .write, by: ann.caller).get())
        try await fill(test, id, of: "_bob", secondsAgo: Limits.operationMinimumSeconds + 0.5)
        try await fill(test, id, of: "_bob", secondsAgo: 0.5, count: 1000)
        try await bob.modify([.create("b")], id: "op")
        try await trim(test, id, of: "_bob")
        try await trim(test, id, of: "_ann")
        #expect(try await ann.modify([.update("a", ["n": .int64(1)])], id: "op", age: 901) == first)
    }

    @Test(arguments: Engine.ofRules) func `a repetition beyond what is kept is told so and not done, one within is answered as before`(
        engine: Engine
    ) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        let id = try await test.cloud.databaseID(databaseVerdict(ann.target, for: .write, by: ann.caller).get())
        let old: [RecordOperation] = [.update("a", ["n": .int64(1)])]
        try await ann.modify(old, id: "old")
        test.clock.move(bySeconds: 3600)
        try await ann.modify([.update("a", ["n": .int64(2)])], id: "newer")
        try await fill(test, id, of: "_ann", secondsAgo: 0)
        try await trim(test, id, of: "_ann")
        await #expect(throws: ServerError.responseLost) { try await ann.modify(old, id: "old", age: 3600) }
        #expect(try await ann.lookup(["a"]).first?.record?.fields["n"] == .int64(2), "it did not go over the newer value")
        let never: [RecordOperation] = [.update("a", ["n": .int64(3)])]
        await #expect(throws: ServerError.responseLost) { try await ann.modify(never, id: "never", age: 3600) }
        #expect(try await ann.modify(never, id: "never", age: 3000).first?.error == nil, "sent first after all that is trimmed: it did not arrive")
        let replayed = try await ann.modify(never, id: "never", age: 3001)
        #expect(replayed.first?.record?.fields["n"] == .int64(3))
        #expect(try await ann.modify([.update("a")], id: "fresh").first?.error == nil, "what is not repeated is done")
    }

    @Test(arguments: Engine.ofRules) func `results are kept for the minimum whatever their caller does`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        let id = try await test.cloud.databaseID(databaseVerdict(ann.target, for: .write, by: ann.caller).get())
        let first = try await ann.modify([.create("a")], id: "op")
        test.clock.move(bySeconds: Limits.operationMinimumSeconds - 1)
        try await fill(test, id, of: "_ann", secondsAgo: 0)
        try await trim(test, id, of: "_ann")
        #expect(try await ann.modify([.create("a")], id: "op", age: 899) == first)
        test.clock.move(bySeconds: 2)
        try await trim(test, id, of: "_ann")
        await #expect(throws: ServerError.responseLost) { try await ann.modify([.create("a")], id: "op", age: 901) }
    }

    @Test(arguments: Engine.ofRules) func `a horizon outlives no result, and then age alone tells`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        let id = try await test.cloud.databaseID(databaseVerdict(ann.target, for: .write, by: ann.caller).get())
        try await ann.modify([.create("a")], id: "op")
        test.clock.move(bySeconds: 3600)
        try await fill(test, id, of: "_ann", secondsAgo: 0)
        try await trim(test, id, of: "_ann")
        test.clock.move(bySeconds: Limits.operationSeconds + 3600)
        while try await test.cloud.removeExpired() > 0 {}
        #expect(try await test.store.read { try $0.entries(in: id, .operationHorizon, keys: ["_ann"]) }.isEmpty)
        await #expect(throws: ServerError.responseLost) { try await ann.modify([.create("a")], id: "op", age: Limits.operationSeconds + 3600) }
        let zones = ZonesModifyRequest(operations: [ZoneOperation(.create, ZoneID(zoneName: "Z"))], extension: RequestExtension(operationID: "z"))
        await #expect(throws: ServerError.responseLost) {
            try await ann.cloud.modifyZones(zones, in: ann.target, by: ann.caller, digest: [], age: Limits.operationSeconds)
        }
    }

    @Test(arguments: Engine.ofRules) func `a log is bounded by its bytes too, and a request of failures keeps few`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        let id = try await test.cloud.databaseID(databaseVerdict(ann.target, for: .write, by: ann.caller).get())
        try await ann.modify([.create("there", ["t": .string("")])])
        let wrong = (0..<399).map { RecordOperation.create("n\($0)", ["t": .int64(1)]) }
        let first = try await ann.modify([.make(.forceUpdate, "there")] + wrong, id: "op")
        let row = try await test.store.read { try $0.operation(in: id, "_ann/op") }
        #expect(try #require(row).result.count < 1500)
        #expect(try await ann.modify([.make(.forceUpdate, "there")] + wrong, id: "op") == first)
        try await fill(test, id, of: "_ann", secondsAgo: Limits.operationMinimumSeconds + 1, count: 500, bytes: Limits.operationBytesPerCaller / 400)
        try await trim(test, id, of: "_ann")
        let left = try await test.store.write { transaction -> Ending<Int> in
            let far = test.clock.now + 2 * Limits.operationSeconds
            return .rollback(try transaction.trimOperations(in: id, by: "_ann", keeping: 0, bytes: .max, expiringThrough: far, limit: .max).count)
        }
        #expect(left == 400, "the newest, one of them smaller")
    }

    @Test func `who only changes subscriptions is trimmed as well`() async throws {
        let test = try await TestCloud(.memory)
        let ann = test.user("_ann")
        var commits = 0
        while try await test.cloud.runDueTasks().taken == 0, commits < 20 * Int(TrimOperations.commitsPerTask) {
            let subscription = Subscription(subscriptionID: "s\(commits % 2)", kind: .database(recordType: nil))
            let request = SubscriptionsModifyRequest(
                operations: [.create(subscription), .delete("s\((commits + 1) % 2)")], extension: RequestExtension(operationID: "\(commits)"))
            _ = try await test.cloud.modifySubscriptions(request, in: ann.target, by: ann.caller, digest: [1])
            commits += 1
        }
        #expect(commits > 0 && commits < 20 * Int(TrimOperations.commitsPerTask))
    }

    @Test(arguments: Engine.ofRules) func `whoever writes much is trimmed`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        let id = try await test.cloud.databaseID(databaseVerdict(ann.target, for: .write, by: ann.caller).get())
        try await fill(test, id, of: "_ann", secondsAgo: Limits.operationMinimumSeconds + 1, count: Limits.operationsPerCaller + 700)
        var commits = 0
        while try await test.cloud.runDueTasks().taken == 0, commits < 20 * Int(TrimOperations.commitsPerTask) {
            try await ann.modify([.update("a")], id: "op\(commits)")
            commits += 1
        }
        while try await test.cloud.runDueTasks().taken > 0 {}
        let more = try await test.store.write { transaction -> Ending<Int> in
            let far = test.clock.now + 2 * Limits.operationSeconds
            return .rollback(try transaction.trimOperations(in: id, by: "_ann", keeping: 0, bytes: .max, expiringThrough: far, limit: .max).count)
        }
        #expect(more == Limits.operationsPerCaller, "after \(commits) commits")
    }

    struct Repetition: Sendable, CustomTestStringConvertible {
        var age: Double?
        /// Seconds before now.
        var horizon: Double?
        var isLost: Bool
        var testDescription: String { "sent \(age.map { "\($0) s ago" } ?? "now"), trimmed up to \(horizon.map { "\($0) s ago" } ?? "nothing")" }

        static let table: [Repetition] = [
            .init(age: nil, horizon: nil, isLost: false), .init(age: nil, horizon: 0, isLost: false),
            .init(age: 0, horizon: nil, isLost: false), .init(age: 5000, horizon: nil, isLost: false),
            .init(age: 5000, horizon: 5200, isLost: false), .init(age: 5000, horizon: 5120, isLost: true),
            .init(age: 5000, horizon: 5000, isLost: true), .init(age: 5000, horizon: 900, isLost: true),
            .init(age: Limits.operationSeconds - 200, horizon: nil, isLost: false),
            .init(age: Limits.operationSeconds - 100, horizon: nil, isLost: true),
            .init(age: Limits.operationSeconds, horizon: 2 * Limits.operationSeconds, isLost: true), .init(age: 1e300, horizon: nil, isLost: true),
        ]
    }

    @Test(arguments: Repetition.table) func `a repetition is lost where its first sending may be older than what is kept`(example: Repetition) throws
    {
        let now = Timestamp(secondsSince2001: 800_000_000)
        let log = try #require(OperationLog(RequestExtension(operationID: "op"), by: Caller(.user("_ann")), digest: [], age: example.age))
        #expect((log.fault(horizon: example.horizon.map { now + -$0 }, at: now) != nil) == example.isLost)
    }

    @Test func `the log keeps longer than a prompt client of ours repeats a request`() {
        // The framework: four attempts of 60 seconds each, with pauses of about five seconds in all.
        #expect(Limits.operationMinimumSeconds > 2 * (4 * 60 + 6) && Limits.operationDelaySeconds >= 2 * 60)
        #expect(Limits.operationMinimumSeconds > Limits.operationDelaySeconds)
    }

    @Test(arguments: Engine.ofRules) func `making and deleting zones is done once too`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        func send(_ operations: [ZoneOperation], _ id: String, digest: [UInt8] = [1]) async throws -> [ZoneResult] {
            let request = ZonesModifyRequest(operations: operations, extension: RequestExtension(operationID: id))
            return try await ann.cloud.modifyZones(request, in: ann.target, by: ann.caller, digest: digest).zones
        }
        let zoneID = ZoneID(zoneName: "Z")
        let unknown = ZoneOperation(.delete, ZoneID(zoneName: "nowhere"))
        let made = try await send([ZoneOperation(.create, zoneID), unknown], "make")
        #expect(try await send([ZoneOperation(.create, zoneID), unknown], "make") == made)
        let deleted = try await send([ZoneOperation(.delete, zoneID)], "delete")
        #expect(try await send([ZoneOperation(.delete, zoneID)], "delete") == deleted, "its zone was found, the first time")
        #expect(try await send([ZoneOperation(.create, zoneID), unknown], "make").map(\.error?.code) == [.zoneNotFound, .zoneNotFound])
        try await ann.makeZone("Z")
        try await ann.modify([.create("r")], zone: "Z")
        #expect(try await send([ZoneOperation(.delete, zoneID)], "delete") == deleted)
        #expect(try await ann.lookup(["r"], zone: "Z").first?.record != nil, "a late retry spares the zone that was made since")
        await #expect(throws: ServerError.operationReused) { try await send([unknown], "delete", digest: [2]) }
        await #expect(throws: ServerError.self) { try await send([unknown], "") }
    }
}
