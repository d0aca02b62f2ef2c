import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests that the check finds contradictions, and repairs rows that can be rebuilt.
@Suite struct CheckTests {
    private func notes(_ engine: Engine) async throws -> DamagedCloud {
        let cloud = try await DamagedCloud(engine)
        _ = try await cloud.modify(.create("a", ["stars": .int64(1), "text": .string("one two")]), .create("b", ["stars": .int64(2)]))
        _ = try await cloud.modify(.create("c", ["to": .deleteSelf("a"), "also": .validate("b")], parent: "a"), .create("d"))
        _ = try await cloud.modify(.delete("d"))
        try await cloud.ann.modify([.create("x", ["stars": .int64(3)])])
        try await cloud.test.user("_ann", in: .public).modify([.create("p", ["stars": .int64(3)])])
        _ = try await cloud.test.cloud.registry.createContainer(TestCloud.container)
        try await cloud.ann.makeZone("Gone")
        try await cloud.ann.modify([.create("g", ["stars": .int64(3)])], zone: "Gone", id: "op")
        try await cloud.ann.deleteZone("Gone")
        return cloud
    }

    private func places(_ findings: [CheckFinding]) -> Set<String> {
        Set(findings.map { "\($0.table) \($0.zone) \($0.record) \($0.outcome)" })
    }

    @Test(arguments: Engine.ofRules, [1, 3, 1000]) func `where nothing is wrong nothing is found, and nothing is written`(
        engine: Engine, rows: Int
    ) async throws {
        let counting = CountingStore(try await engine.makeStore())
        let test = TestCloud(counting)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        try await ann.modify([.create("a", ["stars": .int64(1)]), .create("c", ["to": .deleteSelf("a")], parent: "a")], zone: "Z", id: "op")
        counting.reset()
        for mode in [CheckMode.look, .repair, .removeLost] { #expect(try await test.check(mode, rows: rows).isEmpty) }
        #expect(counting.transactions.allSatisfy { $0.kind == .read })
    }

    @Test func `a check of many small databases asks as seldom as one of a large one`() async throws {
        let counting = CountingStore(try await Engine.memory.makeStore())
        let test = TestCloud(counting)
        for number in 0..<60 { try await test.user("_user\(number)").modify([.create("a", ["stars": .int64(1)])]) }
        counting.reset()
        #expect(try await test.check(rows: Limits.checkRows).isEmpty)
        #expect(counting.transactions.count <= 3 * KeptTable.allCases.count)
    }

    @Test(arguments: Engine.ofRules) func `what is wrong in several databases is told with its own, and mended`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let users = (0..<5).map { test.user("_user\($0)") }
        for user in users { try await user.modify([.create("a", ["to": .deleteSelf("b")]), .create("b")]) }
        let links = try await links(of: test)
        #expect(links.count == users.count)
        for link in [links[1], links[4]] {
            try await test.store.write { transaction in
                var plan = WritePlan()
                plan.derivedRemoved = [link]
                try transaction.apply(plan)
                return .commit(())
            }
        }
        let found = try await test.check(rows: Limits.checkRows)
        #expect(Set(found.map(\.database)).count == 2 && found.allSatisfy { $0.outcome == .mendable })
        #expect(try await test.check(.repair, rows: Limits.checkRows).map(\.outcome) == [.mended, .mended])
        #expect(try await test.check().isEmpty)
        #expect(try await self.links(of: test).count == users.count)
    }

    @Test(arguments: Engine.ofRules) func `a cloud of many kinds of things is found whole`(engine: Engine) async throws {
        let cloud = try await notes(engine)
        #expect(try await cloud.test.check().isEmpty)
        try await cloud.test.runAllTasks()
        #expect(try await cloud.test.check().isEmpty)
    }

