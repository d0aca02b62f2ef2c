import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests that a damaged record is an error in its own place, and stops no other.
@Suite struct DamageTests {
    private static let stars = QuerySort("stars")

    private func notes(_ engine: Engine, _ count: Int = 5) async throws -> DamagedCloud {
        let cloud = try await DamagedCloud(engine)
        for index in 0..<count { _ = try await cloud.modify(.create("r\(index)", ["stars": .int64(Int64(index))])) }
        try await cloud.ann.makeIndexes()
        return cloud
    }

    @Test(arguments: Engine.ofRules) func `a feed goes on round damaged records, and tells of each in its place`(engine: Engine) async throws {
        let cloud = try await notes(engine)
        try await cloud.damage("r0", "r2", "r4")
        for limit in 1...6 {
            let (seen, token) = try await cloud.followed(limit: limit)
            #expect(seen == ["r0!", "r1", "r2!", "r3", "r4!"])
            #expect(try await cloud.followed(from: token).seen.isEmpty, "the token is beyond them")
        }
        let errors = try await cloud.ann.changes("Z", types: ["Other"]).records.map(\.error)
        #expect(errors == [.recordDamaged, .recordDamaged, .recordDamaged], "of what type it was is not known")
    }

    @Test(arguments: Engine.ofRules) func `a query goes on round damaged records, in every way of looking`(engine: Engine) async throws {
        let cloud = try await notes(engine)
        try await cloud.damage("r2")
        _ = try await cloud.test.cloud.schemas.changeSchema(of: TestCloud.container, .development) {
            _ = try $0.setIndexes(.queryable, of: "Note", field: SystemField.recordName.rawValue)
            $0.makeAll()
        }
        try await cloud.test.runAllTasks()
        let filter = QueryFilter(.greaterThanOrEquals, fieldName: "stars", value: .int64(1))
        let points = QueryFilter(.in, fieldName: "stars", value: .int64List([1, 3, 4]))
        for (filters, sorts) in [([filter], []), ([points], []), ([filter], [Self.stars]), ([points], [Self.stars])]
            as [([QueryFilter], [QuerySort])]
        {
            let found = try await cloud.query(filters, sorts: sorts)
            #expect(found.names == ["r1", "r3", "r4"] && found.failures == (filters == [filter] ? ["r2"] : []))
        }
        for sorts in [[], [Self.stars]] {
            let found = try await cloud.query([], sorts: sorts)
            // The index of names was built after the damage, and lacks the record.
            #expect(found.names == ["r0", "r1", "r3", "r4"] && found.failures == (sorts.isEmpty ? [] : ["r2"]))
        }
    }

    @Test(arguments: Engine.ofRules) func `each damaged record that a request meets is told to the log once, with where and what`(
        engine: Engine
    ) async throws {
        let cloud = try await notes(engine)
        try await cloud.damage("r1")
        _ = cloud.test.takeFaults()
        func told() throws {
            let faults = cloud.test.takeFaults()
            let place = ["database": try cloud.key.text, "zone": "Z", "recordName": "r1"]
            #expect(faults.map(\.values) == [place] && faults.first?.code == .corrupt && faults.first?.text.isEmpty == false)
        }
        _ = try await cloud.ann.lookup(["r0", "r1"], zone: "Z")
        try told()
        _ = try await cloud.ann.changes("Z")
        try told()
        _ = try await cloud.query(limit: 20)
        try told()
        _ = try await cloud.modify(.update("r1"), .update("r2"))
        try told()
        _ = try await cloud.modify(.whole("r1", [:]))
        try told()
        _ = try await cloud.ann.lookup(["r0", "r1"], zone: "Z")
        #expect(cloud.test.takeFaults().isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `a store that fails is told to the log once, with where it was asked`(engine: Engine) async throws {
        let failing = FailingStore(try await engine.makeStore(), failingAtCall: nil)
        let test = TestCloud(failing)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        try await ann.modify([.create("a")], zone: "Z")
        for ask in [
            { try await ann.modify([.create("b")], zone: "Z") }, { try await ann.lookup(["a"], zone: "Z") }, { try await ann.changes("Z").records },
        ] as [() async throws -> [RecordResult]] {
            failing.fail(atCall: 1)
            await #expect(throws: ServerError.self) { try await ask() }
            failing.fail(atCall: nil)
            let faults = test.takeFaults()
            #expect(faults.map { [$0.values["zone"], $0.values["because"]] } == [["Z", "a test says so"]])
            #expect(faults.first?.values["database"]?.hasSuffix("/private/_ann") == true)
        }
    }

