import NacreCloudStorage

/// The only writer. It takes waiting writes in turn, runs them in one transaction, each in a savepoint, and commits
/// them with one sync of the disk.
///
/// `SQLiteLimits` bounds the length and size of a group. Only its first write may be a large one, so a small write
/// waits for at most one large one. A group in which all writes are done again after a power cut (`Turn.isDoneAgain`)
/// is committed without a sync. The log is kept in order, so the next synced commit keeps them, too. No write is
/// answered before the commit, even if its own body refused it, because it may have read another write's rows. If the
/// commit fails, or SQLite gives up the whole transaction, the group is replayed one write at a time. Each write then
/// gets its own answer.
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
    /// The time that the body of one write may take before `report` is called.
    let hold: Duration
    let report: @Sendable (StoreEvent) -> Void

    /// Serves until the queue is closed and empty.
    /// - Parameter first: A write that was taken from the queue already.
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

    /// Writes that found too many index rows waiting, in order.
    private struct Delayed {
        var writes: [Write] = []
        /// Whether the last group began with a delayed write, so that another write has its turn.
        var hadTurn = false
    }

    /// Returns the write that begins the next group. Packs index rows while no write waits.
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
            // Their results already say that the store is busy.
            for write in delayed.writes { write.request.answer() }
            queue.end(delayed.writes)
            delayed.writes = []
            return queue.next()
        }
    }

    /// Packs index rows for as long as a group may last, and commits without a sync. If a power cut undoes the commit,
    /// the changes wait again.
    /// - Returns: false if there is nothing to pack, or it cannot be written now.
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

    private struct ServedGroup {
        /// A write that was taken and belongs to the next group.
        var following: Write?
        /// Whether its writes took far longer than a group's may, without the commit: one of them was large.
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

    /// Runs the first write of a group and the next ones in turn. Stops if none waits, if the next is a large one, or
    /// if the group is full. A group that began without a sync gets no write that needs one. A write that finds too
    /// many index rows waiting is undone and delayed.
    /// - Returns: A write that was taken and belongs to the next group.
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
            // The announced cost counts, too: many index rows may wait to be packed in one row.
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

    /// Runs one write. The first one of a transaction needs no savepoint, because its rollback is the transaction's.
    /// - Returns: false if the write must be done later.
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
        // SQLite may have given up the whole transaction after a failure in this write.
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
        let begun = ContinuousClock.now
        try connection.run(.commit)
        report(.committed(ContinuousClock.now - begun))
        openRun.committed()
        statistics.count(.commits)
    }

    /// Gives every write of a failed group its own answer.
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
            // A write that would be delayed is answered as busy.
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
        // End the backup: writes need the room of the pages that it keeps in the log.
        if error.code == .full { readers.endBackup() }
        for write in group {
            write.request.fail(error)
            write.request.answer()
        }
    }

    /// The length of the log after the last group, and at the last attempt to shorten it.
    private struct LogLength {
        var pages: Int32 = 0
        var lastTry: Int32?
    }

    /// Reports the length of the log to the checkpointer, and takes the step that `LogBound` gives. Writes wait for it,
    /// so it is never more than a group's work.
    private func keepShort(_ log: inout LogLength) {
        let pages = connection.pagesInLog
        // The log begins anew by itself once it is copied and not read.
        if pages < log.pages { log.lastTry = nil }
        log.pages = pages
        // Report last, so that the checkpointer does not begin work that the writer is about to finish.
        defer { checkpointer.logGrew(to: log.pages) }
        guard disk.lost == nil else { return }
        switch bound.move(length: pages, copied: checkpointer.copied, lastTry: log.lastTry, backupPages: readers.backupPages) {
        case .wait: break
        case .endReads(let age): statistics.count(.readsEnded, readers.end(olderThan: age))
        case .finish(let age, let insists):
            statistics.count(.readsEnded, readers.end(olderThan: age))
            var outcome = beginLogAnew()
            if outcome == .blocked, insists {
                // The log is copied now, so reads that begin from here on need none of it. End every read that began
                // before the last commit.
                statistics.count(.readsEnded, readers.end(olderThan: 1))
                outcome = beginLogAnew()
            }
            log = outcome == .anew ? LogLength() : LogLength(pages: pages, lastTry: pages)
        case .endBackup: readers.endBackup()
        }
    }

    /// Copies the pages that the checkpointer left. Waits for a reader only as long as a group may last.
    private func beginLogAnew() -> Outcome {
        do {
            statistics.count(.forcedCheckpoints)
            let done = try connection.checkpoint(.restart, patienceMilliseconds: SQLiteLimits.checkpointPatienceMilliseconds)
            if done.wasBlocked { return .blocked }
            connection.logBeganAnew()
            return .anew
        } catch let error {
            // The disk is full or has a passing fault. The log holds everything, and a later commit tries again.
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
