import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests with random histories under tight quotas: every engine answers as memory does, and counts equal contents
/// after every step.
@Suite struct QuotaHistoryTests {
    private static let quotas = Quotas(userBytes: 6000, publicBytes: 9000)
    private static let steps = 250
    private static let zones = ["A", "B", ZoneID.defaultZoneName]
    private static let users = ["_ann", "_bob"]

    /// One request of a history.
    private enum Step: Sendable {
        case modify(String, DatabaseKey.Scope, zone: String, [RecordOperation], isAtomic: Bool, id: String?)
        case zone(String, ZoneOperation)
        case setUserBytes(Int64?)
        case reset
        case tasks
    }

    private static func operation(_ random: inout SeededRandom, in scope: DatabaseKey.Scope) -> RecordOperation {
        let name = "r\(Int.random(in: 0..<12, using: &random))"
        func other(_ random: inout SeededRandom) -> String { "r\(Int.random(in: 0..<12, using: &random))" }
        var fields: RecordFields = ["text": .string(String(repeating: "é", count: .random(in: 0...700, using: &random)))]
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<2: return .delete(name)
        case 2: fields["owner"] = .reference(Reference(recordName: other(&random), action: .deleteSelf))
        case 3: return .make(.forceReplace, name, fields, parent: .set(Reference(recordName: other(&random), action: .none)))
        case 4: return .make(.forceReplace, name, [:], parent: .clear)
        case 5: return .create(name, fields)
        default: break
        }
        return .make(Bool.random(using: &random) ? .forceUpdate : .forceReplace, name, fields)
    }

    private static func step(_ random: inout SeededRandom, _ sent: inout [Step]) -> Step {
        let user = users.randomElement(using: &random) ?? users[0]
        switch Int.random(in: 0..<40, using: &random) {
        case 0: return .zone(user, ZoneOperation(.delete, ZoneID(zoneName: ["A", "B"].randomElement(using: &random) ?? "A")))
        case 1..<4: return .zone(user, ZoneOperation(.create, ZoneID(zoneName: ["A", "B"].randomElement(using: &random) ?? "A")))
        case 4: return .setUserBytes([nil, 0, 3000, 9000].randomElement(using: &random) ?? nil)
        case 5 where Int.random(in: 0..<8, using: &random) == 0: return .reset
        case 6: return .tasks
        case 7..<10:
            if let again = sent.randomElement(using: &random) { return again }
        default: break
        }
        let scope: DatabaseKey.Scope = Int.random(in: 0..<4, using: &random) == 0 ? .public : .private
        var names: Set<String> = []
        let operations = (0..<Int.random(in: 1...5, using: &random)).map { _ in operation(&random, in: scope) }
            .filter { names.insert($0.change.recordName ?? "").inserted }
        let zone = scope == .public ? ZoneID.defaultZoneName : zones.randomElement(using: &random) ?? "A"
        let id = Bool.random(using: &random) ? "op\(sent.count)" : nil
        let step = Step.modify(user, scope, zone: zone, operations, isAtomic: Bool.random(using: &random), id: id)
        if id != nil { sent.append(step) }
        return step
    }

    /// Returns the answer to a step: each record's tag, or the code of its error.
    private static func run(_ step: Step, on test: TestCloud) async throws -> [String] {
        switch step {
        case .modify(let user, let scope, let zone, let operations, let isAtomic, let id):
            do {
                return try await test.user(user, in: scope).modify(operations, zone: zone, atomic: isAtomic, id: id).map { result in
                    result.error.map { "\($0.code) \($0.reason)" } ?? result.record?.recordChangeTag ?? "deleted"
                }
            } catch let error as ServerError {
                return ["\(error.code) \(error.reason)"]
            }
        case .zone(let user, let operation):
            return try await test.user(user).modifyZones(operation).map { $0.error.map { "\($0.code)" } ?? "done" }
        case .setUserBytes(let bytes):
            _ = try await test.cloud.setQuotas(of: TestCloud.container, .development) { $0.userBytes = bytes }
        case .reset: _ = try await test.cloud.resetSchema(of: TestCloud.container, isDryRun: false)
        case .tasks: try await test.runAllTasks()
        }
        return []
    }

    private static func prepared(_ engine: Engine) async throws -> TestCloud {
        let test = try await TestCloud(engine, seed: 5, quotas: quotas)
        _ = try await test.cloud.registry.createContainer(TestCloud.container)
        return test
    }

    /// counts[database]: its counted bytes.
    private static func counts(_ test: TestCloud) async throws -> [String: Int64] {
        try await test.store.read { transaction in
            let rows = try transaction.databases(of: TestCloud.container, .development, after: nil, limit: 100)
            return Dictionary(uniqueKeysWithValues: rows.map { ($0.key.text, $0.bytes) })
        }
    }

    /// Returns the bytes of each database's live records, by a walk over all rows.
    private static func recounted(_ test: TestCloud) async throws -> [String: Int64] {
        try await test.store.read { transaction in
            let rows = try transaction.databases(of: TestCloud.container, .development, after: nil, limit: 100)
            var counts = Dictionary(uniqueKeysWithValues: rows.map { ($0.key.text, Int64(0)) })
            for database in rows {
                for zone in try transaction.zones(in: database.id, after: nil, limit: 100) {
                    let found = try transaction.records(in: zone.address, after: nil, limit: 10_000)
                    let bytes = found.reduce(Int64(0)) { $0 + Int64($1.body.count) }
                    #expect(zone.bytes == bytes, "\(zone.name)")
                    counts[database.key.text, default: 0] += bytes
                }
            }
            return counts
        }
    }

    @Test(arguments: Engine.embedded) func `every engine answers as memory does, and counts what is there`(engine: Engine) async throws {
        let seed = HistorySeed.value
        var random = SeededRandom(seed: seed)
        let (oracle, test) = (try await Self.prepared(.memory), try await Self.prepared(engine))
        var sent: [Step] = []
        var refused = 0
        var saved = 0
        for number in 0..<Self.steps {
            let step = Self.step(&random, &sent)
            let before = try await Self.counts(test)
            let (expected, found) = (try await Self.run(step, on: oracle), try await Self.run(step, on: test))
            try #require(found == expected, "NACRE_SEED=\(seed) step \(number): \(step)")
            let counts = try await Self.counts(test)
            try #require(try await Self.recounted(test) == counts, "NACRE_SEED=\(seed) step \(number): \(step)")
            try #require(try await Self.counts(oracle) == counts, "NACRE_SEED=\(seed) step \(number): \(step)")
            if case .modify = step {
                let isRefused = found.contains { $0.hasPrefix("quotaExceeded") }
                refused += isRefused ? 1 : 0
                saved += found.contains { !$0.contains(" ") && $0 != "deleted" } ? 1 : 0
                for (database, bytes) in counts where bytes > before[database] ?? 0 && database.hasSuffix("public/") {
                    try #require(bytes <= Self.quotas.publicBytes, "NACRE_SEED=\(seed) step \(number): \(step)")
                }
            }
        }
        // In some histories the users' quotas are soon lifted.
        #expect(refused > 0 && saved > 20, "NACRE_SEED=\(seed): \(refused) refused, \(saved) saved")
        try await test.runAllTasks()
        #expect(try await Self.recounted(test) == Self.counts(test))
        #expect(try await test.check().isEmpty)
    }

    @Test(arguments: Engine.embedded) func `many who ask at once leave a count that is right, and no more than they may have`(engine: Engine)
        async throws
    {
        let seed = HistorySeed.value
        let test = try await Self.prepared(engine)
        for user in Self.users { try await test.user(user).makeZone("A", "B") }
        try await test.user("_ann").define(["text": .string, "owner": .reference])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<8 {
                group.addTask {
                    var random = SeededRandom(seed: seed &+ UInt64(writer))
                    var sent: [Step] = []
                    for _ in 0..<40 {
                        let step = Self.step(&random, &sent)
                        switch step {
                        case .modify, .zone: _ = try await Self.run(step, on: test)
                        case .setUserBytes, .reset, .tasks: break
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let counts = try await Self.counts(test)
        #expect(try await Self.recounted(test) == counts, "NACRE_SEED=\(seed)")
        // Saves that make nothing larger may lengthen a stamp by some bytes, in each of a few dozen records.
        #expect(
            counts.values.allSatisfy { $0 <= Self.quotas.publicBytes + 1000 } && counts.values.contains { $0 > 2000 }, "NACRE_SEED=\(seed): \(counts)"
        )
        try await test.runAllTasks()
        #expect(try await test.check().isEmpty, "NACRE_SEED=\(seed)")
    }
}
