import NacreCloudContainer

/// The one writer: takes what writes wait, in turn, runs them in one transaction, each in a savepoint, and commits them with one sync of the disk.
///
/// A group is as long and as large as `SQLiteLimits` says, and only its first write may be a large one: so a small write waits for one large one at most,
/// whatever others want written.
/// Writes that are done again after a power cut (`Turn.isDoneAgain`) are committed without a sync where no other write is in their group: the next one that
/// is synced keeps them too, because the log is kept in its order.
/// Nobody is answered before the commit, not even a write that was refused by its own body: what it read may be a neighbour's.
/// When SQLite gives the whole transaction up, or the commit fails, the group is replayed one write at a time, so that each gets its own answer.
struct Writer: Sendable {
    typealias Write = WorkQueue<any PendingWrite>.Taken

    let connection: Connection
    let queue: WorkQueue<any PendingWrite>
    let checkpointer: Checkpointer
    let statistics: SQLiteStatistics
    let disk: DiskTrust
    let openRun: OpenRun
    let bound: LogBound
    let readers: LogReaders
    /// How long the body of one write may take before `report` is told of it.
    let hold: Duration
    let report: @Sendable (StoreEvent) -> Void

    /// Serves until the queue is closed and empty.
    /// - Parameter first: a write that was taken from it already.
    func run(first: Write) {
        var log = LogLength()
        var delayed = Delayed()
        var next: Write? = first
        var wasPutOff = false
        while let write = next {
            let group = serveGroup(write, &delayed)
            keepShort(&log)
            if connection.packing.packs(isIdle: false) {
                let writesWait = delayed.writes.isEmpty && (group.following != nil || queue.count > 0)
                wasPutOff = PackingBound.isPutOff(wasLong: group.wasLong, writesWait: writesWait, wasPutOff: wasPutOff)
                if !wasPutOff { _ = pack(&log) }
            }
            next = group.following ?? self.next(&delayed, &log)
        }
    }

    /// Writes that found too many rows of indexes waiting, in their order.
    private struct Delayed {
        var writes: [Write] = []
        /// The last group began with one of them: it is another one's turn.
        var hadTurn = false
    }

    /// The write that begins the next group. While nobody writes rows of indexes are packed.
    private func next(_ delayed: inout Delayed, _ log: inout LogLength) -> Write? {
        while true {
            let hasRoom = !delayed.writes.isEmpty && connection.packing.hasRoom
            let isTheirTurn = hasRoom && !delayed.hadTurn
            delayed.hadTurn = isTheirTurn
            if isTheirTurn { return delayed.writes.removeFirst() }
            if let write = queue.nextNow() { return write }
            if hasRoom { continue }
            if delayed.writes.isEmpty, !connection.packing.packs(isIdle: true) { return queue.next() }
            if pack(&log) { continue }
            // They know by now that the store is busy.
            for write in delayed.writes { write.request.answer() }
            queue.end(delayed.writes)
            delayed.writes = []
            return queue.next()
        }
    }

    /// Packs rows of indexes for as long as a group may last, and commits that without a sync: what a power cut takes back waits again.
    /// - Returns: false where there is nothing to pack, or it cannot be written now.
    private func pack(_ log: inout LogLength) -> Bool {
        guard disk.lost == nil else { return false }
        let waiting = connection.packing.waitingBytes
        do {
            try connection.sync(false)
            try connection.run(.beginWrite)
            try openRun.record(on: connection)
            guard try connection.packing.step(until: ContinuousClock.now + SQLiteLimits.groupDuration, on: connection) else {
                connection.abandonTransaction()
                return false
            }
            try connection.run(.commit)
            openRun.committed()
            statistics.count(.packings)
        } catch {
            connection.abandonTransaction()
            connection.packing.undo(to: waiting)
            connection.packing.packAnew()
            _ = disk.isLost(to: error)
            return false
        }
        keepShort(&log)
        return true
    }

    /// What is known of a group when it was served.
    private struct ServedGroup {
        /// One that was taken and is of the next group.
        var following: Write?
        /// Its writes took far longer than those of a group may, the commit not counted: one of them was large.
        var wasLong = false
    }

    private func serveGroup(_ first: Write, _ delayed: inout Delayed) -> ServedGroup {
        var group = [first]
        var served = ServedGroup()
        let waiting = connection.packing.waitingBytes
        defer { queue.end(group) }
        if let lost = disk.lost {
            answer(group, with: lost)
            return served
        }
        do {
            try connection.sync(!first.turn.isDoneAgain)
            let begun = ContinuousClock.now
            served.following = try gather(&group, &delayed)
            served.wasLong = ContinuousClock.now - begun > SQLiteLimits.groupDuration * 2
            if connection.isInTransaction {
                try commit()
            }
            for write in group {
                write.request.answer()
            }
        } catch let failure {
            connection.abandonTransaction()
            connection.packing.undo(to: waiting)
            recover(group, from: failure)
        }
        statistics.count(.writes, group.count)
        return served
    }

