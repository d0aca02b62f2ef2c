import CloudTestSupport
import CloudWire
import Testing

@testable import CloudContainer

/// A request with an operation ID is done once, however often it is sent.
@Suite struct OperationLogTests {
    @Test(arguments: Engine.allCases) func `a retry gets the same answer and nothing is done twice`(engine: Engine) async throws {
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

    @Test(arguments: Engine.allCases) func `a retry that deletes what was deleted before says the same type`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.modify([.create("gone")])
        try await ann.modify([.delete("gone")])
        let operations: [RecordOperation] = [.create("a"), .delete("gone")]
        let first = try await ann.modify(operations, id: "op")
        #expect(first.last?.tombstone?.recordType == "Note")
        #expect(try await ann.modify(operations, id: "op") == first)
    }

    @Test(arguments: Engine.allCases) func `an ID with other bytes is refused and nothing is done`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.modify([.create("a")], id: "op", digest: [1])
        await #expect(throws: ServerError.operationReused) { try await ann.modify([.create("b")], id: "op", digest: [2]) }
        #expect(try await ann.lookup(["b"]).first?.error == .recordNotFound)
        #expect(try await ann.modify([.create("b")], id: "op2", digest: [2]).first?.error == nil)
    }

    @Test(arguments: Engine.allCases) func `an ID is its user's own`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let (ann, bob) = (test.user("_ann", in: .public), test.user("_bob", in: .public))
        try await ann.modify([.create("a")], id: "1", digest: [1])
        #expect(try await bob.modify([.create("b")], id: "1", digest: [2]).first?.record?.created.userRecordName == "_bob")
        #expect(try await bob.modify([.create("a")], id: "2", digest: [1]).first?.error?.code == .conflict)
    }

    @Test(arguments: Engine.allCases) func `a record changed since is answered as it is now, one deleted since is lost`(engine: Engine) async throws {
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

    @Test(arguments: Engine.allCases) func `an operation is remembered for eight days and then forgotten`(engine: Engine) async throws {
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

    @Test(arguments: Engine.allCases) func `the log is cut to its cap by a task of every 1024th commit`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        let id = try await test.cloud.databaseID(databaseVerdict(ann.target, for: .write, by: ann.caller).get())
        try await test.store.write { transaction in
            var zone = try #require(try transaction.zones(in: id, named: ["Z"]).first)
            zone.lastSeq = 1022
            var plan = WritePlan()
            plan.zones = [zone]
            plan.operations = (0..<3).map {
                OperationRow(database: id, id: "old\($0)", digest: [], result: [], expires: Timestamp(secondsSince2001: Double($0)))
            }
            try transaction.apply(plan)
            return .commit(())
        }
        try await ann.modify([.create("a")], zone: "Z", id: "op1")
        #expect(try await test.cloud.runDueTasks().taken == 0)
        try await ann.modify([.create("b")], zone: "Z", id: "op2")
        #expect(try await test.cloud.runDueTasks() == (1, 0))
        #expect(try await test.cloud.runDueTasks().taken == 0, "a task that is done does not come back")
        let kept = try await test.store.write { transaction in
            .rollback(try (0..<3).filter { try transaction.advance(zoneNamed: "", in: id, operation: "old\($0)").operation != nil }.count)
        }
        #expect(kept == 3, "a log under its cap stays whole")
    }

    @Test(arguments: Engine.allCases) func `making and deleting zones is done once too`(engine: Engine) async throws {
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
