import CloudKit
import Foundation
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks
import Testing

@testable import NacreCloudTorture

/// Tests of whole runs, over HTTP, against servers in this process. One after the other: each keeps a core busy.
@Suite(.serialized) struct TortureTests {
    /// Runs torture up to its goal. The time is a bound for a machine that hangs.
    private func run(
        over store: any Store, restarting: Bool = false, bucket: AssetBucket? = nil, tellingSeconds: Double = 90
    ) async throws -> TortureReport {
        let server = try await ServedStore(store, bucket: bucket)
        var options = server.options(seconds: 300, seed: HistorySeed.value)
        options.goal = TortureGoal(batches: 400, familySteps: 80, fileSteps: bucket == nil ? 10 : 40, restarts: restarting ? 2 : 0)
        options.tellingSeconds = tellingSeconds
        // Violations by askers would end the run too early.
        options.askers = 0
        return try await server.run(options)
    }

    /// Returns the report of a run that found a store's fault. It depends on chance whether requests meet in time, so
    /// there are up to five runs.
    private func report(on store: (any Store) -> any Store, finding kind: Violation.Kind) async throws -> TortureReport {
        var report = try await run(over: store(try await Engine.sqlite.makeStore()))
        for _ in 0..<4 where !report.finds(kind) { report = try await run(over: store(try await Engine.sqlite.makeStore())) }
        return report
    }

    /// Returns whether enough happened: an empty run would pass.
    private func isVaried(_ counts: TortureCounts) -> Bool {
        counts.batchesApplied > 50 && counts.recordsChanged > 100 && counts.batchesRefused > 5
            && counts.changesRead > 100 && counts.pages > 20 && counts.lookups > 0 && counts.tokensReplayed > 0
            && counts.recordsTold > 2 && counts.filesSaved > 2 && counts.filesRead > counts.filesSaved
            && counts.queries > 0 && counts.cascades > 2 && counts.familyPages > 2 && counts.repetitions > 0 && counts.answersAbandoned > 0
    }

    @Test func `a server under load breaks no promise`() async throws {
        let report = try await run(over: try await Engine.sqlite.makeStore())
        #expect(report.violations == [], "NACRE_SEED=\(report.seed)")
        #expect(isVaried(report.counts), "\(report.counts)")
        #expect(report.counts.batchesUnanswered == 0 && report.counts.tokensExpired == 0)
    }

    @Test func `a server that is stopped in the middle and started again breaks no promise`() async throws {
        let report = try await run(over: try await Engine.sqlite.makeStore(), restarting: true)
        #expect(report.violations == [], "NACRE_SEED=\(report.seed)")
        #expect(report.restarts >= 2 && report.counts.retries > 0 && report.counts.batchesApplied > 20, "\(report.restarts), \(report.counts)")
        #expect(report.counts.batchesUnanswered == 0)
    }

    @Test(.enabled(if: mayRun(S3Server.program != nil), "\(S3Server.absent)"))
    func `a server that keeps files in a bucket breaks no promise, also where it is stopped in the middle`() async throws {
        let bucket = try S3Server()
        let report = try await run(over: try await Engine.sqlite.makeStore(), restarting: true, bucket: try S3Server.bucket(bucket.port))
        #expect(report.violations == [], "NACRE_SEED=\(report.seed)")
        #expect(report.restarts >= 2 && report.counts.filesSaved > 2 && report.counts.filesRead > 2, "\(report.counts)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: bucket.objects + "/some/place").count > 1)
    }

    @Test func `change numbers that are taken before the transaction are found out`() async throws {
        let report = try await report(on: { EarlyNumberStore($0) }, finding: .skippedChange)
        #expect(report.finds(.skippedChange), "NACRE_SEED=\(report.seed), \(report.counts)")
        // The batches themselves are correct: only reads of them are not.
        let kinds = Set(report.violations.map(\.kind))
        #expect(kinds.isDisjoint(with: [.doubleSuccess, .lostWrite, .refusedApplied, .appliedTwice, .wrongContent]), "\(report.violations)")
    }

    @Test func `index rows that are lost are found out`() async throws {
        // A record that a query for its shelf does not return counts as deleted, but no client deleted it.
        let report = try await report(on: { LostIndexStore($0) }, finding: .lostWrite)
        #expect(report.finds(.lostWrite), "NACRE_SEED=\(report.seed), \(report.counts)")
    }

    @Test func `a record that outlives the one with which it was to go is found out`() async throws {
        let report = try await report(on: { TornCascadeStore($0) }, finding: .orphan)
        #expect(Set(report.violations.map(\.kind)) == [.orphan], "NACRE_SEED=\(report.seed), \(report.counts)")
    }

    /// Runs torture in which queries run while indexes are made and removed, and little more is done.
    private func runOfQueries(over store: any Store, questions: Int, indexChanges: Int, restarts: Int = 0) async throws -> TortureReport {
        let server = try await ServedStore(store)
        var options = server.options(seconds: 300, seed: HistorySeed.value)
        (options.writers, options.readers, options.notes) = (1, 1, 300)
        options.goal = TortureGoal(batches: 1, familySteps: 1, questions: questions, indexChanges: indexChanges, restarts: restarts)
        options.indexes = server.indexes
        return try await server.run(options)
    }

    @Test(arguments: Engine.tortured)
    func `queries tell each record once and in order while indexes are made and taken away, over the server's ends too`(engine: Engine)
        async throws
    {
        let report = try await runOfQueries(over: try await engine.makeStore(), questions: 40, indexChanges: 12, restarts: 2)
        #expect(report.violations == [], "NACRE_SEED=\(report.seed)")
        let counts = report.counts
        #expect(report.restarts >= 2 && counts.questions >= 40 && counts.questionPages > 80 && counts.indexChanges >= 12, "\(counts)")
    }

