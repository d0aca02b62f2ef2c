import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests of stored and allowed bytes of databases, over every engine.
@Suite struct QuotaTests {
    private static func text(_ count: Int) -> RecordFields { ["text": .string(String(repeating: "x", count: count))] }

    /// Makes a container whose users have 10,000 bytes each, and the public database 20,000.
    private func cloud(_ engine: Engine) async throws -> TestCloud {
        let test = try await TestCloud(engine, quotas: Quotas(userBytes: 10_000, publicBytes: 20_000))
        _ = try await test.cloud.registry.createContainer(TestCloud.container)
        return test
    }

    private func bytes(_ test: TestCloud, _ user: String) async throws -> Int64 {
        try await test.cloud.usage(of: user, in: TestCloud.container, .development).bytes
    }

    private func publicBytes(_ test: TestCloud) async throws -> Int64 {
        try await test.cloud.usage(of: TestCloud.container, .development, after: nil).ofPublic.bytes
    }

    @Test(arguments: Engine.ofRules) func `every kind of change is counted to the byte, in all zones together`(engine: Engine) async throws {
        let test = try await cloud(engine)
        let (ann, bob) = (test.user("_ann"), test.user("_bob"))
        // A modification time is stored if it differs from the creation time.
        let time: Int64 = 8
        #expect(try await bytes(test, "_ann") == 0)
        try await ann.makeZone("Z")
        #expect(try await bytes(test, "_ann") == 0)
        try await ann.modify([.create("a", Self.text(1000))], zone: "Z")
        let one = try await bytes(test, "_ann")
        #expect((1000...1200).contains(one))
        try await ann.modify([.create("a", Self.text(1000))])
        #expect(try await bytes(test, "_ann") == 2 * one)
        try await ann.modify([.update("a", Self.text(1700))], zone: "Z")
        #expect(try await bytes(test, "_ann") == 2 * one + time + 700)
        try await ann.modify([.update("a", Self.text(200))], zone: "Z")
        #expect(try await bytes(test, "_ann") == 2 * one + time - 800)
        // A request that fails, one that finds nothing to do, and one that is sent again.
        try await ann.modify([.create("a"), .create("b")], zone: "Z")
        try await ann.modify([.delete("none")], zone: "Z")
        for _ in 0..<2 { try await ann.modify([.create("once", Self.text(1000))], zone: "Z", id: "1", digest: [1]) }
        #expect(try await bytes(test, "_ann") == 3 * one + time - 800)
        try await ann.modify([.delete("once")], zone: "Z")
        #expect(try await bytes(test, "_ann") == 2 * one + time - 800)
        try await ann.deleteZone("Z")
        #expect(try await bytes(test, "_ann") == one, "at once, not when its rows are reclaimed")
        try await test.runAllTasks()
        #expect(try await bytes(test, "_ann") == one)
        #expect(try await bytes(test, "_bob") == 0)
        try await bob.modify([.create("a", Self.text(1000))])
        #expect(try await bytes(test, "_bob") == one)
        #expect(try await bytes(test, "_ann") == one)
        #expect(try await publicBytes(test) == 0)
        try await test.user("_ann", in: .public).modify([.create("p", Self.text(1000))])
        #expect(try await publicBytes(test) == one)
        #expect(try await bytes(test, "_ann") == one, "what is public does not count against its user")
        #expect(try await test.check().isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `what goes with a deletion is free at once or with its task`(engine: Engine) async throws {
        let test = try await cloud(engine)
        let ann = test.user("_ann")
        try await ann.define(["owner": .reference])
        try await ann.makeZone("Z")
        try await ann.modify([.create("o", Self.text(100))] + (0..<5).map { .holder("h\($0)", of: ["o"]) }, zone: "Z")
        #expect(try await bytes(test, "_ann") > 300)
        try await ann.modify([.delete("o")], zone: "Z")
        #expect(try await bytes(test, "_ann") == 0)
        #expect(try await test.check().isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `a save without room is refused alone, and a deletion or a smaller save never is`(engine: Engine)
        async throws
    {
        let test = try await cloud(engine)
        let ann = test.user("_ann")
        try await ann.modify([.create("a", Self.text(4000)), .create("b", Self.text(4000))])
        let mixed = try await ann.modify([.create("c", Self.text(3000)), .create("d", Self.text(500)), .update("a", Self.text(6000))])
        #expect(mixed.map(\.error?.code) == [.quotaExceeded, nil, .quotaExceeded])
        let error = try #require(mixed.first?.error)
        #expect(error.nativeCode == NativeErrorCode.quotaExceeded.rawValue && error.reason == "Quota exceeded" && error.remedy != nil)
        #expect(try await bytes(test, "_ann") <= 10_000)
        // Smaller, or as large as before, even from another device with longer stamps.
        var second = ann
        second.caller.deviceID = String(repeating: "d", count: 60)
        _ = try await test.cloud.setQuotas(of: TestCloud.container, .development) { $0.userBytes = 1 }
        for (operation, isSaved) in [
            (RecordOperation.update("a", Self.text(4000)), true), (.update("a", Self.text(3999)), true), (.update("a", Self.text(4000)), false),
            (.delete("d"), true), (.create("e"), false),
        ] {
            #expect(try await second.modify([operation]).map { $0.error == nil } == [isSaved], "\(operation.change.recordName ?? "")")
        }
        #expect(try await second.modify([.delete("b"), .create("e")]).map(\.error?.code) == [nil, .quotaExceeded])
        #expect(try await second.modify([.delete("a")]).map(\.error) == [nil])
        #expect(try await bytes(test, "_ann") == 0)
        #expect(try await test.check().isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `fields that take as much as before, and are kept in more bytes, need room too`(engine: Engine)
        async throws
    {
        let test = try await cloud(engine)
        let ann = test.user("_ann")
        try await ann.define(["text": .string, "texts": .stringList])
        try await ann.modify([.create("a", Self.text(9500))])
        let letters: RecordFields = ["texts": .stringList([String](repeating: "x", count: 9499))]
        #expect(try await ann.modify([.make(.forceReplace, "a", letters)]).map(\.error?.code) == [.quotaExceeded])
        #expect(try await bytes(test, "_ann") < 10_000)
        let fewer: RecordFields = ["texts": .stringList([String](repeating: "x", count: 4000))]
        #expect(try await ann.modify([.make(.forceReplace, "a", fewer)]).map(\.error?.code) == [nil])
    }

    @Test(arguments: Engine.ofRules) func `in an atomic zone a save without room takes its batch with it`(engine: Engine) async throws {
        let test = try await cloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        let refused = try await ann.modify([.create("small"), .create("large", Self.text(11_000))], zone: "Z")
        #expect(refused.map(\.error) == [.atomicFailure, .quotaExceeded(isPublic: false)])
        #expect(try await bytes(test, "_ann") == 0)
        let alone = try await ann.modify([.create("small"), .create("large", Self.text(11_000))], zone: "Z", atomic: false)
        #expect(alone.map(\.error?.code) == [nil, .quotaExceeded])
    }

    @Test(arguments: Engine.ofRules) func `the public database has a quota of its own, and users get their records beside a full one`(
        engine: Engine
    ) async throws {
        let test = try await cloud(engine)
        let world = test.user("_ann", in: .public)
        try await world.modify([.create("a", Self.text(15_000))])
        #expect(try await world.modify([.create("b", Self.text(6000))]).first?.error == .quotaExceeded(isPublic: true))
        #expect(try await test.user("_bob", in: .public).modify([.create("b", Self.text(6000))]).first?.error?.code == .quotaExceeded)
        #expect(try await test.user("_bob").modify([.create("b", Self.text(6000))]).first?.error == nil)
        _ = try await test.cloud.setQuotas(of: TestCloud.container, .development) { $0 = QuotaEntry(userBytes: 1, publicBytes: 1) }
        try await test.cloud.admit("_carol", to: TestCloud.container, .development)
        #expect(try await world.lookup(["_carol"]).first?.record != nil)
        #expect(try await test.check().isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `what is set for a container counts from the next request on, in its environment alone`(
        engine: Engine
    ) async throws {
        let test = try await cloud(engine)
        let ann = test.user("_ann")
        let large = RecordOperation.create("large", Self.text(12_000))
        #expect(try await ann.modify([large]).first?.error?.code == .quotaExceeded)
        let set = try await test.cloud.setQuotas(of: TestCloud.container, .production) { $0.userBytes = 0 }
        #expect(set.quotas == Quotas(userBytes: 0, publicBytes: 20_000) && set.entry == QuotaEntry(userBytes: 0))
        #expect(try await ann.modify([large]).first?.error?.code == .quotaExceeded)
        _ = try await test.cloud.setQuotas(of: TestCloud.container, .development) { $0.userBytes = 13_000 }
        #expect(try await ann.modify([large]).first?.error == nil)
        #expect(try await test.cloud.usage(of: "_ann", in: TestCloud.container, .development).limit == 13_000)
        _ = try await test.cloud.setQuotas(of: TestCloud.container, .development) { $0.userBytes = nil }
        #expect(try await test.cloud.quotas(of: TestCloud.container, .development).entry == QuotaEntry())
        #expect(try await ann.modify([.create("more")]).first?.error?.code == .quotaExceeded)
        for bytes in [-1, Int64(Limits.quotaBytes) + 1] {
            await #expect(throws: ServerError.self) {
                _ = try await test.cloud.setQuotas(of: TestCloud.container, .development) { $0.publicBytes = bytes }
            }
        }
        await #expect(throws: ServerError.noContainer) { try await test.cloud.setQuotas(of: "iCloud.none", .development) { _ in } }
    }

    @Test(arguments: Engine.ofRules) func `a reset and a deleted account leave nothing that counts`(engine: Engine) async throws {
        let test = try await cloud(engine)
        let account = try await test.cloud.registry.createAccount(email: "ada@example.com", passwordHash: "h")
        let name = try await test.cloud.admit(account: account.id, to: TestCloud.container, .development)
        let before = (try await bytes(test, name), try await publicBytes(test))
        let ada = test.user(name)
        try await ada.makeZone("Z")
        for zone in ["Z", ZoneID.defaultZoneName] { try await ada.modify([.create("a", Self.text(2000))], zone: zone) }
        try await test.user(name, in: .public).modify([.create("p", Self.text(2000))])
        _ = try await test.cloud.resetSchema(of: TestCloud.container, isDryRun: false)
        #expect(try await bytes(test, name) == before.0, "a fresh user record is all")
        #expect(try await publicBytes(test) == before.1)
        try await ada.modify([.create("a", Self.text(2000))])
        try await test.cloud.registry.deleteAccount(account)
        test.clock.move(bySeconds: Limits.accountDeletionSeconds)
        try await test.runAllTasks()
        #expect(try await bytes(test, name) == 0)
        #expect(try await publicBytes(test) == 0)
        #expect(try await test.check().isEmpty)
    }

    // MARK: Concurrent saves

    private static func code(of operation: RecordOperation, by user: TestCloudUser, in zone: String) async throws -> ServerErrorCode? {
        try await user.modify([operation], zone: zone).first?.error?.code
    }

    @Test(arguments: Engine.ofRules, [DatabaseKey.Scope.private, .public])
    func `requests at once do not get past the quota together`(engine: Engine, scope: DatabaseKey.Scope) async throws {
        let test = try await cloud(engine)
        let ann = test.user("_ann", in: scope)
        let zones = scope == .public ? [ZoneID.defaultZoneName] : ["A", "B", "C", ZoneID.defaultZoneName]
        if scope == .private { try await ann.makeZone("A", "B", "C") }
        try await ann.define(["text": .string])
        let codes = try await withThrowingTaskGroup(of: ServerErrorCode?.self) { group in
            for index in 0..<40 {
                let zone = zones[index % zones.count]
                group.addTask { try await Self.code(of: .create("r\(index)", Self.text(1000)), by: ann, in: zone) }
            }
            var codes: [ServerErrorCode?] = []
            for try await code in group { codes.append(code) }
            return codes
        }
        #expect(Set(codes) == [nil, .quotaExceeded])
        let saved = codes.count { $0 == nil }
        let limit: Int64 = scope == .public ? 20_000 : 10_000
        let used = scope == .public ? try await publicBytes(test) : try await bytes(test, "_ann")
        #expect(used <= limit && used > limit - 1200, "as much as fits, and no more: \(used)")
        #expect(used == Int64(saved) * (used / Int64(max(saved, 1))))
        #expect(try await test.check().isEmpty)
    }

    @Test(arguments: [nil, SideBySideStore.PlantedFault.noLocks])
    func `what another request takes between a save's decision and its commit is not given twice`(fault: SideBySideStore.PlantedFault?) async throws {
        let between = Locked<(@Sendable () async throws -> Void)?>(nil)
        let store = SideBySideStore(
            fault: fault,
            beforeCommit: {
                let deed = between.withLock { deed in
                    defer { deed = nil }
                    return deed
                }
                do { try await deed?() } catch { Issue.record(error) }
            })
        let test = TestCloud(store, quotas: Quotas(userBytes: 10_000))
        let ann = test.user("_ann")
        try await ann.makeZone("A", "B")
        try await ann.define(["text": .string])
        between.withLock { $0 = { try await ann.modify([.create("first", Self.text(6000))], zone: "A") } }
        let late = try await ann.modify([.create("late", Self.text(6000))], zone: "B")
        let used = try await bytes(test, "_ann")
        // With the planted fault, locks exclude no other write: the test must notice it.
        #expect((used <= 10_000) == (fault == nil))
        #expect((late.first?.error?.code == .quotaExceeded) == (fault == nil))
    }

    @Test func `a modify asks the store five times at most, and once more under a private quota`() async throws {
        let store = CountingStore(try await Engine.memory.makeStore())
        let test = TestCloud(store, quotas: Quotas(userBytes: 1_000_000, publicBytes: 1_000_000))
        for (user, calls) in [(test.user("_ann"), 4), (test.user("_ann", in: .public), 3)] {
            try await user.define(["text": .string])
            try await user.modify([.create("a", Self.text(9))])
            store.reset()
            try await user.modify([.create("b", Self.text(9))], id: "x")
            #expect(store.transactions.last?.verbs.count == calls, "\(store.transactions.map(\.verbs))")
        }
    }

    // MARK: The check

    @Test(arguments: Engine.ofRules) func `a count that is wrong is told and made right`(engine: Engine) async throws {
        let test = try await cloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Y", "Z")
        for zone in ["Y", "Z"] { try await ann.modify([.create("a", Self.text(1000)), .create("b")], zone: zone) }
        let right = try await bytes(test, "_ann")
        let database = try await ann.database
        let zone = try #require(try await test.store.read { try $0.zones(in: database, named: ["Z"]).first }).address
        let wrong: [(changes: @Sendable (inout WritePlan) -> Void, findings: [String])] = [
            ({ $0.zoneChanges = [ZoneChange(zone, bytesAdded: 7)] }, ["A database counts", "A zone counts"]),
            ({ $0.databaseChanges = [DatabaseChange(database, bytesAdded: -7)] }, ["A database counts"]),
            (
                {
                    $0.zoneChanges = [ZoneChange(zone, bytesAdded: -9)]
                    $0.databaseChanges = [DatabaseChange(database, bytesAdded: -9)]
                }, ["A zone counts"]
            ),
        ]
        for (change, expected) in wrong {
            var plan = WritePlan()
            change(&plan)
            try await test.store.write { [plan] transaction in
                try transaction.apply(plan)
                return .commit(())
            }
            let found = try await test.check()
            #expect(found.map { finding in expected.first { finding.what.hasPrefix($0) } } == expected, "\(found)")
            #expect(found.allSatisfy { $0.outcome == .mendable && $0.database.contains("_ann") && ($0.table == "databases" || $0.zone == "Z") })
            #expect(try await test.check(.repair).allSatisfy { $0.outcome == .mended })
            #expect(try await test.check().isEmpty)
            #expect(try await bytes(test, "_ann") == right)
        }
    }
}