    /// Runs the first write of a group and those whose turn is next, until none waits, the next is a large one, or the group is as long or as large as a
    /// group may be. A group that began without a sync has no write that needs one.
    /// - Returns: one that was taken and is of the next group.
    /// One that finds too many rows of indexes waiting is undone and put to those that are delayed.
    private func gather(_ group: inout [Write], _ delayed: inout Delayed) throws -> Write? {
        let end = ContinuousClock.now + SQLiteLimits.groupDuration
        let rows = connection.changedRows + Int64(SQLiteLimits.rowsInGroup)
        var (bytes, cost) = (0, 0)
        var next: Write? = group.first
        while let write = next {
            if try perform(write.request) {
                bytes += write.turn.bytes
                cost += write.turn.cost
            } else {
                delayed.writes.append(group.removeLast())
                statistics.count(.packingWaits)
            }
            // What a request says that it writes counts too: rows of indexes that wait to be packed are many in one.
            let isFull = connection.changedRows >= rows || cost >= SQLiteLimits.rowsInGroup || bytes >= SQLiteLimits.bytesInGroup
            if isFull || ContinuousClock.now >= end { return nil }
            next = queue.nextNow(costAtMost: SQLiteLimits.costInGroupOfOthers)
            if let next {
                if !connection.isSynced, !next.turn.isDoneAgain { return next }
                group.append(next)
            }
        }
        return nil
    }

    /// Runs one write. The first of a transaction needs no savepoint: undoing it is undoing all.
    /// - Returns: false where it is to be done later.
    private func perform(_ request: any PendingWrite) throws -> Bool {
        let waiting = connection.packing.waitingBytes
        let isFirst = !connection.isInTransaction
        try connection.run(isFirst ? .beginWrite : .savepoint)
        if isFirst {
            connection.knownEntries.begin()
            try openRun.record(on: connection)
        }
        let transaction = SQLiteTransaction(connection, run: openRun.number)
        let (begun, rows) = (ContinuousClock.now, connection.changedRows)
        let attempt = request.attempt(transaction)
        transaction.end()
        tell(request, taking: ContinuousClock.now - begun, rows: connection.changedRows - rows)
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
        if attempt == .undo { connection.packing.undo(to: waiting) }
        return !connection.packing.takeAwaited()
    }

    private func tell(_ request: any PendingWrite, taking time: Duration, rows: Int64) {
        guard time > hold else { return }
        let milliseconds = time / .milliseconds(1)
        let (operation, id) = (request.meter?.operation ?? "", request.meter?.requestID ?? "")
        report(.heldWriter(HeldWriter(operation: operation, requestID: id, rows: rows, milliseconds: Int64(milliseconds))))
    }

    private func commit() throws {
        try connection.run(.commit)
        openRun.committed()
        statistics.count(.commits)
    }

    /// Gives every write of a group that did not happen its own answer.
    private func recover(_ group: [Write], from failure: any Error) {
        guard !disk.isLost(to: failure), group.count > 1 else { return answer(group, with: StoreError(failure)) }
        statistics.count(.replays)
        for (index, write) in group.enumerated() {
            if let lost = disk.lost { return answer(group[index...], with: lost) }
            performAlone(write.request)
            write.request.answer()
        }
    }

    private func performAlone(_ request: any PendingWrite) {
        let waiting = connection.packing.waitingBytes
        do {
            try connection.sync(true)
            // What is to be done later says so to who asked.
            _ = try perform(request)
            if connection.isInTransaction {
                try commit()
            }
        } catch let error {
            connection.abandonTransaction()
            connection.packing.undo(to: waiting)
            _ = disk.isLost(to: error)
            let refusal = StoreError(error)
            if refusal.code == .full { readers.endBackup() }
            request.fail(refusal)
        }
    }

    private func answer(_ group: some Collection<Write>, with error: StoreError) {
        // What a backup keeps in the log is room that writes need.
        if error.code == .full { readers.endBackup() }
        for write in group {
            write.request.fail(error)
            write.request.answer()
        }
    }

    /// How long the log was after the last group, and when something was last done about it.
    private struct LogLength {
        var pages: Int32 = 0
        var lastTry: Int32?
    }

    /// Lets the checkpointer know how long the log is, and does what `LogBound` says: writers wait for it, so it is never more than a group's work.
    private func keepShort(_ log: inout LogLength) {
        let pages = connection.pagesInLog
        // The log begins anew by itself where all of it was copied and nobody read.
        if pages < log.pages { log.lastTry = nil }
        log.pages = pages
        // Last, so that the checkpointer does not begin what the writer is about to finish.
        defer { checkpointer.logGrew(to: log.pages) }
        guard disk.lost == nil else { return }
        switch bound.move(length: pages, copied: checkpointer.copied, lastTry: log.lastTry, backupPages: readers.backupPages) {
        case .wait: break
        case .endReads(let age): statistics.count(.readsEnded, readers.end(olderThan: age))
        case .finish(let age, let insists):
            statistics.count(.readsEnded, readers.end(olderThan: age))
            var outcome = beginLogAnew()
            if outcome == .blocked, insists {
                // By now all is copied: a read that begins from here on needs nothing of the log and is in nobody's way. Whoever began before the
                // last commit is ended.
                statistics.count(.readsEnded, readers.end(olderThan: 1))
                outcome = beginLogAnew()
            }
            log = outcome == .anew ? LogLength() : LogLength(pages: pages, lastTry: pages)
        case .endBackup: readers.endBackup()
        }
    }

    /// Copies what the checkpointer left. A reader in the way is waited for as long as a group may last, and no longer.
    private func beginLogAnew() -> Outcome {
        do {
            statistics.count(.forcedCheckpoints)
            let done = try connection.checkpoint(.restart, patienceMilliseconds: SQLiteLimits.checkpointPatienceMilliseconds)
            if done.wasBlocked { return .blocked }
            connection.logBeganAnew()
            return .anew
        } catch let error {
            // No room, or a passing fault of the disk: the log holds everything, and a later commit tries again.
            _ = disk.isLost(to: error)
            return .failed
        }
    }

    private enum Outcome {
        case anew
        case blocked
        case failed
    }
}