    /// In the public database a link depends on the owner of its target when it was made.
    @Test(arguments: Engine.ofRules) func `references to records of others are sound, and are made again as a save makes them`(
        engine: Engine
    ) async throws {
        let test = try await TestCloud(engine)
        let (ann, bob) = (test.user("_ann", in: .public), test.user("_bob", in: .public))
        try await ann.modify([.create("a"), .create("a2")])
        for user in [ann, bob] {
            let name = (user.caller.userRecordName ?? "").dropFirst()
            for (action, field) in [(Reference.Action.deleteSelf, "owner"), (.validate, "valid"), (.none, "plain")] {
                for target in ["a", "a2"] {
                    try await user.modify([.create("\(name)-\(field)-\(target)", [field: .reference(Reference(recordName: target, action: action))])])
                }
            }
            try await user.modify([.create("\(name)-child", parent: "a")])
        }
        // Ann's own hold stays; a record held only by bob's is free, and another user makes its name again.
        for name in ["ann-valid-a2", "ann-owner-a2"] { try await ann.modify([.delete(name)]) }
        #expect(try await ann.modify([.delete("a2")]).first?.error == nil)
        try await bob.modify([.create("a2")])
        #expect(try await test.check().isEmpty)
        #expect(try await test.check(.repair).isEmpty)
        let links = try await links(of: test)
        #expect(links.count == 4)
        try await test.store.write { transaction in
            var plan = WritePlan()
            plan.derivedRemoved = links
            try transaction.apply(plan)
            return .commit(())
        }
        #expect(try await test.check(.repair).allSatisfy { $0.outcome == .mended })
        #expect(try await test.check().isEmpty)
        let again = try await self.links(of: test)
        let ofA = { (rows: [DerivedRow]) in Set(rows.filter { if case .link(_, let link, _) = $0 { link.target == "a" } else { false } }) }
        #expect(ofA(again) == ofA(links))
        #expect(try await ann.modify([.delete("a")]).first?.error?.code == .validatingReferenceError)
    }

    private func links(of test: TestCloud) async throws -> [DerivedRow] {
        try await test.store.read { transaction in
            try transaction.rows(of: .links, after: nil, limit: 1000).compactMap { row in
                if case .derived(let row) = row.value { row } else { nil }
            }
        }
    }

    @Test(arguments: Engine.ofRules) func `derived rows that are missing or too many are told, and made again`(engine: Engine) async throws {
        let cloud = try await notes(engine)
        // Rows of an index that is being built may be missing.
        try await cloud.ann.makeIndexes()
        let zone = try await cloud.address()
        let all = try await cloud.test.store.read { transaction in
            try [KeptTable.feed, .links, .index].flatMap { try transaction.rows(of: $0, after: nil, limit: 1000) }
        }
        let derived = all.compactMap { row -> DerivedRow? in
            if case .derived(let row) = row.value, row.zone == zone { row } else { nil }
        }
        #expect(derived.count > 10)
        let number = ChangeNumber(run: 1, seq: 1_000)
        let strays: [DerivedRow] = [
            .feed(zone, FeedRow(position: ViewNumber(view: .owner, number: number), entered: number, isDeparture: false), name: "a"),
            .feed(zone, FeedRow(position: ViewNumber(view: .owner, number: number), entered: number, isDeparture: true), name: "nobody"),
            .link(zone, ReferenceLink(target: "b", kind: .deleteSelf), name: "c"),
            .link(zone, ReferenceLink(target: "b", kind: .validate), name: "d"),
            .index(zone, IndexEntry(index: IndexID(rawValue: 1), key: [2, 9]), name: "a"),
            .index(zone, IndexEntry(index: IndexID(rawValue: 1), key: [2, 9]), name: "nobody"),
        ]
        for (gone, come) in derived.map({ ([$0], []) }) + strays.map({ ([], [$0]) }) + [(derived, strays)] as [([DerivedRow], [DerivedRow])] {
            try await cloud.write { _ in
                var plan = WritePlan()
                plan.derivedRemoved = gone
                plan.derived = come
                return plan
            }
            let found = try await cloud.test.check()
            #expect(found.count == gone.count + come.count && found.allSatisfy { $0.outcome == .mendable }, "\(found)")
            #expect(Set(found.map(\.record)) == Set((gone + come).map(\.name)))
            #expect(try await cloud.test.check(.repair).allSatisfy { $0.outcome == .mended })
            #expect(try await cloud.test.check().isEmpty)
            #expect(try await cloud.test.store.read { try $0.missing(derived) }.isEmpty)
        }
        try await cloud.test.runAllTasks()
    }

