import FoundationEssentials
import NacreCloudContainer
import NacreCloudStore
import NacreCloudTasks
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// Tests with a flipped bit in a column of any table: no feed stops, and after `check --repair` and the app's own
/// saves an old device and a new one agree.
@Suite struct BitRotMended {
    /// `NACRE_ROT_ROUNDS` sets another number of rounds.
    private static let rounds = max(1, LongSearch.rounds("NACRE_ROT_ROUNDS", part: 100, whole: 400) / 100)

    private static let columns: [(table: String, columns: [String])] = [
        ("records", ["zone_id", "name", "type", "incarnation", "seq", "is_tombstone", "parent", "body"]),
        ("feed", ["zone_id", "view_id", "incarnation", "seq", "name", "entered_incarnation", "entered_seq", "is_departure"]),
        ("record_links", ["zone_id", "target", "kind", "name"]), ("record_index", ["zone_id", "index_id", "key", "name", "id"]),
        ("operations", ["operation_id", "caller", "digest", "result"]), ("tasks", ["kind", "name", "payload", "attempts"]),
    ]

    fileprivate struct Column: Sendable, CustomTestStringConvertible {
        var table: String
        var column: String
        var testDescription: String { "\(table).\(column)" }

        static let all = BitRotMended.columns.flatMap { table, columns in columns.map { Column(table: table, column: $0) } }
    }

    /// A device with its copy of the zone, and its token.
    private struct Device {
        let user: TestCloudUser
        var records: [String: Record] = [:]
        var token: String?
        /// Names that were reported as unreadable.
        var lost: Set<String> = []

        mutating func follow() async throws {
            while true {
                let page = try await user.changes("Notes", after: token, limit: 7)
                for result in page.records {
                    guard let name = result.recordName else { continue }
                    lost.remove(name)
                    if let record = result.record {
                        records[name] = record
                    } else if result.tombstone != nil {
                        records[name] = nil
                    } else {
                        lost.insert(name)
                    }
                }
                token = page.syncToken
                if !page.moreComing { return }
            }
        }

        /// Saves its copy again, and deletes records that it never saw, as an app does that is told.
        mutating func heal() async throws {
            try await follow()
            for name in lost.sorted() {
                guard let record = records[name] else {
                    try await user.modify([.delete(name)], zone: "Notes", atomic: false)
                    continue
                }
                let parent: RecordChange.ParentChange = record.parent.map { .set($0) } ?? .clear
                try await user.modify([.make(.forceReplace, name, record.fields, parent: parent)], zone: "Notes", atomic: false)
            }
            try await follow()
        }

        var fields: [String: RecordFields] { records.mapValues(\.fields) }
    }

    private static func prepare(_ folder: TemporaryFolder) async throws -> (bytes: Data, device: [String: RecordFields]) {
        let store = try await SQLiteStore.open(folder: folder.path)
        let test = TestCloud(store)
        let ann = test.user("_ann")
        try await ann.makeZone("Notes")
        for index in 0..<8 {
            let stars = FieldValue.int64(Int64(index))
            try await ann.modify([.create("r\(index)", ["stars": stars, "text": .string("some words \(index)")])], zone: "Notes", id: "op\(index)")
        }
        let to = FieldValue.reference(Reference(recordName: "r1", action: .deleteSelf))
        let held = FieldValue.reference(Reference(recordName: "r2", action: .validate))
        try await ann.modify([.create("child", ["to": to, "held": held], parent: "r3"), .delete("r7")], zone: "Notes")
        var device = Device(user: ann)
        try await device.follow()
        await store.close()
        return (try Data(contentsOf: URL(fileURLWithPath: folder.path + "/nacre.sqlite")), device.fields)
    }

    @Test(arguments: Column.all) fileprivate func `a flipped bit is mended, and old and new devices agree`(column: Column) async throws {
        let seed = HistorySeed.value
        var random = SeededRandom(seed: seed)
        let origin = try TemporaryFolder(on: .memory)
        let (bytes, truth) = try await Self.prepare(origin)
        for round in 0..<Self.rounds {
            let folder = try TemporaryFolder(on: .memory)
            try bytes.write(to: URL(fileURLWithPath: folder.path + "/nacre.sqlite"))
            let before = try await SQLiteStore.open(folder: folder.path)
            var old = Device(user: TestCloud(before).user("_ann"))
            try await old.follow()
            await before.close()
            guard try Self.flip(column, in: folder, &random) else { continue }
            let store = try await SQLiteStore.open(folder: folder.path)
            let test = TestCloud(store)
            let ann = test.user("_ann")
            old = Device(user: ann, records: old.records, token: old.token)
            var early = Device(user: ann)
            try await early.follow()
            try await test.check(.repair)
            try await old.heal()
            try await test.runAllTasks()
            try await test.check(.repair)
            try await old.heal()
            // A flipped name may be one that no app can send.
            if old.lost.contains(where: { $0.utf8.contains { $0 < 0x20 || $0 >= 0x7f } }) {
                try await test.check(.removeLost)
                try await old.follow()
            }
            var fresh = Device(user: ann)
            try await fresh.follow()
            let place = "NACRE_SEED=\(seed) round \(round)"
            #expect(fresh.lost.isEmpty && old.lost.isEmpty, "\(place)")
            #expect(fresh.fields == old.fields && fresh.fields == truth, "\(place)")
            #expect(fresh.records == old.records.filter { fresh.records[$0.key] == $0.value }, "\(place)")
            let left = try await test.check().filter { $0.what != "A record of no zone" && $0.table != "tasks" }
            #expect(left.isEmpty, "\(place): \(left)")
            await store.close()
        }
    }

    /// Flips a bit. Returns whether there was a row for it.
    private static func flip(_ column: Column, in folder: TemporaryFolder, _ random: inout SeededRandom) throws -> Bool {
        let tables: Set = ["records", "feed", "record_links", "record_index"]
        let count = Int(try folder.sql("SELECT count(*) FROM \(column.table)").first ?? "") ?? 0
        guard count > 0 else { return false }
        for _ in 0..<20 {
            let offset = Int.random(in: 0..<count, using: &random)
            // A random row, found by its key, since some tables have no row numbers.
            let keys = tables.contains(column.table) ? "name || hex(zone_id)" : column.table == "tasks" ? "name || kind" : "operation_id"
            let key = try folder.sql("SELECT \(keys) FROM \(column.table) LIMIT 1 OFFSET \(offset)").first ?? ""
            do {
                try folder.flip(
                    column.column, of: column.table, where: "\(keys) = '\(key)'", byte: Int.random(in: 0..<3, using: &random),
                    bit: Int.random(in: 0..<7, using: &random))
                return true
            } catch {
                // No value there, or the new key exists already: try another bit.
                continue
            }
        }
        return false
    }
}