    struct Cell: Sendable, CustomTestStringConvertible {
        var operation: NacreCloudWire.OperationType
        var isPublic = false
        var carriesAllKeys = false
        /// nil: it succeeds.
        var fault: ServerError?
        var testDescription: String { "\(operation) \(carriesAllKeys ? "of all keys " : "")\(isPublic ? "in public" : "")" }

        static let table: [Cell] =
            [
                Cell(operation: .create, fault: .recordDamaged), Cell(operation: .update, fault: .recordDamaged),
                Cell(operation: .replace, fault: .recordDamaged), Cell(operation: .delete, fault: .recordDamaged),
                Cell(operation: .forceUpdate, fault: .recordDamagedBeneathMerge), Cell(operation: .forceUpdate, carriesAllKeys: true),
                Cell(operation: .update, carriesAllKeys: true, fault: .recordDamaged), Cell(operation: .forceReplace), Cell(operation: .forceDelete),
            ] + NacreCloudWire.OperationType.allCases.map { Cell(operation: $0, isPublic: true, carriesAllKeys: true, fault: .recordDamagedInPublic) }
    }

    @Test(arguments: Cell.table, [false, true]) func `what goes over a damaged record goes over it whole`(cell: Cell, isTombstone: Bool) {
        var row = RecordRow(
            name: "r", type: "Note", number: ChangeNumber(run: 1, seq: 3), isTombstone: isTombstone, parent: nil, body: [1, 2, 3, 4, 5])
        row.body = [9]
        let stored = StoredRecord(row, in: ZoneAddress(database: DatabaseID(rawValue: 1), zone: 1))
        #expect(stored.isDamaged && !stored.isLive)
        let change = RecordChange(
            recordName: "r", recordType: "Note", recordChangeTag: "3", set: ["n": .int64(1)], carriesAllKeys: cell.carriesAllKeys)
        let setting = RecordSetting(
            scope: cell.isPublic ? .public : .private, environment: .development, caller: Caller(.user("_ann"), client: .framework))
        switch RecordVerdict(RecordOperation(cell.operation, change), over: stored, in: setting) {
        case .refuse(let fault): #expect(fault == cell.fault)
        case .delete: #expect(cell.fault == nil && cell.operation == .forceDelete)
        case .save(let save): #expect(cell.fault == nil && save.fields == change.set && save.over == stored)
        case .nothing: Issue.record("a damaged record is something")
        }
    }