    @Test(arguments: Engine.ofRules) func `a damaged record is told with its place, lost by a repair, and heals by its app's own save`(
        engine: Engine
    ) async throws {
        let cloud = try await notes(engine)
        let (_, old) = try await cloud.followed()
        try await cloud.damage("b")
        let found = try await cloud.test.check()
        #expect(places(found) == ["records Z b lost"])
        let database = try cloud.key.text
        #expect(found.first?.database == database)
        #expect(try await cloud.test.check(.repair).first?.outcome == .lost)
        #expect(try await cloud.followed(from: old).seen == ["b!"], "a device that had it hears of it, and can save it again")
        #expect(try await cloud.query(sorts: [QuerySort("stars")]).names.contains("b") == false)
        #expect(places(try await cloud.test.check()) == ["records Z b lost"], "it stays wrong until somebody does something")
        #expect(try await cloud.modify(.update("b")).first?.error == .recordDamagedBeneathMerge)
        #expect(try await cloud.modify(.whole("b", ["stars": .int64(2)])).first?.record != nil)
        try await cloud.test.runAllTasks()
        #expect(try await cloud.test.check().isEmpty)
        #expect(Set(try await cloud.query(sorts: [QuerySort("stars")], limit: 20).names).contains("b"))
    }

    @Test(arguments: Engine.ofRules) func `a record whose row is gone is lost and not forgotten`(engine: Engine) async throws {
        let cloud = try await notes(engine)
        let (_, old) = try await cloud.followed()
        let zone = try await cloud.address()
        try await cloud.write { _ in
            var plan = WritePlan()
            plan.recordsRemoved = [RecordRemoval(zone: zone, name: "b", leaves: [])]
            return plan
        }
        #expect(places(try await cloud.test.check()).contains("feed Z b lost"))
        try await cloud.test.check(.repair)
        #expect(try await cloud.followed(from: old).seen == ["b!"])
        #expect(try await cloud.modify(.whole("b", ["stars": .int64(2)])).first?.record != nil)
        try await cloud.test.runAllTasks()
        #expect(try await cloud.test.check().isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `lost records go on the administrator's word, and every device hears of it`(engine: Engine) async throws {
        let cloud = try await notes(engine)
        let publicUser = cloud.test.user("_ann", in: .public)
        let (_, old) = try await cloud.followed()
        try await cloud.damage("b")
        let id = try await cloud.test.cloud.databaseID(databaseVerdict(publicUser.target, for: .write, by: publicUser.caller).get())
        try await cloud.write { transaction in
            let zone = try #require(try transaction.zones(in: id, named: [ZoneID.defaultZoneName]).first).address
            var row = try #require(try transaction.records(in: zone, named: ["p"]).first)
            row.body[0] ^= 1
            var plan = WritePlan()
            plan.records = [.damaged(row, in: zone, over: row)]
            return plan
        }
        let whole: RecordOperation = .make(.forceReplace, "p", ["stars": .int64(1)])
        #expect(try await publicUser.modify([whole]).first?.error == .recordDamagedInPublic, "whose it was is not known")
        #expect(try await cloud.test.check(.removeLost).allSatisfy { $0.outcome == .mended })
        #expect(try await cloud.followed(from: old).seen == ["b-"])
        #expect(try await publicUser.modify([whole]).first?.record != nil)
        #expect(try await cloud.test.check().isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `a zone whose numbers lie behind its records is raised, and gives none twice`(engine: Engine) async throws {
        let cloud = try await notes(engine)
        let zone = try await cloud.address()
        try await cloud.write { transaction in
            var plan = WritePlan()
            var row = try #require(try transaction.zones(in: zone.database, named: ["Z"]).first)
            row.lastSeq = 1
            plan.zones = [row]
            return plan
        }
        let token = try await cloud.test.check(.repair)
        #expect(!token.isEmpty && token.allSatisfy { $0.outcome == .mended })
        #expect(try await cloud.test.check().isEmpty)
        let tags = try await cloud.ann.changes("Z").records.compactMap { $0.record?.recordChangeTag }
        let saved = try #require(try await cloud.modify(.create("new")).first?.record)
        #expect(!tags.contains(saved.recordChangeTag))
    }

