import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@Suite struct ZonePromises {
    @Test(arguments: Engine.allCases)
    func `databases that exist are found, others are not`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate()
        let stranger = DatabaseID(rawValue: -5)
        let found = try await store.read { try $0.databases([Sample.database, stranger, Sample.database]) }
        #expect(found == [Sample.databaseRow])
    }

    @Test(arguments: Engine.allCases)
    func `a database put again is replaced whole`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate()
        var row = Sample.databaseRow
        row.key = DatabaseKey(container: "iCloud.org.example.other", environment: .production, scope: .registry, owner: "")
        row.run = 9
        row.lastSeq = Int64.max
        row.forgottenSeq = 12
        try await store.apply(WritePlan(\.databases, [row]))
        #expect(try await store.read { try $0.databases([Sample.database]) } == [row])
    }

    @Test(arguments: Engine.allCases)
    func `databases of a container in one environment come in the order of their keys, page by page`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        func row(_ id: Int64, _ container: String, _ environment: DatabaseKey.Environment = .production) -> DatabaseRow {
            let key = DatabaseKey(container: container, environment: environment, scope: .private, owner: "_\(id)")
            return DatabaseRow(id: DatabaseID(rawValue: id), key: key, run: 1, lastSeq: 0, forgottenSeq: id == 0 ? 4 : 0)
        }
        let mine = [.min, -7, 0, 1, 40, .max].map { row($0, "é") }
        let others = [row(2, "e\u{301}"), row(3, "éa"), row(5, "é", .development)]
        try await store.apply(WritePlan(\.databases, (mine + others).shuffled()))
        for limit in [1, 4, 6, 7] {
            var read: [DatabaseRow] = []
            var last: DatabaseID?
            repeat {
                let after = last
                let page = try await store.read { try $0.databases(of: "é", .production, after: after, limit: limit) }
                #expect(page.count <= limit)
                read += page
                last = page.last?.id
            } while last != nil
            #expect(read == mine)
        }
        #expect(try await store.read { try $0.databases(of: "é", .production, after: nil, limit: -1) }.isEmpty)
        #expect(try await store.read { try $0.databases(of: "é", .development, after: nil, limit: 9) } == [others[2]])
    }

    @Test(arguments: Engine.allCases)
    func `zones are found by name if they live`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        var gone = Sample.zoneRow("Old", ZoneAddress(database: Sample.database, zone: 1), state: .purged)
        gone.clientChangeToken = [0, 255]
        var forgetful = Sample.zoneRow("Forgetful", ZoneAddress(database: Sample.database, zone: 3))
        forgetful.forgotten = ChangeNumber(run: 2, seq: 9)
        var empty = Sample.zoneRow("Empty", ZoneAddress(database: Sample.database, zone: 2))
        empty.clientChangeToken = []
        try await store.apply(WritePlan(\.zones, [gone, empty, forgetful, Sample.zoneRow()]))
        let asked = ["Notes", "Old", "Empty", "Never", "Forgetful", "Notes"]
        let found = try await store.read { try $0.zones(in: Sample.database, named: asked) }
        #expect(Set(found) == [Sample.zoneRow(), empty, forgetful])
        #expect(found.count == 3)
        forgetful.forgotten = .zero
        try await store.apply(WritePlan(\.zones, [forgetful]))
        #expect(try await store.read { try $0.zones(in: Sample.database, named: ["Forgetful"]) } == [forgetful])
    }

    @Test(arguments: Engine.allCases)
    func `live zones come in the order of their names' bytes, page by page`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let names = ["", "B", "Z", "a", "b\u{0}", "b\u{0}c", "é", "e\u{301}", "\u{ffff}", "\u{10000}"]
        let rows = names.enumerated().map { Sample.zoneRow($1, ZoneAddress(database: Sample.database, zone: Int64($0))) }
        let buried = Sample.zoneRow("C", ZoneAddress(database: Sample.database, zone: 90), state: .deleted)
        let elsewhere = Sample.zoneRow("C", ZoneAddress(database: DatabaseID(rawValue: 3), zone: 1))
        try await store.apply(WritePlan(\.zones, rows.shuffled() + [buried, elsewhere]))

        var pages: [[String]] = []
        var last: String?
        repeat {
            let after = last
            let page = try await store.read { try $0.zones(in: Sample.database, after: after, limit: 4) }
            pages.append(page.map(\.name))
            last = page.last?.name
        } while last != nil
        let ordered = names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        #expect(pages.map(\.count) == [4, 4, 2, 0])
        #expect(bytes(pages.flatMap { $0 }) == bytes(ordered))
        #expect(try await store.read { try $0.zones(in: Sample.database, after: nil, limit: 0) }.isEmpty)
        #expect(try await store.read { try $0.zones(in: Sample.database, after: nil, limit: -1) }.isEmpty)
    }

    @Test(arguments: Engine.allCases)
    func `a plan may bury a zone and make another of its name, in any order`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate()
        let successor = Sample.zoneRow("Notes", ZoneAddress(database: Sample.database, zone: 8))
        try await store.apply(WritePlan(\.zones, [successor, Sample.zoneRow(state: .deleted)]))
        #expect(try await store.read { try $0.zones(in: Sample.database, named: ["Notes"]) } == [successor])
    }

    @Test(arguments: Engine.allCases)
    func `two live zones of one name collide, and nothing of such a plan stays`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate()
        var plan = WritePlan(\.zones, [Sample.zoneRow("Notes", ZoneAddress(database: Sample.database, zone: 8))])
        var database = Sample.databaseRow
        database.lastSeq = 77
        plan.databases = [database]
        let bad = plan
        await #expect { try await store.apply(bad) } throws: { ($0 as? StoreError)?.code == .collision }
        #expect(try await store.read { try $0.zones(in: Sample.database, named: ["Notes"]) } == [Sample.zoneRow()])
        #expect(try await store.read { try $0.databases([Sample.database]) } == [Sample.databaseRow])
    }

    @Test(arguments: Engine.allCases)
    func `live zones of one database are counted, as far as one wants to know`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        func count(_ most: Int) async throws -> Int { try await store.read { try $0.zoneCount(in: Sample.database, upTo: most) } }
        #expect(try await count(9) == 0)
        try await store.populate()
        let others = (20..<24).map { Sample.zoneRow("Z\($0)", ZoneAddress(database: Sample.database, zone: $0)) }
        try await store.apply(WritePlan(\.zones, others))
        let all = try await store.read { try $0.zones(in: Sample.database, after: nil, limit: 99) }.count
        #expect(all >= 5)
        for most in [0, 1, all - 1, all, all + 1, 1000] { #expect(try await count(most) == min(all, most)) }
        try await store.apply(WritePlan(\.zones, [Sample.zoneRow("Z20", ZoneAddress(database: Sample.database, zone: 20), state: .deleted)]))
        #expect(try await count(1000) == all - 1)
    }

    @Test(arguments: Engine.allCases)
    func `a forgotten zone is in no answer any more`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate()
        try await store.apply(WritePlan(\.zonesChanged, [Sample.zone]))
        try await store.apply(WritePlan(\.zonesForgotten, [Sample.zone]))
        #expect(try await store.read { try $0.zones(in: Sample.database, named: ["Notes"]) }.isEmpty)
        #expect(try await store.read { try $0.zones(in: Sample.database, after: nil, limit: 9) }.isEmpty)
        #expect(try await store.read { try $0.zoneFeed(in: Sample.database, after: .start, limit: 9) }.isEmpty)
    }

    @Test(arguments: Engine.allCases)
    func `changed zones get one common place in their database's feed`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let a = ZoneAddress(database: Sample.database, zone: 1)
        let b = ZoneAddress(database: Sample.database, zone: 2)
        let c = ZoneAddress(database: Sample.database, zone: 3)
        var plan = WritePlan(\.zones, [Sample.zoneRow("A", a), Sample.zoneRow("B", b), Sample.zoneRow("C", c), Sample.zoneRow()])
        plan.databases = [Sample.databaseRow]
        plan.zonesChanged = [c, a]
        try await store.apply(plan)
        try await store.apply(WritePlan(\.zonesChanged, [b, b]))

        let all = try await store.read { try $0.zoneFeed(in: Sample.database, after: .start, limit: 9) }
        #expect(all.map(\.name) == ["A", "C", "B"])
        #expect(all.map(\.feedSeq) == [1, 1, 2])
        #expect(try await store.read { try $0.databases([Sample.database]) }.first?.lastSeq == 2)

        let inside = try await store.read { try $0.zoneFeed(in: Sample.database, after: ZoneFeedPosition(1, name: "A"), limit: 1) }
        #expect(inside.map(\.name) == ["C"])
        let after = try await store.read { try $0.zoneFeed(in: Sample.database, after: ZoneFeedPosition(1), limit: 9) }
        #expect(after.map(\.name) == ["B"])
        #expect(try await store.read { try $0.zoneFeed(in: Sample.database, after: ZoneFeedPosition(2), limit: 9) }.isEmpty)
    }

    @Test(arguments: Engine.allCases)
    func `a zone keeps its place when its row is replaced, and buried zones stay in the feed`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate()
        try await store.apply(WritePlan(\.zonesChanged, [Sample.zone]))
        var buried = Sample.zoneRow(state: .encryptedDataReset, lastSeq: 5)
        buried.feedSeq = 99
        try await store.apply(WritePlan(\.zones, [buried]))
        let found = try await store.read { try $0.zoneFeed(in: Sample.database, after: .start, limit: 9) }
        buried.feedSeq = 1
        #expect(found == [buried])
    }

    @Test(arguments: Engine.allCases)
    func `a place for a zone or in a database that is not there is refused`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate()
        let stranger = ZoneAddress(database: Sample.database, zone: 404)
        let nowhere = ZoneAddress(database: DatabaseID(rawValue: 404), zone: 1)
        for address in [stranger, nowhere] {
            await #expect { try await store.apply(WritePlan(\.zonesChanged, [address])) } throws: { ($0 as? StoreError)?.code == .corrupt }
        }
        #expect(try await store.read { try $0.databases([Sample.database]) } == [Sample.databaseRow])
    }

    @Test(arguments: Engine.allCases)
    func `advance raises the zone's number and finds its database and the logged operation`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate()
        let operation = OperationRow(
            database: Sample.database, id: "op", caller: "", digest: [1], result: [], expires: Timestamp(secondsSince2001: 1.5))
        try await store.apply(WritePlan(\.operations, [operation]))
        for expected in 1...3 as ClosedRange<Int64> {
            let advance = try await store.write { .commit(try $0.advance(zoneNamed: "Notes", in: Sample.database, operation: "op")) }
            #expect(advance == Advance(run: Run.first, database: Sample.databaseRow, zone: Sample.zoneRow(lastSeq: expected), operation: operation))
        }
        #expect(try await store.read { try $0.zones(in: Sample.database, named: ["Notes"]) } == [Sample.zoneRow(lastSeq: 3)])
    }

    @Test(arguments: Engine.allCases)
    func `advance finds the entries asked for, of any database, each once`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate()
        let registry = DatabaseID(rawValue: 1)
        let entries = [
            EntryRow(key: EntryKey(Sample.database, .user, "ann"), value: [1]), EntryRow(key: EntryKey(registry, .schemaVersion, "ann"), value: [2]),
            EntryRow(key: EntryKey(registry, .recordType, "é"), value: [3]), EntryRow(key: EntryKey(registry, .recordType, "e\u{301}"), value: [4]),
        ]
        try await store.apply(WritePlan(\.entries, entries))
        let asked = [entries[0], entries[1], entries[3], entries[1]].map(\.key) + [EntryKey(Sample.database, .recordType, "é")]
        for zone in ["Notes", "none"] {
            let advance = try await store.write {
                .commit(try $0.advance(zoneNamed: zone, in: Sample.database, operation: nil, entries: asked))
            }
            #expect(advance.entries.map(\.value).sorted { $0[0] < $1[0] } == [[1], [2], [4]])
        }
    }

    @Test(arguments: Engine.allCases)
    func `advance says which of database, zone and operation is missing`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let nothing = try await store.write { .commit(try $0.advance(zoneNamed: "Notes", in: Sample.database, operation: "op")) }
        #expect(nothing == Advance(run: Run.first, database: nil, zone: nil, operation: nil))

        try await store.populate()
        try await store.apply(WritePlan(\.zones, [Sample.zoneRow(state: .deleted, lastSeq: 4)]))
        let buried = try await store.write { .commit(try $0.advance(zoneNamed: "Notes", in: Sample.database, operation: nil)) }
        #expect(buried == Advance(run: Run.first, database: Sample.databaseRow, zone: nil, operation: nil))
    }
}