    @Test(arguments: Engine.ofRules) func `a save over a damaged record heals it, and no query or feed shows it twice`(engine: Engine) async throws {
        let cloud = try await notes(engine)
        let (_, token) = try await cloud.followed()
        try await cloud.damage("r1")
        let saved = try #require(try await cloud.modify(.whole("r1", ["stars": .int64(9)])).first?.record)
        #expect(try await cloud.lookup("r1")?.record?.recordChangeTag == saved.recordChangeTag)
        #expect(try await cloud.followed(from: token).seen == ["r1"])
        for isSwept in [false, true] {
            let names = try await cloud.query(sorts: [Self.stars]).names
            #expect(names == ["r0", "r2", "r3", "r4", "r1"], "the index row of the old value leads nowhere")
            for stars in [1, 9] as [Int64] {
                let filter = QueryFilter(.equals, fieldName: "stars", value: .int64(stars))
                #expect(try await cloud.query([filter]).names == (stars == 9 ? ["r1"] : []))
            }
            let range = QueryFilter(.greaterThanOrEquals, fieldName: "stars", value: .int64(1))
            #expect(try await cloud.query([range], limit: 20).names.sorted() == ["r1", "r2", "r3", "r4"])
            if !isSwept { try await cloud.test.runAllTasks() }
        }
        #expect(try await cloud.test.check().isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `a deletion over a damaged record is one that every device hears of`(engine: Engine) async throws {
        let cloud = try await notes(engine, 2)
        let (_, token) = try await cloud.followed()
        try await cloud.damage("r1")
        #expect(try await cloud.modify(.delete("r1")).first?.tombstone != nil)
        #expect(try await cloud.followed(from: token).seen == ["r1-"])
        #expect(try await cloud.lookup("r1")?.error == .recordNotFound)
        try await cloud.test.runAllTasks()
        #expect(try await cloud.test.check().isEmpty)
        #expect(try await cloud.modify(.create("r1")).first?.record != nil)
    }

    @Test(arguments: Engine.ofRules) func `an atomic batch with a damaged record is refused and says which`(engine: Engine) async throws {
        let cloud = try await notes(engine, 2)
        try await cloud.damage("r1")
        let errors = try await cloud.modify(.update("r0"), .update("r1"), atomic: true).map(\.error)
        #expect(errors == [.atomicFailure, .recordDamagedBeneathMerge])
    }

    @Test(arguments: Engine.ofRules) func `children and references of a damaged record are saved, and it is held as any other`(engine: Engine)
        async throws
    {
        let cloud = try await notes(engine, 1)
        try await cloud.damage("r0")
        let results = try await cloud.modify(.create("child", parent: "r0"), .create("pointer", ["to": .validate("r0")]))
        #expect(results.allSatisfy { $0.record != nil }, "\(results)")
        #expect(try await cloud.modify(.delete("r0")).first?.error?.code == .validatingReferenceError)
        #expect(try await cloud.modify(.whole("r0", [:])).first?.record != nil)
        #expect(try await cloud.modify(.update("child"), .delete("r0")).last?.error?.code == .validatingReferenceError)
    }

    @Test(arguments: Engine.ofRules) func `a damaged parent holds nothing back, and what a damaged child names as its parent stays`(
        engine: Engine
    ) async throws {
        let cloud = try await notes(engine, 1)
        _ = try await cloud.modify(.create("child", parent: "r0"))
        try await cloud.damage("child")
        let results = try await cloud.modify(.delete("r0"), .update("child"))
        #expect(results.map { $0.error?.code } == [.validatingReferenceError, .internalError])
        #expect(try await cloud.lookup("r0")?.record != nil)
    }

    @Test(arguments: Engine.ofRules) func `a cascade takes damaged records along, and they leave nothing behind`(engine: Engine) async throws {
        let cloud = try await notes(engine, 1)
        _ = try await cloud.modify(.create("holder", ["to": .deleteSelf("r0")]), .create("second", ["to": .deleteSelf("holder")]))
        let (_, token) = try await cloud.followed()
        try await cloud.damage("holder")
        #expect(try await cloud.modify(.delete("r0")).first?.tombstone != nil)
        #expect(Set(try await cloud.followed(from: token).seen) == ["r0-", "holder-", "second-"])
        try await cloud.test.runAllTasks()
        #expect(try await cloud.test.check().isEmpty)
    }

