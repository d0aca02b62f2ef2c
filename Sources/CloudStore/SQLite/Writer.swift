import CloudContainer

/// The one writer: takes whatever writes wait, runs them in one transaction, each in a savepoint, and commits them with one sync of the disk.
///
/// Nobody is answered before the commit, not even a write that was refused by its own body: what it read may be a neighbour's.
/// When SQLite gives the whole transaction up, or the commit fails, the group is replayed one write at a time, so that each gets its own answer.
struct Writer: Sendable {
    let connection: Connection
    let queue: WorkQueue<any PendingWrite>
    let checkpointer: Checkpointer
    let statistics: SQLiteStatistics
    let disk: DiskTrust
    let pagesInLog: Int32

    /// Serves until the queue is closed and empty.
    func run() {
        while true {
            var waiting = queue.all()[...]
            if waiting.isEmpty { return }
            while !waiting.isEmpty {
                serveGroup(&waiting)
                keepLogShort()
            }
        }
    }

    private func serveGroup(_ waiting: inout ArraySlice<any PendingWrite>) {
        if let lost = disk.lost { return answer(waiting.removeAll(), with: lost) }
        var group: [any PendingWrite] = []
        do {
            try gather(&group, from: &waiting)
            if connection.isInTransaction {
                try connection.run(.commit)
                statistics.count(.commits)
            }
            for request in group {
                request.answer()
            }
        } catch let failure {
            connection.abandonTransaction()
            recover(group, from: failure)
        }
        statistics.count(.writes, group.count)
    }

    /// Runs writes in one transaction until none waits, or the group is as long or as large as a group may be.
    private func gather(_ group: inout [any PendingWrite], from waiting: inout ArraySlice<any PendingWrite>) throws {
        let end = ContinuousClock.now + SQLiteLimits.groupDuration
        let rows = connection.changedRows + SQLiteLimits.rowsInGroup
        while true {
            if waiting.isEmpty { waiting = queue.allNow()[...] }
            guard let request = waiting.popFirst() else { return }
            group.append(request)
            try perform(request)
            if connection.changedRows >= rows || ContinuousClock.now >= end { return }
        }
    }

    /// Runs one write. The first of a transaction needs no savepoint: undoing it is undoing all.
    private func perform(_ request: any PendingWrite) throws {
        let isFirst = !connection.isInTransaction
        try connection.run(isFirst ? .beginWrite : .savepoint)
        let transaction = SQLiteTransaction(connection)
        let attempt = request.attempt(transaction)
        transaction.end()
        // SQLite may have given up the whole transaction for what failed in this part of it.
        guard connection.isInTransaction else { throw transaction.sqliteFailure ?? .transactionLost }
        if let failure = transaction.sqliteFailure, failure.isFsyncFailure { throw failure }
        switch (attempt, isFirst) {
        case (.keep, true): break
        case (.keep, false): try connection.run(.release)
        case (.undo, true): try connection.run(.rollback)
        case (.undo, false):
            try connection.run(.rollbackToSavepoint)
            try connection.run(.release)
        }
    }

    /// Gives every write of a group that did not happen its own answer.
    private func recover(_ group: [any PendingWrite], from failure: any Error) {
        let failure = failure as? SQLiteFailure ?? .transactionLost
        if disk.isLost(to: failure) { return answer(group, with: failure.storeError) }
        guard group.count > 1 else { return answer(group, with: failure.storeError) }
        statistics.count(.replays)
        for (index, request) in group.enumerated() {
            if let lost = disk.lost { return answer(group[index...], with: lost) }
            performAlone(request)
            request.answer()
        }
    }

    private func performAlone(_ request: any PendingWrite) {
        do {
            try perform(request)
            if connection.isInTransaction {
                try connection.run(.commit)
                statistics.count(.commits)
            }
        } catch let error {
            connection.abandonTransaction()
            let failure = error as? SQLiteFailure ?? .transactionLost
            _ = disk.isLost(to: failure)
            request.fail(failure.storeError)
        }
    }

    private func answer(_ group: some Collection<any PendingWrite>, with error: StoreError) {
        for request in group {
            request.fail(error)
            request.answer()
        }
    }

    /// Lets the checkpointer know how long the log is, and takes part when that cannot keep up: then writers must wait, or the log grows for ever.
    private func keepLogShort() {
        checkpointer.logGrew(to: connection.pagesInLog)
        guard disk.lost == nil, connection.pagesInLog >= pagesInLog else { return }
        do {
            let done = try connection.checkpoint(.restart)
            statistics.count(.forcedCheckpoints)
            if !done.wasBlocked { connection.logBeganAnew() }
        } catch let error {
            // No room, or a passing fault of the disk: the log holds everything, and the next commit tries again.
            _ = disk.isLost(to: error)
        }
    }
}

extension ArraySlice {
    /// Empties it and returns what it held.
    fileprivate mutating func removeAll() -> ArraySlice {
        defer { self = [] }
        return self
    }
}
