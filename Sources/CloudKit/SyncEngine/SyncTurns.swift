import Foundation
import NacreLocks

/// What an engine needs beside its state: whom it tells, what runs, and what it will do by itself.
final class SyncTurns: Sendable {
    struct Inner {
        weak var delegate: (any CKSyncEngineDelegate)?
        /// The task in which the delegate is running now.
        var delegateTask: Int?
        var runs: [ObjectIdentifier: SyncRun] = [:]
        /// Of the state that the delegate was told last.
        var toldRevision: Int?
        var isFlushQueued = false
        /// The account is to be looked at before anything else; with which settings it was.
        var mustCheckAccount = true
        var hasAskedForAccount = false
        var checkedSettings: ServerSettings?
        var schedule = SyncSchedule()
        var isScheduledQueued = false
        var timer: Task<Void, Never>?
        var waiter: Task<Void, Never>?
        var observer: Observer?
    }

    /// Carries what the notification center gave over the lock's border.
    struct Observer: @unchecked Sendable {
        // Sendable: it is handed back to the notification center, and nothing else is done with it.
        let value: any NSObjectProtocol

        init(_ value: any NSObjectProtocol) {
            self.value = value
        }
    }

    let home: SyncHome
    /// What is wrong with the engine as it was made.
    let fault: CKError?
    let subscriptionID: CKSubscription.ID?
    let queue = SyncQueue()
    let inner: Locked<Inner>

    init(home: SyncHome, fault: CKError?, delegate: any CKSyncEngineDelegate, subscriptionID: CKSubscription.ID?) {
        self.home = home
        self.fault = fault
        self.subscriptionID = subscriptionID
        var first = Inner()
        first.delegate = delegate
        inner = Locked(first)
    }

    var delegate: (any CKSyncEngineDelegate)? { inner.withLock { $0.delegate } }

    /// - Parameter told: is called on any thread.
    func watchAccount(_ told: @escaping @Sendable () -> Void) {
        let observer = NotificationCenter.default.addObserver(forName: .CKAccountChanged, object: nil, queue: nil) { _ in told() }
        let held = Observer(observer)
        inner.withLock { $0.observer = held }
    }

    func cancelRuns() {
        for run in inner.withLock({ Array($0.runs.values) }) { run.cancel() }
    }

    /// The engine is gone.
    func end() {
        for task in inner.withLock({ [$0.timer, $0.waiter] }) { task?.cancel() }
        if let observer = inner.withLock({ $0.observer?.value }) { NotificationCenter.default.removeObserver(observer) }
    }

    /// Calls the delegate, and knows meanwhile that it does.
    func insideDelegate<Value>(_ body: (any CKSyncEngineDelegate) async -> Value) async throws(CKError) -> Value {
        guard let delegate else { throw .cancelled }
        let task = withUnsafeCurrentTask { $0?.hashValue }
        inner.withLock { $0.delegateTask = task }
        defer { inner.withLock { $0.delegateTask = nil } }
        return await body(delegate)
    }

    /// Whether the caller is the delegate, while the engine waits for it.
    var isInsideDelegate: Bool {
        let task = withUnsafeCurrentTask { $0?.hashValue }
        return task != nil && inner.withLock { $0.delegateTask == task }
    }
}