    @Test(arguments: Engine.ofRules) func `results and tasks that cannot be read are told, and replaced by what does no harm`(
        engine: Engine
    ) async throws {
        let cloud = try await notes(engine)
        let id = try await cloud.address().database
        try await cloud.ann.modify([.update("a", ["stars": .int64(5)])], zone: "Z", id: "op2")
        try await cloud.write { transaction in
            var plan = WritePlan()
            for kept in try transaction.rows(of: .tasks, after: nil, limit: 100) {
                guard case .task(var task) = kept.value, task.key.database == id else { continue }
                task.payload = [0xff]
                plan.tasks.append(task)
            }
            for kept in try transaction.rows(of: .operations, after: nil, limit: 100) {
                guard case .operation(var row) = kept.value, row.id.hasSuffix("op2") else { continue }
                row.result = [0xff, 1]
                plan.operations.append(row)
            }
            return plan
        }
        #expect(try await cloud.test.check().count == 4, "the result, and three tasks: reclaim, forget, purge")
        #expect(try await cloud.test.check(.repair).allSatisfy { $0.outcome == .mended })
        #expect(try await cloud.test.check().isEmpty)
        await #expect(throws: ServerError.responseLost) { try await cloud.ann.modify([.update("a", ["stars": .int64(5)])], zone: "Z", id: "op2") }
        cloud.test.clock.move(bySeconds: Limits.tombstoneSeconds + 3 * 24 * 3600)
        #expect(try await cloud.test.cloud.runDueTasks().failed == 0)
        try await cloud.test.runAllTasks()
        let zones = try await cloud.test.store.read { try $0.rows(of: .zones, after: nil, limit: 100) }
        #expect(!zones.contains { if case .zone(let zone) = $0.value { zone.name == "Gone" } else { false } })
    }

    @Test(arguments: Engine.ofRules, 1...12) func `a repair that fails in the middle is done by the next one`(engine: Engine, call: Int) async throws
    {
        let failing = FailingStore(try await engine.makeStore(), failingAtCall: nil)
        let test = TestCloud(failing)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        try await ann.modify([.create("a", ["stars": .int64(1)]), .create("b")], zone: "Z")
        let id = try await test.cloud.databaseID(databaseVerdict(ann.target, for: .write, by: ann.caller).get())
        try await test.store.write { transaction in
            let zone = try #require(try transaction.zones(in: id, named: ["Z"]).first).address
            var row = try #require(try transaction.records(in: zone, named: ["a"]).first)
            row.body[0] ^= 1
            var plan = WritePlan()
            plan.records = [.damaged(row, in: zone, over: row)]
            try transaction.apply(plan)
            return .commit(())
        }
        let places = CheckCursor(table: .records, row: .start(of: .records))
        failing.fail(atCall: call)
        _ = try? await test.cloud.check(from: places, .repair)
        failing.fail(atCall: nil)
        try await test.check(.repair)
        #expect(try await test.check().map(\.outcome) == [.lost])
        #expect(try await ann.changes("Z").records.map { $0.error == nil } == [true, false])
    }

    @Test func `a place is given back as it was, and other bytes are none`() {
        let zone = ZoneAddress(database: DatabaseID(rawValue: -5), zone: 7)
        for table in KeptTable.allCases {
            let places = [CheckCursor(table: table, row: nil), CheckCursor(table: table, row: .start(of: table))]
            for place in places { #expect(CheckCursor(place.bytes) == place) }
        }
        let deep = CheckCursor(table: .index, row: .zone(zone, .number(3), .bytes([0, 255]), .text("é")))
        #expect(CheckCursor(deep.bytes) == deep)
        for bytes in [[], [0], [99], [1, 9], [3, 1, 2], [1, 2, 1, 65]] as [[UInt8]] { #expect(CheckCursor(bytes) == nil) }
    }
}