    @Test(arguments: Engine.ofRules, [false, true]) func `a link that a damaged body left behind takes nothing along`(
        engine: Engine, isTask: Bool
    ) async throws {
        let cloud = try await notes(engine, 1)
        _ = try await cloud.modify(.create("holder", ["to": .deleteSelf("r0")]), .create("other", ["to": .deleteSelf("r0")]))
        try await cloud.damage("holder")
        _ = try await cloud.modify(.whole("holder", [:]))
        if isTask {
            let address = try await cloud.address()
            let task = try FinishCascade.sample(in: address, of: ["r0"], due: cloud.test.clock.now)
            try await cloud.write { _ in
                var plan = WritePlan()
                plan.tasks = [task]
                return plan
            }
            try await cloud.damage("r0") { $0.isTombstone = true }
            try await cloud.test.runAllTasks()
        } else {
            _ = try await cloud.modify(.delete("r0"))
        }
        #expect(try await cloud.lookup("holder")?.record != nil)
        #expect(try await cloud.lookup("other")?.record == nil)
    }

    @Test(arguments: Engine.ofRules) func `a repeated operation on a record that is damaged since says so`(engine: Engine) async throws {
        let cloud = try await notes(engine, 1)
        try await cloud.ann.modify([.create("a")], zone: "Z", id: "op")
        try await cloud.damage("a")
        #expect(try await cloud.ann.modify([.create("a")], zone: "Z", id: "op").first?.error == .recordDamaged)
    }

    @Test(arguments: Engine.ofRules) func `a record that falsely says it is deleted is never answered as deleted`(engine: Engine) async throws {
        let cloud = try await notes(engine, 2)
        try await cloud.damage("r1") { $0.isTombstone = true }
        #expect(try await cloud.lookup("r1")?.error == .recordDamaged)
        #expect(try await cloud.modify(.make(.update, "r1", tag: "1")).first?.error == .recordDamaged)
        #expect(try await cloud.test.check(.repair).map(\.outcome).contains(.mended))
        try await cloud.test.runAllTasks()
        #expect(try await cloud.lookup("r1")?.record?.fields["stars"] == .int64(1), "its checksum tells what it was")
        #expect(try await cloud.test.check().isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `an index is built round damaged records, and has them once they are saved`(engine: Engine) async throws {
        let cloud = try await notes(engine)
        try await cloud.damage("r1")
        _ = try await cloud.test.cloud.schemas.changeSchema(of: TestCloud.container, .development) {
            _ = try $0.setIndexes([.queryable, .sortable], of: "Note", field: SystemField.modifiedTimestamp.rawValue)
            $0.makeAll()
        }
        try await cloud.test.runAllTasks()
        let sort = QuerySort("___modTime")
        _ = try await cloud.modify(.whole("r1", ["stars": .int64(1)]))
        #expect(try await cloud.query(sorts: [sort], limit: 20).names.sorted() == ["r0", "r1", "r2", "r3", "r4"])
    }

    @Test(arguments: Engine.ofRules) func `a damaged tombstone stops no purge, and is not taken for old`(engine: Engine) async throws {
        let cloud = try await notes(engine, 4)
        _ = try await cloud.modify(.delete("r0"), .delete("r1"), .delete("r2"))
        try await cloud.damage("r1")
        cloud.test.clock.move(bySeconds: Limits.tombstoneSeconds + 3 * 24 * 3600)
        try await cloud.test.runAllTasks()
        let address = try await cloud.address()
        let left = try await cloud.test.store.read { try $0.records(in: address, named: ["r0", "r1", "r2", "r3"]).map(\.name) }
        #expect(Set(left) == ["r1", "r3"])
        #expect(try await cloud.test.check(.repair).count == 1)
        #expect(try await cloud.lookup("r1")?.error == .recordNotFound)
        #expect(try await cloud.test.check().isEmpty)
    }
}

extension FinishCascade {
    /// Returns the task that a batch leaves.
    static func sample(in zone: ZoneAddress, of targets: [String], due: Timestamp) throws -> TaskRow {
        var writer = ByteWriter()
        writer.signed(zone.zone)
        writer.string("Z")
        writer.string("_ann")
        writer.number(UInt64(targets.count))
        for target in targets { writer.string(target) }
        return TaskRow(key: TaskKey(zone.database, .cascade, "\(zone.zone):t"), payload: writer.bytes, due: due)
    }
}
