import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// Tests of the result of a lock, and of the columns that a change of an existing row keeps.
@Suite struct LockPromises {
    private func zone(_ store: any Store) async throws -> ZoneRow? {
        try await store.read { try $0.zones(in: Sample.database, named: ["Notes"]).first }
    }

    @Test(arguments: Engine.allCases) func `a lock takes no change number, and tells what an advance tells`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate()
        let entry = EntryRow(key: EntryKey(Sample.database, .user, "u"), value: [1])
        try await store.apply(WritePlan(\.entries, [entry]))
        let locked = try await store.write {
            .commit(try $0.lock(zoneNamed: "Notes", in: Sample.database, operation: "none", entries: [entry.key]))
        }
        #expect(locked.zone == Sample.zoneRow() && locked.database == Sample.databaseRow && locked.entries == [entry] && locked.operation == nil)
        let advanced = try await store.write {
            .commit(try $0.advance(zoneNamed: "Notes", in: Sample.database, operation: nil, entries: [entry.key]))
        }
        #expect(advanced.zone?.lastSeq == 1 && advanced.run == locked.run)
        let bare = try await store.write { .commit(try $0.lock(in: Sample.database)) }
        #expect(bare.zone == nil && bare.database == Sample.databaseRow)
        let nothing = try await store.write { .commit(try $0.lock(zoneNamed: "None", in: DatabaseID(rawValue: 404))) }
        #expect(nothing.zone == nil && nothing.database == nil)
    }

    @Test(arguments: Engine.allCases)
    func `a lock tells of entries what is so: after a change, within it, after one that was undone, and when they expired`(engine: Engine)
        async throws
    {
        let store = try await engine.makeStore()
        try await store.populate()
        let key = EntryKey(Sample.database, .user, "u")
        @Sendable func row(_ value: [UInt8], expires: Double? = nil) -> EntryRow {
            EntryRow(key: key, value: value, expires: expires.map(Timestamp.init(secondsSince2001:)))
        }
        func told() async throws -> [EntryRow] {
            try await store.write { .rollback(try $0.lock(zoneNamed: nil, in: Sample.database, operation: nil, entries: [key, key]).entries) }
        }
        func told(after plan: WritePlan, keeping: Bool) async throws -> [EntryRow] {
            try await store.write { transaction in
                _ = try transaction.lock(zoneNamed: nil, in: Sample.database, operation: nil, entries: [key])
                try transaction.apply(plan)
                let entries = try transaction.lock(zoneNamed: nil, in: Sample.database, operation: nil, entries: [key]).entries
                return keeping ? .commit(entries) : .rollback(entries)
            }
        }
        #expect(try await told() == [])
        #expect(try await told(after: WritePlan(\.entries, [row([1])]), keeping: false) == [row([1])])
        #expect(try await told() == [])
        #expect(try await told(after: WritePlan(\.entries, [row([2])]), keeping: true) == [row([2])])
        #expect(try await told() == [row([2])])
        #expect(try await told(after: WritePlan(\.entriesRemoved, [key]), keeping: false) == [])
        #expect(try await told() == [row([2])])
        let large = row(Array(repeating: 7, count: 5000))
        #expect(try await told(after: WritePlan(\.entries, [large]), keeping: true) == [large])
        #expect(try await told() == [large])
        #expect(try await told() == [large])
        #expect(try await told(after: WritePlan(\.entries, [row([3], expires: 10)]), keeping: true) == [row([3], expires: 10)])
        #expect(try await told() == [row([3], expires: 10)])
        _ = try await store.write { .commit(try $0.removeExpired(before: Timestamp(secondsSince2001: 11), limit: 9)) }
        #expect(try await told() == [])
        // An error that ends a transaction undoes its changes.
        await #expect(throws: StoreError.self) {
            try await store.write { transaction -> Ending<Void> in
                try transaction.apply(WritePlan(\.entries, [row([4])]))
                throw StoreError.closed
            }
        }
        #expect(try await told() == [])
    }

    @Test(arguments: Engine.allCases) func `a change of a zone changes what it names, and lowers nothing`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate()
        try await store.apply(WritePlan(\.zonesChanged, [Sample.zone]))
        _ = try await store.write { .commit(try $0.advance(zoneNamed: "Notes", in: Sample.database)) }
        let forgotten = ChangeNumber(run: 1, seq: 1)
        try await store.apply(
            WritePlan(\.zoneChanges, [ZoneChange(Sample.zone, clientChangeToken: [7], forgotten: forgotten, indexesBelow: 5)]))
        var wanted = Sample.zoneRow(lastSeq: 1)
        wanted.feedSeq = 1
        wanted.clientChangeToken = [7]
        wanted.forgotten = forgotten
        wanted.indexesBelow = 5
        #expect(try await zone(store) == wanted)
        try await store.apply(WritePlan(\.zoneChanges, [ZoneChange(Sample.zone, indexesBelow: 4)]))
        #expect(try await zone(store) == wanted)
        try await store.apply(WritePlan(\.zonesChanged, [Sample.zone]))
        wanted.feedSeq = 2
        #expect(try await zone(store) == wanted)
        try await store.apply(WritePlan(\.zoneChanges, [ZoneChange(Sample.zone, state: .deleted)]))
        #expect(try await zone(store) == nil)
        #expect(try await store.read { try $0.zoneFeed(in: Sample.database, after: .start, limit: 9) }.map(\.state) == [.deleted])
    }

    @Test(arguments: Engine.allCases) func `a change of a database raises what it names`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate()
        try await store.apply(WritePlan(\.databaseChanges, [DatabaseChange(Sample.database, lastSeq: 9, forgottenSeq: 4)]))
        try await store.apply(WritePlan(\.databaseChanges, [DatabaseChange(Sample.database, lastSeq: 2, forgottenSeq: 3)]))
        var wanted = Sample.databaseRow
        wanted.lastSeq = 9
        wanted.forgottenSeq = 4
        #expect(try await store.read { try $0.databases([Sample.database]) } == [wanted])
    }

    @Test(arguments: Engine.allCases) func `a change of what is not there contradicts what is kept`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate()
        let nowhere = ZoneAddress(database: Sample.database, zone: 404)
        for plan in [
            WritePlan(\.zoneChanges, [ZoneChange(nowhere)]), WritePlan(\.databaseChanges, [DatabaseChange(DatabaseID(rawValue: 404))]),
        ] {
            await #expect { try await store.apply(plan) } throws: { ($0 as? StoreError)?.code == .corrupt }
        }
    }
}
