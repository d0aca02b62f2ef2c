import Foundation
import NacreLocks

/// The running parts of an engine beside its state: its delegate, its runs and its schedule.
final class SyncActivity: Sendable {
    struct Inner {
        weak var delegate: (any CKSyncEngineDelegate)?
        /// The hash of the task in which the delegate is running now.
        var delegateTask: Int?
        var runs: [ObjectIdentifier: SyncRun] = [:]
        /// The revision of the state that was posted to the delegate last.
        var postedRevision: Int?
        var isFlushQueued = false
        /// Whether the account must be checked before other work. `checkedSettings` are the settings of the last check.
        var mustCheckAccount = true
        var hasAskedForAccount = false
        var checkedSettings: ServerSettings?
        var schedule = SyncSchedule()
        var isScheduledQueued = false
        var timer: Task<Void, Never>?
        var waiter: Task<Void, Never>?
        var observer: Observer?
    }

    /// Wraps an observer of the notification center, so that a lock can hold it.
    struct Observer: @unchecked Sendable {
        // Sendable: the value is only passed back to the notification center.
        let value: any NSObjectProtocol

        init(_ value: any NSObjectProtocol) {
            self.value = value
        }
    }

    let home: SyncHome
    /// The reason why the engine cannot work with its configuration.
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

    /// - Parameter told: called on any thread.
    func watchAccount(_ told: @escaping @Sendable () -> Void) {
        let observer = NotificationCenter.default.addObserver(forName: .CKAccountChanged, object: nil, queue: nil) { _ in told() }
        let held = Observer(observer)
        inner.withLock { $0.observer = held }
    }

    /// Adds a run to those that `cancelRuns` cancels.
    func add(_ run: SyncRun) {
        inner.withLock { $0.runs[ObjectIdentifier(run)] = run }
    }

    func remove(_ run: SyncRun) {
        _ = inner.withLock { $0.runs.removeValue(forKey: ObjectIdentifier(run)) }
    }

    func cancelRuns() {
        for run in inner.withLock({ Array($0.runs.values) }) { run.cancel() }
    }

    /// Cancels the timers and the observer when the engine is deinitialized.
    func end() {
        for task in inner.withLock({ [$0.timer, $0.waiter] }) { task?.cancel() }
        if let observer = inner.withLock({ $0.observer?.value }) { NotificationCenter.default.removeObserver(observer) }
    }

    /// Calls the delegate, and notes the task in which it runs.
    func insideDelegate<Value>(_ body: (any CKSyncEngineDelegate) async -> Value) async throws(CKError) -> Value {
        guard let delegate else { throw .cancelled }
        let task = withUnsafeCurrentTask { $0?.hashValue }
        inner.withLock { $0.delegateTask = task }
        defer { inner.withLock { $0.delegateTask = nil } }
        return await body(delegate)
    }

    /// Whether the caller runs inside the delegate, while the engine waits for it.
    var isInsideDelegate: Bool {
        let task = withUnsafeCurrentTask { $0?.hashValue }
        return task != nil && inner.withLock { $0.delegateTask == task }
    }
}
