import CloudKit
import Foundation
import NacreCloudWire
import NacreRandom

/// An app that saves, replaces and deletes records with encrypted values, under its own names in a zone, and reads them
/// back, also after it was started anew: acknowledged values are there, and open.
struct SecretKeeper {
    private static let recordType = "Secret"
    private static let field = "secret"
    /// Records at a time.
    private static let records: UInt64 = 12
    /// Records of a batch at most.
    private static let batchMax: UInt64 = 4
    private static let deletionOnceIn: UInt64 = 6
    private static let startOnceIn: UInt64 = 4
    /// The pause before a request is sent again that got no answer.
    private static let pause: Duration = .milliseconds(100)
    /// The errors of requests that get another answer later.
    private static let passing: Set<CKError.Code> = [
        .networkFailure, .networkUnavailable, .serviceUnavailable, .requestRateLimited, .zoneBusy, .serverResponseLost,
    ]

    let arena: Arena
    var random: SeededRandom
    private(set) var testimony = Testimony()
    /// kept[recordName]: the value that was acknowledged.
    private var kept: [String: String] = [:]
    /// nil: the app is not started.
    private var database: CKDatabase?

    init(arena: Arena, random: SeededRandom) {
        self.arena = arena
        self.random = random
    }

    /// Runs until the round is over, or a violation is found; then starts the app anew, and reads all values once more.
    mutating func run() async {
        do {
            while !arena.board.isOver {
                try await step()
                arena.board.did { $0.secretSteps += 1 }
            }
            database = nil
            try await readBack(kept.keys.sorted())
        } catch AskFault.silent(let text) {
            testimony.silence = text
            arena.board.end()
        } catch {
            testimony.history.fault(error as? Violation ?? Violation(.unexpectedAnswer, "\(error)"))
            arena.board.end()
        }
    }

    private mutating func step() async throws {
        if random.happens(onceIn: Self.startOnceIn) { database = nil }
        let count = 1 + random.next() % Self.batchMax
        let names = Set((0..<count).map { _ in "s\(random.next() % Self.records)" }).sorted()
        if random.happens(onceIn: Self.deletionOnceIn) {
            let ids = names.map(recordID)
            try await untilAnswered { database in
                let results = try await database.modifyRecords(saving: [], deleting: ids, atomically: true)
                try Self.check(results.deleteResults.values.map { result in result.map { _ in } })
            }
            for name in names { kept[name] = nil }
        } else {
            let values = names.map { ($0, "\(arena.run) \(random.next())") }
            // An app saves over the version that it has fetched, or with none at hand.
            let fetched = random.happens(onceIn: 2) ? try await records(names) : [:]
            let records = values.map { name, value in
                let record = fetched[name] ?? CKRecord(recordType: Self.recordType, recordID: recordID(name))
                record.encryptedValues[Self.field] = value
                record["length"] = value.utf8.count
                return record
            }
            try await untilAnswered { database in
                let results = try await database.modifyRecords(saving: records, deleting: [], savePolicy: .allKeys, atomically: true)
                try Self.check(results.saveResults.values.map { result in result.map { _ in } })
            }
            for (name, value) in values { kept[name] = value }
            testimony.counts.secretsSaved += names.count
        }
        try await readBack(names)
    }

    private func recordID(_ name: String) -> CKRecord.ID {
        CKRecord.ID(recordName: name, zoneID: CKRecordZone.ID(zoneName: arena.sealedZoneID.zoneName))
    }

    /// Fetches those of the records that are there.
    private mutating func records(_ names: [String]) async throws -> [String: CKRecord] {
        let ids = names.map(recordID)
        return try await untilAnswered { database in
            let results = try await database.records(for: ids)
            try Self.check(results.values.filter { $0.code != .unknownItem && $0.code != .internalError }.map { result in result.map { _ in } })
            for (id, result) in results {
                // The framework refuses a record that is not the one which was saved.
                guard case .failure(let error) = result, result.code == .internalError else { continue }
                throw Violation(.lostSecret, "\(id.recordName) is refused: \(error)")
            }
            return Dictionary(uniqueKeysWithValues: results.compactMap { id, result in (try? result.get()).map { (id.recordName, $0) } })
        }
    }

    private mutating func readBack(_ names: [String]) async throws {
        let found = try await records(names)
        for name in names {
            let shown = found[name]?.encryptedValues[Self.field] as? String
            testimony.counts.secretsRead += shown == nil ? 0 : 1
            if shown != kept[name] {
                throw Violation(.lostSecret, "\(name) has \(shown ?? "no value"), and \(kept[name] ?? "none") was acknowledged")
            }
        }
    }

    /// Throws the error of one item, if any has one: of an atomic batch that which the others failed for.
    private static func check(_ results: [Result<Void, any Error>]) throws {
        let errors = results.compactMap { if case .failure(let error) = $0 { error } else { nil } }
        if let error = errors.first(where: { ($0 as? CKError)?.code != .batchRequestFailed }) ?? errors.first { throw error }
    }

    /// Asks until there is an answer, as often as the server's absence may last.
    private mutating func untilAnswered<Answer>(_ ask: (CKDatabase) async throws -> Answer) async throws -> Answer {
        guard let database = database ?? arena.startApp?().privateCloudDatabase else { throw Violation(.unexpectedAnswer, "there is no app") }
        self.database = database
        let deadline = ContinuousClock.now + Asker.patience
        while true {
            do {
                return try await ask(database)
            } catch let error as CKError where Self.passing.contains(error.code) {
                if Task.isCancelled || ContinuousClock.now > deadline { throw AskFault.silent("\(error)") }
                // A cancelled pause only makes the last attempt come sooner.
                try? await Task.sleep(for: Self.pause)
            }
        }
    }
}

extension Result {
    fileprivate var code: CKError.Code? {
        if case .failure(let error) = self { (error as? CKError)?.code } else { nil }
    }
}
