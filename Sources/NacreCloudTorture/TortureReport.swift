/// The result of a run.
package struct TortureReport: Sendable, Encodable {
    /// The seed makes the same choices again; the timing of the server is not repeated.
    package var seed: UInt64
    package var accounts: Int
    package var rounds = 0
    package var seconds: Double = 0
    package var restarts = 0
    package var copiesPutBack = 0
    package var counts = TortureCounts()
    package var violations: [Violation] = []

    package init(seed: UInt64, accounts: Int) {
        self.seed = seed
        self.accounts = accounts
    }

    /// Violations listed one by one at most; the others are counted.
    package static let violationsShown = 20

    /// The report for people; the last line is the verdict.
    package var lines: [String] {
        func rate(_ count: Int) -> String { seconds > 0 ? "\(Int((Double(count) / seconds).rounded()))/s" : "–" }
        var lines = [
            "seed \(seed), \(rounds) rounds, \(Int(seconds.rounded())) s, \(accounts) accounts, \(restarts) restarts, \(copiesPutBack) copies put back",
            "batches  \(counts.batchesApplied) done (\(rate(counts.batchesApplied))), \(counts.batchesRefused) refused, "
                + "\(counts.batchesUnanswered) never answered; \(counts.recordsChanged) records changed",
            "retries  \(counts.retries), after \(counts.answersAbandoned) answers not waited for; \(counts.repetitions) requests sent twice",
            "feeds    \(counts.pages) pages (\(rate(counts.pages))), \(counts.changesRead) changes, \(counts.tokensReplayed) old tokens used again, "
                + "\(counts.tokensExpired) expired",
            "lookups  \(counts.lookups), queries \(counts.queries)",
            "files    \(counts.filesSaved) saved, \(counts.filesRead) read back",
            "secrets  \(counts.secretsSaved) saved, \(counts.secretsRead) read back",
            "pushes   \(counts.recordsTold) told to other devices, \(counts.subscriptionsEnded) subscriptions and \(counts.devicesSignedOut) devices "
                + "ended; \(counts.guestsTold) to guests, \(counts.guestsExcluded) excluded",
            "shares   \(counts.shareJoins) joins, \(counts.shareLeaves) leaves, \(counts.shareRevocations) taken back, \(counts.shareMoves) moves, "
                + "followed over \(counts.sharePages) pages",
            "asking   \(counts.questions) queries of \(counts.questionPages) pages, \(counts.questionsRefused) refused without an option, "
                + "beside \(counts.indexChanges) changes of indexes",
            "cascades \(counts.cascades), followed over \(counts.familyPages) pages",
        ]
        lines += violations.prefix(Self.violationsShown).map { "VIOLATION \($0)" }
        if violations.count > Self.violationsShown { lines.append("and \(violations.count - Self.violationsShown) more") }
        lines.append(violations.isEmpty ? "no violation" : "\(violations.count) violations")
        return lines
    }
}