    @Test func `an index that queries go by before it is whole is found out`() async throws {
        var report = try await runOfQueries(over: LostBuildStore(try await Engine.sqlite.makeStore()), questions: 60, indexChanges: 12)
        for _ in 0..<4 where report.violations.isEmpty {
            report = try await runOfQueries(over: LostBuildStore(try await Engine.sqlite.makeStore()), questions: 60, indexChanges: 12)
        }
        #expect(Set(report.violations.map(\.kind)) == [.missed], "NACRE_SEED=\(report.seed), \(report.violations)")
    }

    /// Runs torture in which an app saves encrypted values, and little more is done.
    private func runOfSecrets(over store: any Store, steps: Int, restarts: Int = 0) async throws -> TortureReport {
        let server = try await ServedStore(store)
        var options = server.options(seconds: 300, seed: HistorySeed.value)
        (options.writers, options.readers, options.askers) = (1, 1, 0)
        options.keys = KeyStore(folder: nil)
        options.goal = TortureGoal(batches: 1, familySteps: 1, secretSteps: steps, restarts: restarts)
        return try await server.run(options)
    }

    @Test func `encrypted values that were acknowledged are there and open, over the ends of server and app too`() async throws {
        let report = try await runOfSecrets(over: try await Engine.sqlite.makeStore(), steps: 40, restarts: 2)
        #expect(report.violations == [], "NACRE_SEED=\(report.seed)")
        #expect(report.restarts >= 2 && report.counts.secretsSaved > 40 && report.counts.secretsRead > 40, "\(report.counts)")
    }

    @Test func `a record whose encrypted value goes back to an older version is found out`() async throws {
        let report = try await runOfSecrets(over: LostSecretStore(try await Engine.sqlite.makeStore()), steps: 400)
        #expect(Set(report.violations.map(\.kind)) == [.lostSecret], "NACRE_SEED=\(report.seed), \(report.violations)")
    }

    @Test func `a device without an account's keys is told so before anything is saved`() async throws {
        let server = try await ServedStore(try await Engine.memory.makeStore())
        var options = server.options(seconds: 1, seed: 1)
        let app = CKContainer(
            identifier: options.container,
            server: CloudKitServer(url: try #require(URL(string: options.url)), environment: .development, accountToken: options.accountTokens[0]),
            keyStore: KeyStore(folder: nil))
        let record = CKRecord(recordType: "Secret")
        record.encryptedValues["secret"] = "measles"
        try await app.privateCloudDatabase.save(record)
        options.keys = KeyStore(folder: nil)
        await #expect {
            _ = try await Torture(options).run()
        } throws: { error in
            guard case .noKeys(let text)? = error as? TortureFault else { return false }
            return text.contains("elsewhere") && text.contains("nacre keys enrol")
        }
        await server.close()
    }

    @Test func `a change that is told to nobody is found out`() async throws {
        // The changes that the store forgets are drawn by their numbers: a run may have none.
        var silent = try await run(over: SilentStore(try await Engine.sqlite.makeStore()), tellingSeconds: 2)
        for _ in 0..<4 where silent.violations.isEmpty {
            silent = try await run(over: SilentStore(try await Engine.sqlite.makeStore()), tellingSeconds: 2)
        }
        #expect(Set(silent.violations.map(\.kind)) == [.notTold], "NACRE_SEED=\(silent.seed), \(silent.violations)")
    }

    /// Runs torture with put-back copies.
    /// - Parameter run: Returns the run in which a put-back copy is opened, from the one before.
    private func reportOfPutBacks(seed: UInt64 = HistorySeed.value, run: (Int64) -> Int64) async throws -> TortureReport {
        let store = try await ReopenableStore(.sqlite, run: 1 << 32)
        let server = try await ServedStore(store)
        let copied = Locked<ReopenableStore.Copy?>(nil)
        let next = run(1 << 32)
        var options = server.options(seconds: 1, seed: seed)
        options.restarts = server.restarts
        options.putBacks = TorturePutBacks(
            copy: {
                let copy = try store.copy()
                copied.withLock { $0 = copy }
            },
            putBack: {
                if let copy = copied.withLock({ $0 }) { try await store.putBack(copy, run: next) }
            })
        return try await server.run(options)
    }

    @Test func `an older copy that is put back is told to everybody who saw what was lost`() async throws {
        let report = try await reportOfPutBacks { $0 + 1 << 32 }
        #expect(report.violations == [] && report.copiesPutBack == 1 && report.counts.tokensExpired > 0, "NACRE_SEED=\(report.seed)")
    }

    @Test func `change numbers that come again after an older copy was put back are found out`() async throws {
        // Whether new saves exceed the lost numbers before the devices ask depends on the seed.
        let looked: Set<Violation.Kind> = [.skippedChange, .reusedTag]
        var found: Set<Violation.Kind> = []
        for attempt in 0..<16 as Range<UInt64> where found.isDisjoint(with: looked) {
            found.formUnion(try await reportOfPutBacks(seed: HistorySeed.value &+ attempt) { $0 }.violations.map(\.kind))
        }
        #expect(!found.isDisjoint(with: looked))
    }

    @Test func `who is not let in is told so at once`() async throws {
        let server = try await ServedStore(try await Engine.memory.makeStore())
        var options = server.options(seconds: 1, seed: 1)
        options.accountTokens = ["nonsense"]
        await #expect {
            _ = try await Torture(options).run()
        } throws: { error in
            guard case .refused(let refusal)? = error as? TortureFault else { return false }
            return refusal.code == .authenticationFailed
        }
        await server.close()
    }
}

extension TortureReport {
    fileprivate func finds(_ kind: Violation.Kind) -> Bool {
        violations.contains { $0.kind == kind }
    }
}
