import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of `records/modify` over every engine: its answers, and the data that it keeps unchanged.
@Suite struct ModifyRecordsTests {
    @Test(arguments: Engine.ofRules) func `a record comes back as it was saved, with stamps and a tag of the server's`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        let saved = try #require(try await ann.modify([.create("r", ["title": .string("t")])], zone: "Z").first?.record)
        #expect(saved.recordType == "Note" && saved.fields == ["title": .string("t")])
        #expect(saved.created == saved.modified && saved.created.userRecordName == "_ann" && saved.created.timestamp == test.clock.now)
        let found = try #require(try await ann.lookup(["r"], zone: "Z").first?.record)
        #expect(found.fields == saved.fields && found.recordChangeTag == saved.recordChangeTag && found.created == saved.created)
    }

    @Test(arguments: Engine.ofRules) func `answers stand in the order of the operations, and one that fails does not stop the others`(
        engine: Engine
    ) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        let results = try await ann.modify([.create("a"), .make(.update, "b", tag: "1"), .create("_c"), .delete("d"), .create("e")])
        #expect(results.map(\.recordName) == ["a", "b", "_c", "d", "e"])
        #expect(results.map(\.error?.code) == [nil, .notFound, .badRequest, nil, nil])
        #expect(try await ann.lookup(["e", "a", "b"]).map(\.error?.code) == [nil, nil, .notFound])
    }

    @Test(arguments: Engine.ofRules) func `a record without a name gets one, the same in the answer and in the store`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        let results = try await ann.modify([.create(nil, ["n": .int64(1)]), .create("own"), .create(nil, ["n": .int64(2)])])
        let names = results.compactMap(\.recordName)
        #expect(Set(names).count == 3 && names[1] == "own" && names[0].utf8.count == 36)
        #expect(try await ann.lookup(names).map { $0.record?.fields["n"] } == [.int64(1), nil, .int64(2)])
        #expect(try await ann.modify([.make(.forceUpdate, nil), .make(.update, nil, tag: "1")]).map(\.error?.field) == [nil, "recordName"])
    }

    @Test(arguments: Engine.ofRules) func `an atomic batch that fails in a custom zone writes nothing at all`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        try await ann.modify([.create("there")], zone: "Z")
        let token = try await ann.changes("Z").syncToken
        _ = test.takeMoved()
        let results = try await ann.modify([.create("a"), .create("there")], zone: "Z", id: "op", token: [1])
        #expect(results.map(\.error?.code) == [.atomicError, .conflict])
        let page = try await ann.changes("Z", after: token)
        #expect(page.records.isEmpty && page.syncToken == token && page.clientChangeToken == nil)
        #expect(test.takeMoved().isEmpty, "nobody is told of what did not happen")
        let retried = try await ann.modify([.create("b")], zone: "Z", id: "op", digest: [9])
        #expect(retried.map(\.error) == [nil], "nor does the operation's ID stay")
        let partly = try await ann.modify([.create("a"), .create("there")], zone: "Z", atomic: false)
        #expect(partly.map(\.error?.code) == [nil, .conflict])
    }

    @Test(arguments: Engine.ofRules) func `the default zone and the public database take what they can, whatever atomic says`(engine: Engine)
        async throws
    {
        let test = try await TestCloud(engine)
        for user in [test.user("_ann"), test.user("_ann", in: .public)] {
            try await user.modify([.create("there")])
            let results = try await user.modify([.create("a"), .create("there")], atomic: true)
            #expect(results.map(\.error?.code) == [nil, .conflict])
        }
    }

    @Test(arguments: Engine.ofRules) func `a first save that fails leaves no zone and no database`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        let id = try await test.cloud.databaseID(
            DatabaseKey(container: TestCloud.container, environment: .development, scope: .private, owner: "_ann"))
        try await ann.modify([.make(.update, "a", tag: "1"), .delete("b")])
        await #expect(throws: ServerError.zoneNotFound(ZoneID(zoneName: "Z"))) { try await ann.modify([.create("a")], zone: "Z") }
        try await ann.deleteZone("Z")
        #expect(try await ann.modifyZones(ZoneOperation(.create, .defaultZone)).first?.zone?.syncToken == nil)
        let rows = try await test.store.read { (try $0.databases([id]), try $0.zones(in: id, after: nil, limit: 10)) }
        #expect(rows.0.isEmpty && rows.1.isEmpty)
        #expect(test.takeMoved().isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `the default zone and the public database keep no feed and raise no database's place`(
        engine: Engine
    ) async throws {
        let test = try await TestCloud(engine)
        for user in [test.user("_ann"), test.user("_ann", in: .public)] {
            try await user.modify([.create("p"), .create("c", parent: "p")])
            try await user.modify([.update("p"), .delete("c")])
            let key = try databaseVerdict(user.target, for: .write, by: user.caller).get()
            let id = try await test.cloud.databaseID(key)
            try await test.store.read { transaction in
                let zone = try #require(try transaction.zones(in: id, named: [ZoneID.defaultZoneName]).first)
                #expect(zone.lastSeq == 2 && zone.feedSeq == 0)
                #expect(try transaction.databases([id]).map(\.lastSeq) == [0])
                let feed = try transaction.feed(of: zone.address, view: .owner, after: .start, through: nil, baseline: .zero, limit: 10)
                #expect(feed.isEmpty)
                #expect(try transaction.zoneFeed(in: id, after: .start, limit: 10).isEmpty)
            }
        }
        #expect(test.takeMoved().isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `an update keeps, replaces and clears as its type says, under one tag for the commit`(
        engine: Engine
    ) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        let all: RecordFields = ["a": .int64(1), "b": .int64(2)]
        let made = try await ann.modify([.create("u", all), .create("r", all)]).compactMap(\.record)
        #expect(Set(made.map(\.recordChangeTag)).count == 1)
        let tag = try #require(made.first?.recordChangeTag)
        let changed = try await ann.modify([
            .make(.update, "u", tag: tag, ["c": .int64(3)], cleared: ["a"]), .make(.replace, "r", tag: tag, ["c": .int64(3)]),
        ])
        #expect(changed.map(\.record?.fields) == [["b": .int64(2), "c": .int64(3)], ["c": .int64(3)]])
        let stale = try await ann.modify([.make(.update, "u", tag: tag), .make(.replace, "r", tag: tag)])
        #expect(stale.map(\.error?.code) == [.conflict, .conflict])
        #expect(stale.map { $0.error?.serverRecord?.value.fields.count } == [2, 1])
        #expect(try await ann.modify([.make(.delete, "u", tag: tag)]).first?.error?.code == .conflict)
        #expect(try await ann.modify([.make(.delete, "r", type: nil), .delete("u")]).map(\.tombstone?.recordType) == ["Note", "Note"])
    }

    @Test(arguments: Engine.ofRules) func `in the public database a record is its creator's to change and everybody's to read`(
        engine: Engine
    ) async throws {
        let test = try await TestCloud(engine)
        let (ann, bob, world) = (test.user("_ann", in: .public), test.user("_bob", in: .public), test.world())
        try await ann.modify([.create("a", ["n": .int64(1)])])
        #expect(try await world.lookup(["a"]).first?.record?.fields == ["n": .int64(1)])
        for operation in [RecordOperation.update("a"), .make(.forceReplace, "a"), .delete("a")] {
            #expect(try await bob.modify([operation]).first?.error == .writeNotPermitted)
        }
        await #expect(throws: ServerError.authenticationRequired) { try await world.modify([.create("w")]) }
        #expect(try await ann.modify([.delete("a")]).first?.error == nil)
        #expect(try await bob.modify([.create("a")]).first?.record?.created.userRecordName == "_bob", "a name is free again")
        #expect(try await ann.modify([.update("a")]).first?.error == .writeNotPermitted)
    }

    @Test(arguments: Engine.ofRules) func `databases of two users, two environments and two containers have nothing in common`(
        engine: Engine
    ) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        try await ann.modify([.create("r")], zone: "Z")
        var elsewhere = ann
        elsewhere.target.container = "iCloud.com.example.others"
        for other in [test.user("_bob"), test.user("_ann", environment: .production), test.user("_ann", in: .shared), elsewhere] {
            await #expect(throws: ServerError.zoneNotFound(ZoneID(zoneName: "Z"))) { try await other.lookup(["r"], zone: "Z") }
            #expect(try await other.databaseChanges().zones.isEmpty)
        }
    }

    @Test(arguments: Engine.ofRules) func `requests of a wrong shape are refused whole`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let (ann, web) = (test.user("_ann"), test.user("_ann", client: .web))
        func creates(_ count: Int) -> [RecordOperation] { (0..<count).map { .create("r\($0)") } }
        await #expect(throws: ServerError.repeatedItem(field: "operations")) { try await ann.modify([.create("a"), .delete("a")]) }
        await #expect(throws: ServerError.tooManyItems(401, limit: 400, field: "operations")) { try await ann.modify(creates(401)) }
        await #expect(throws: ServerError.tooManyItems(201, limit: 200, field: "operations")) { try await web.modify(creates(201)) }
        #expect(try await ann.modify(creates(400)).allSatisfy { $0.record != nil })
        let large = (0..<3).map { RecordOperation.update("l\($0)", ["b": .bytes([UInt8](repeating: 0, count: 700_000))]) }
        await #expect(throws: ServerError.requestTooLarge) { try await ann.modify(large) }
        try await ann.modify([.update("l0", ["b": .bytes([1])])])
        #expect(try await web.modify(large).allSatisfy { $0.record != nil }, "the web API knows no such limit")
        await #expect(throws: ServerError.self) { try await ann.modify([.create("a")], id: "") }
        await #expect(throws: ServerError.self) { try await ann.modify([.create("a")], id: String(repeating: "i", count: 65)) }
        await #expect(throws: ServerError.self) { try await ann.modify([.create("a")], token: [UInt8](repeating: 0, count: 1025)) }
    }

    @Test(arguments: Engine.ofRules) func `an operation that could not be read fails in its place, and its name counts`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        func send(_ names: String?...) async throws -> [RecordResult] {
            var request = RecordsModifyRequest(operations: [.create("a"), .create("b")])
            request.operations += names.map { .failure(OperationFault(recordName: $0, error: .missing("value"))) }
            return try await ann.cloud.modifyRecords(request, in: ann.target, by: ann.caller, digest: []).records
        }
        let results = try await send("x", nil)
        #expect(results.map(\.error?.code) == [nil, nil, .badRequest, .badRequest])
        #expect(results[2].recordName == "x")
        #expect(try await ann.lookup(["a", "x"]).map(\.error?.code) == [nil, .notFound])
        await #expect(throws: ServerError.repeatedItem(field: "operations")) { try await send("a") }
    }

    @Test(arguments: Engine.ofRules) func `a reference stays in its zone and in its owner's`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        func fault(_ zoneID: ZoneID?) async throws -> String? {
            let reference = Reference(recordName: "x", action: .none, zoneID: zoneID)
            let results = try await ann.modify([.update("f", ["ref": .reference(reference)]), .update("l", ["refs": .referenceList([reference])])])
            let parent = try await ann.modify([.make(.forceUpdate, "c", parent: .set(reference))]).first
            let reasons = Set((results + [parent].compactMap { $0 }).map(\.error?.reason))
            return reasons.count == 1 ? reasons.first ?? nil : nil
        }
        try await ann.modify([.create("x")])
        #expect(try await fault(nil) == nil)
        #expect(try await fault(ZoneID(zoneName: ZoneID.defaultZoneName, ownerRecordName: "_ann")) == nil)
        #expect(try await ann.lookup(["f", "l", "c"]).allSatisfy { $0.record != nil })
        #expect(try await fault(ZoneID(zoneName: "Other")) == "references across zones are not allowed")
        #expect(try await fault(ZoneID(zoneName: ZoneID.defaultZoneName, ownerRecordName: "_bob")) == "references across zones are not allowed")
    }

    @Test(arguments: Engine.ofRules) func `only the fields asked for are answered, the operation's before the request's`(engine: Engine) async throws
    {
        let ann = try await TestCloud(engine).user("_ann")
        let fields: RecordFields = ["a": .int64(1), "b": .int64(2)]
        var own = RecordOperation.create("own", fields)
        own.desiredKeys = ["b"]
        let request = RecordsModifyRequest(operations: [own, .create("all", fields)], desiredKeys: ["a", "zz"])
        let answer = try await ann.cloud.modifyRecords(request, in: ann.target, by: ann.caller, digest: [])
        #expect(answer.records.map(\.record?.fields) == [["b": .int64(2)], ["a": .int64(1)]])
        let lookup = RecordsLookupRequest(records: [.init(recordName: "own", desiredKeys: []), .init(recordName: "all")], desiredKeys: ["a"])
        let found = try await ann.cloud.lookupRecords(lookup, in: ann.target, by: ann.caller)
        #expect(found.records.map(\.record?.fields) == [[:], ["a": .int64(1)]])
    }
}
