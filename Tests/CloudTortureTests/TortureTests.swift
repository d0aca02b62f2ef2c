import CloudContainer
import CloudTestSupport
import CloudWire
import Testing

@testable import CloudTorture

/// The whole run, over HTTP, against servers in this process. One after the other: each keeps the machine busy.
@Suite(.serialized) struct TortureTests {
    private func run(over store: any Store, seconds: Double, restarting: Bool = false) async throws -> TortureReport {
        let server = try await ServedStore(store)
        var options = server.options(seconds: seconds, seed: HistorySeed.value)
        if restarting { options.restarts = TortureRestarts(kill: { await server.kill() }, start: { try await server.start() }) }
        let result = await Task { try await Torture(options).run() }.result
        await server.close()
        return try result.get()
    }

    /// A run in which nothing happened would pass.
    private func checkVariety(_ counts: TortureCounts) {
        #expect(counts.batchesApplied > 50 && counts.recordsChanged > 100 && counts.batchesRefused > 5)
        #expect(counts.changesRead > 100 && counts.pages > 20 && counts.lookups > 0 && counts.tokensReplayed > 0)
        #expect(counts.queries > 0)
        #expect(counts.cascades > 2 && counts.familyPages > 2, "\(counts)")
        #expect(counts.repetitions > 0 && counts.answersAbandoned > 0 && counts.batchesUnanswered == 0 && counts.tokensExpired == 0)
    }

    @Test func `a server under load breaks no promise`() async throws {
        let report = try await run(over: try await Engine.sqlite.makeStore(), seconds: 4)
        #expect(report.violations == [], "NACRE_SEED=\(report.seed)")
        checkVariety(report.counts)
    }

    @Test func `a server that is stopped in the middle and started again breaks no promise`() async throws {
        let report = try await run(over: try await Engine.sqlite.makeStore(), seconds: 4, restarting: true)
        #expect(report.violations == [], "NACRE_SEED=\(report.seed)")
        #expect(report.restarts > 0 && report.counts.retries > 0)
        #expect(report.counts.batchesApplied > 20 && report.counts.batchesUnanswered == 0)
    }

    /// The report of a run over a store with a fault. A run on a busy machine may not meet it: it is run again then, a few times.
    private func report(on store: (any Store) -> any Store, finding kind: Violation.Kind) async throws -> TortureReport {
        var report = try await run(over: store(try await Engine.sqlite.makeStore()), seconds: 4)
        for _ in 0..<4 where !report.violations.contains(where: { $0.kind == kind }) {
            report = try await run(over: store(try await Engine.sqlite.makeStore()), seconds: 4)
        }
        return report
    }

    @Test func `change numbers that are taken before the transaction are found out`() async throws {
        let report = try await report(on: { EarlyNumberStore($0) }, finding: .skippedChange)
        let kinds = Set(report.violations.map(\.kind))
        #expect(kinds.contains(.skippedChange), "NACRE_SEED=\(report.seed), \(report.counts)")
        // The batches themselves are as they should be: only what is seen of them is not.
        #expect(kinds.isDisjoint(with: [.doubleSuccess, .lostWrite, .refusedApplied, .appliedTwice, .wrongContent]), "\(report.violations)")
    }

    @Test func `index rows that are lost are found out`() async throws {
        let report = try await report(on: { LostIndexStore($0) }, finding: .lostWrite)
        // A record that a query for its shelf does not show must have been deleted, and nobody did.
        #expect(Set(report.violations.map(\.kind)).contains(.lostWrite), "NACRE_SEED=\(report.seed), \(report.counts)")
    }

    @Test func `a record that outlives the one with which it was to go is found out`() async throws {
        let report = try await report(on: { TornCascadeStore($0) }, finding: .orphan)
        #expect(Set(report.violations.map(\.kind)) == [.orphan], "NACRE_SEED=\(report.seed), \(report.counts)")
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
