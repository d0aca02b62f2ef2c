import FoundationEssentials
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// Tests with flipped bits in the database file: later answers are an error or the truth, never another record.
@Suite struct BitRot {
    /// `NACRE_ROT_ROUNDS` sets another number of rounds.
    private static let rounds = LongSearch.rounds("NACRE_ROT_ROUNDS", part: 24, whole: 400)
    private static let users = ["_ann", "_bob"]
    private static let names = (0..<24).map { "r\($0)" }
    private static let zones = ["Notes", "Ideas"]

    /// The places of flipped bits.
    fileprivate enum Place: String, CaseIterable, Sendable, CustomTestStringConvertible {
        case header
        case pageHeads
        /// Pages of keys, where a flipped bit leads to another row.
        case keys
        case anywhere

        var testDescription: String { rawValue }
    }

    /// Writes two users whose records differ in nothing but their fields, row beside row: a wrong pointer leads to a
    /// plausible row.
    private static func write(to store: some Store) async throws {
        let test = TestCloud(store)
        for zone in zones {
            for user in users { try await test.user(user).makeZone(zone) }
        }
        for round in 0..<2 {
            for name in names {
                for user in users {
                    for zone in zones {
                        let text = String(repeating: "\(user) \(zone) \(name) \(round); ", count: 8)
                        try await test.user(user).modify([.update(name, ["text": .string(text)])], zone: zone)
                    }
                }
            }
        }
        for user in users {
            try await test.user(user).modify([.delete("r1"), .delete("r2"), .create("child", parent: "r3")], zone: "Notes")
        }
    }

    /// All that one device can read of one zone.
    fileprivate struct View: Sendable {
        var live: [String: Record] = [:]
        var tombstones: Set<String> = []

        mutating func add(_ results: [RecordResult]) {
            for result in results {
                guard let name = result.recordName else { continue }
                if let record = result.record {
                    live[name] = record
                } else if result.tombstone != nil {
                    tombstones.insert(name)
                }
            }
        }

        /// Returns the parts of this view that are false.
        func lies(knowing truth: View) -> [String] {
            live.filter { truth.live[$0.key] != $0.value }.map { "another \($0.key)" }
                + tombstones.filter { truth.live[$0] != nil }.map { "a deletion of \($0)" }
        }
    }

    /// The views that were read, and the number of errors.
    private struct Answers {
        var views: [String: View] = [:]
        var errors = 0

        /// Returns whether there are errors now, or records are missing.
        func isHarmed(knowing truth: Answers) -> Bool {
            errors > 0 || truth.views.contains { name, view in view.live.keys.contains { views[name]?.live[$0] == nil } }
        }
    }

    /// Reads everything: each record by itself, and each feed and each index as a whole.
    private static func read(_ store: some Store) async -> Answers {
        let test = TestCloud(store)
        var answers = Answers()
        for user in users {
            let device = test.user(user)
            for zone in zones {
                for name in names + ["child"] {
                    await ask(&answers, "\(user) \(zone) by name") { try await device.lookup([name], zone: zone) }
                }
                await ask(&answers, "\(user) \(zone) by feed") { try await device.changes(zone).records }
                let filter = QueryFilter(.beginsWith, fieldName: "text", value: .string("_"))
                let query = RecordsQueryRequest(query: Query(recordType: "Note", filters: [filter]), zoneID: ZoneID(zoneName: zone))
                await ask(&answers, "\(user) \(zone) by query") {
                    try await device.cloud.queryRecords(query, in: device.target, by: device.caller).records.map(RecordResult.record)
                }
            }
        }
        return answers
    }

    private static func ask(_ answers: inout Answers, _ view: String, _ question: () async throws -> [RecordResult]) async {
        do {
            answers.views[view, default: View()].add(try await question())
        } catch {
            answers.errors += 1
        }
    }

    @Test(arguments: Place.allCases) fileprivate func `a flipped bit is found or does no harm`(place: Place) async throws {
        let seed = HistorySeed.value
        var random = SeededRandom(seed: seed)
        let folder = try TemporaryFolder(on: .memory)
        let store = try await SQLiteStore.open(folder: folder.path)
        try await Self.write(to: store)
        let truth = await Self.read(store)
        try #require(truth.errors == 0 && truth.views.values.allSatisfy { !$0.live.isEmpty })
        await store.close()
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.path + "/nacre.sqlite")))
        var harmed = 0
        // A test that never met damage would prove nothing: it goes on until it has.
        for round in 0..<1000 where round < Self.rounds / Place.allCases.count || harmed == 0 {
            var rotten = bytes
            let offset = place.offset(in: bytes, &random)
            let bit = UInt8(1) << UInt8.random(in: 0..<8, using: &random)
            rotten[offset] ^= bit
            let answers = try await Self.answers(of: rotten)
            if answers.contains(where: { $0.isHarmed(knowing: truth) }) { harmed += 1 }
            for (name, view) in answers.flatMap(\.views) {
                let lies = view.lies(knowing: truth.views[name] ?? View())
                #expect(lies.isEmpty, "NACRE_SEED=\(seed) round \(round), byte \(offset) of \(bytes.count), bit \(bit), \(name)")
            }
        }
        #expect(harmed > 0, "NACRE_SEED=\(seed)")
    }

    /// Returns the answers from the file, and those after a write to it.
    private static func answers(of bytes: [UInt8]) async throws -> [Answers] {
        let folder = try TemporaryFolder(on: .memory)
        try Data(bytes).write(to: URL(fileURLWithPath: folder.path + "/nacre.sqlite"))
        do {
            let store = try await SQLiteStore.open(folder: folder.path)
            let answers = await read(store)
            // Writers meet the damage too. They may be refused; afterwards no reader may get a false record.
            _ = try? await TestCloud(store).user("_eve").modify([.create("r0", ["text": .string("eve")])])
            let after = await read(store)
            await store.close()
            return [answers, after]
        } catch let error as StoreError where [.corrupt, .newerVersion, .unavailable].contains(error.code) {
            return [Answers(errors: 1)]
        }
    }
}

extension BitRot.Place {
    private static let pageBytes = 4096
    /// SQLite: database file format, "B-tree Pages": the first byte of a page with keys is 2 or 10.
    private static let pagesOfKeys: Set<UInt8> = [2, 10]
    private static let headerBytes = 100
    private static let pageHeadBytes = 64

    fileprivate func offset(in bytes: [UInt8], _ random: inout SeededRandom) -> Int {
        let pages = bytes.count / Self.pageBytes
        switch self {
        case .header: return Int.random(in: 0..<Self.headerBytes, using: &random)
        case .pageHeads:
            return Int.random(in: 0..<pages, using: &random) * Self.pageBytes + Int.random(in: 0..<Self.pageHeadBytes, using: &random)
        case .keys:
            let keyed = (1..<pages).filter { Self.pagesOfKeys.contains(bytes[$0 * Self.pageBytes]) }
            let page = keyed.randomElement(using: &random) ?? 0
            return page * Self.pageBytes + Int.random(in: 0..<Self.pageBytes, using: &random)
        case .anywhere: return Int.random(in: 0..<bytes.count, using: &random)
        }
    }
}
