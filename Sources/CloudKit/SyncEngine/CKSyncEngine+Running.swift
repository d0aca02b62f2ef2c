import Foundation
import NacreCloudWire
import NacreLocks

// The activity of an engine: the app's fetches and sends, those of its schedule, and state updates between them.

extension CKSyncEngine {
    // MARK: A fetch or a send

    /// Runs `body` in the engine's queue, then posts to the delegate the newest state.
    func perform(_ due: SyncSchedule.Due, _ body: @escaping @Sendable (SyncRun) async throws(CKError) -> Void) async throws {
        guard !activity.isInsideDelegate else {
            throw CKError(
                .invalidArguments, text: "fetchChanges and sendChanges cannot be called inside the delegate of the engine", internalCode: 1017,
                details: [.remedy: "Call them in a task of their own"])
        }
        let run = SyncRun()
        activity.add(run)
        let error: CKError? = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                run.wait { continuation.resume(returning: .cancelled) }
                activity.queue.add {
                    guard run.begin() else { return }
                    let error = await self.ended(run, body)
                    continuation.resume(returning: error)
                }
            }
        } onCancel: {
            run.cancel()
        }
        activity.remove(run)
        if automaticallySync {
            finish(due, error, of: run, byHand: true)
            schedule()
        }
        if let error { throw error }
    }

    private func ended(_ run: SyncRun, _ body: (SyncRun) async throws(CKError) -> Void) async -> CKError? {
        var isAccountSettled = false
        let error: CKError?
        do throws(CKError) {
            try run.check()
            try await settleAccount(run)
            isAccountSettled = true
            try await body(run)
            error = nil
        } catch let thrown {
            error = thrown
        }
        if isAccountSettled, let error { await lookAgain(at: error, run) }
        _ = await outcome { () async throws(CKError) in try await postState() }
        return error
    }

    private func outcome(_ body: () async throws(CKError) -> Void) async -> CKError? {
        do throws(CKError) {
            try await body()
            return nil
        } catch {
            return error
        }
    }

    /// Checks the account again in the same run if an error suggests that the account is gone.
    private func lookAgain(at error: CKError, _ run: SyncRun) async {
        guard error.each.contains(where: { $0.code == .notAuthenticated || $0.code == .accountTemporarilyUnavailable }) else { return }
        activity.inner.withLock { $0.mustCheckAccount = true }
        _ = await outcome { () async throws(CKError) in try await settleAccount(run) }
    }

    // MARK: Reporting

    /// Sends an event to the delegate, and returns when the delegate has handled it. Throws `operationCancelled` if the
    /// delegate is gone.
    func post(_ event: Event) async throws(CKError) {
        try await activity.insideDelegate { await $0.handleEvent(event, syncEngine: self) }
    }

    /// Posts the state to the delegate, if it differs from the last posted one.
    func postState() async throws(CKError) {
        let known = state.held.withLock { $0 }
        let isNew = activity.inner.withLock { inner in
            guard inner.postedRevision ?? 0 != known.revision else { return false }
            inner.postedRevision = known.revision
            return true
        }
        guard isNew else { return }
        try await post(.stateUpdate(Event.StateUpdate(stateSerialization: State.Serialization(state: known, home: activity.home))))
    }

    // MARK: Changes by the app

    func appChanged(_ change: SyncState.AppChange) {
        let begins = activity.inner.withLock { inner in
            defer { inner.isFlushQueued = true }
            return !inner.isFlushQueued
        }
        if begins {
            activity.queue.add { [self] in
                activity.inner.withLock { $0.isFlushQueued = false }
                _ = await outcome { () async throws(CKError) in
                    await greet()
                    try await postState()
                }
            }
        }
        if change.wantsSend { want(SyncSchedule.Due(send: true)) }
    }

    /// Reports an account that is not known yet before any other event. If the first try fails, it is not repeated
    /// here.
    private func greet() async {
        let isKnown = state.held.withLock { $0.user != nil }
        let hasAsked = activity.inner.withLock { $0.hasAskedForAccount }
        guard !isKnown, !hasAsked, activity.fault == nil else { return }
        _ = await outcome { () async throws(CKError) in try await settleAccount(SyncRun()) }
    }

    func accountMayHaveChanged() {
        activity.inner.withLock { inner in
            inner.mustCheckAccount = true
            inner.schedule.retryNow()
        }
        want(SyncSchedule.Due(fetch: true, send: state.held.withLock(\.hasSomethingToSend)))
    }

    // MARK: Scheduled work

    /// Schedules work to be done as soon as the schedule allows, with `automaticallySync`.
    func want(_ due: SyncSchedule.Due) {
        guard automaticallySync, activity.fault == nil else { return }
        activity.inner.withLock { $0.schedule.want(due) }
        schedule()
    }

    private func schedule() {
        let now = database.line.timekeeper.now()
        let pause = database.line.timekeeper.pause
        let due: SyncSchedule.Due? = activity.inner.withLock { inner in
            guard !inner.isScheduledQueued else { return nil }
            inner.timer?.cancel()
            inner.timer = nil
            switch inner.schedule.decide(now: now) {
            case .idle: return nil
            case .run(let due):
                inner.isScheduledQueued = true
                return due
            case .wait(let seconds):
                inner.timer = Task { [weak self] in
                    guard (try? await pause(seconds)) != nil else { return }
                    self?.schedule()
                }
                return nil
            }
        }
        if let due { activity.queue.add { [self] in await runScheduled(due) } }
    }

    /// Runs scheduled work. It fetches first, so that the app can merge changes of other devices before it sends.
    private func runScheduled(_ due: SyncSchedule.Due) async {
        activity.inner.withLock { $0.schedule.begin(due) }
        var error: CKError?
        if due.fetch {
            let run = SyncRun()
            error = await scheduled(run) { run throws(CKError) in
                try await self.fetch(FetchChangesContext(reason: .scheduled, options: .init()), in: run)
            }
            finish(SyncSchedule.Due(fetch: true), error, of: run)
        }
        if due.send {
            let run = SyncRun()
            // An error that ended the fetch as a whole would end the send too.
            if !(error?.code.endsOperation ?? false) {
                error = await scheduled(run) { run throws(CKError) in
                    try await self.send(SendChangesContext(reason: .scheduled, options: .init()), in: run)
                }
            }
            finish(SyncSchedule.Due(send: true), error, of: run)
        }
        activity.inner.withLock { $0.isScheduledQueued = false }
        schedule()
        waitForChanges()
    }

    private func scheduled(_ run: SyncRun, _ body: (SyncRun) async throws(CKError) -> Void) async -> CKError? {
        activity.add(run)
        defer { activity.remove(run) }
        return await ended(run, body)
    }

    /// Tells the schedule how a fetch or send ended. Without a delegate there is nothing more to do.
    private func finish(_ done: SyncSchedule.Due, _ error: CKError?, of run: SyncRun, byHand: Bool = false) {
        guard activity.delegate != nil else { return }
        let (now, spread) = (database.line.timekeeper.now(), database.line.timekeeper.spread())
        let isFruitless = done.send && !run.hasSucceeded && state.held.withLock(\.hasSomethingToSend)
        let ending = SyncSchedule.Ending(error, isFruitless: isFruitless)
        activity.inner.withLock { $0.schedule.end(done, ending, byHand: byHand, now: now, spread: spread) }
    }

    // MARK: Changes of other devices

    /// Notes that a notification reported a change: of one zone, or of any zone if `zoneID` is nil.
    func heard(of zoneID: CKRecordZone.ID?) {
        if let zoneID {
            state.held.withLock { state in
                state.change { state in
                    guard !state.unfetched.contains(zoneID) else { return false }
                    state.noteUnfetched(zoneID)
                    return true
                }
            }
        }
        appChanged(SyncState.AppChange(wantsSend: false))
        want(SyncSchedule.Due(fetch: true))
    }

    /// Seconds that the server may hold a request open, and the pause before a failed one is repeated. Own choice: the
    /// server holds a request no longer.
    static var waitSeconds: Double { 30 }

    /// Keeps one request open, which the server answers as soon as the database changes.
    private func waitForChanges() {
        guard let token = state.held.withLock(\.databaseToken) else { return }
        let (line, scope) = (database.line, database.databaseScope)
        activity.inner.withLock { inner in
            inner.waiter?.cancel()
            inner.waiter = Task { [weak self] in
                guard await Self.hasReached(line, scope, since: token, while: { self != nil }) else { return }
                self?.activity.inner.withLock { $0.schedule.retryNetwork() }
                self?.want(SyncSchedule.Due(fetch: true))
            }
        }
    }

    /// Waits until there may be something to fetch: the server told of a change, refused the request, or answers again
    /// after a failure of the network.
    /// - Parameter isThere: whether the engine is still there.
    /// - Returns: false when the task is cancelled or the engine is gone.
    private static func hasReached(
        _ line: ServerLine, _ scope: CKDatabase.Scope, since token: String, while isThere: () -> Bool
    ) async -> Bool {
        let patience = Patience(requestTimeout: waitSeconds * 2, resourceTimeout: waitSeconds * 2, retriesNetworkErrors: false)
        let conversation = Conversation(line: line, scope: scope, patience: patience, mayWait: true)
        let request = ChangesDatabaseRequest(syncToken: token, resultsLimit: 1, extension: RequestExtension(waitSeconds: waitSeconds))
        var hasFailed = false
        while !Task.isCancelled, isThere() {
            let start = line.timekeeper.now()
            do throws(CKError) {
                let answer = try await conversation.changes(request)
                // A page may be empty and not the last: it passes over zones that were deleted and made again.
                if hasFailed || !answer.zones.isEmpty || answer.moreComing { return true }
                // A pause limits the requests to a server that answers without waiting.
                if line.timekeeper.now() - start < waitSeconds / 2 { try? await line.timekeeper.pause(waitSeconds) }
            } catch {
                let pause = max(error.retryAfterSeconds ?? 0, waitSeconds) * (1 + 0.25 * line.timekeeper.spread())
                guard (try? await line.timekeeper.pause(pause)) != nil else { return false }
                if !error.isOfNetwork { return true }
                hasFailed = true
            }
        }
        return false
    }
}
