public import Foundation
import NacreLocks

/// The base of all operations. It runs a subclass's requests, reports the result of each item, and finishes.
///
/// Use an operation once: configure it, then add it to a database, a container or a queue. Later changes of its
/// properties have no effect. All blocks run on a serial queue of the operation: first those of single items, then
/// exactly once the final one. After `cancel()` the final block gets `operationCancelled`. Adding or starting an
/// operation again does nothing. Apple: iOS 8.
open class CKOperation: Operation, @unchecked Sendable {
    // Sendable: `phase` and `settings` are `Locked`. A subclass's settings and blocks are set before the operation
    // starts, which happens before they are read. Only `callbackQueue` touches the results of a running operation.

    /// The type of an operation's identifier.
    public typealias ID = String

    private enum Phase {
        case new
        case enqueued
        case executing(Task<Void, Never>?)
        case finished
    }

    private struct Settings {
        var operationID: CKOperation.ID = UUID().uuidString
        var configuration = CKOperation.Configuration()
        var group: CKOperationGroup?
        var longLivedOperationWasPersistedBlock: (() -> Void)?
    }

    private let phase = Locked(Phase.new)
    private let settings = Locked(Settings())
    private let callbackQueue = DispatchQueue(label: "CloudKit operation callbacks")

    /// The identifier, unique to each operation. A fetched long-lived operation keeps its own.
    public var operationID: CKOperation.ID { settings.withLock { $0.operationID } }

    final func set(operationID: CKOperation.ID) {
        settings.withLock { $0.operationID = operationID }
    }

    /// The quality of service if neither the operation nor its group sets one.
    var builtInQuality: QualityOfService { .default }

    public override init() {
        super.init()
    }

    // MARK: Configuration

    /// The configuration. It is copied when set; nil makes a new one.
    open var configuration: CKOperation.Configuration! {
        get { settings.withLock { $0.configuration } }
        set {
            let copy = newValue?.copied() ?? CKOperation.Configuration()
            settings.withLock { $0.configuration = copy }
        }
    }

    /// The operation's group. Its defaults apply where the operation sets no value.
    open var group: CKOperationGroup? {
        get { settings.withLock { $0.group } }
        set { settings.withLock { $0.group = newValue } }
    }

    /// Called when a long-lived operation is stored: from then on it will be finished, even if this process ends.
    open var longLivedOperationWasPersistedBlock: (() -> Void)? {
        get { settings.withLock { Held($0.longLivedOperationWasPersistedBlock) }.value }
        set {
            let held = Held(newValue)
            settings.withLock { $0.longLivedOperationWasPersistedBlock = held.value }
        }
    }

    /// The configuration's quality of service.
    open override var qualityOfService: QualityOfService {
        get { configuration.qualityOfService }
        set { configuration.qualityOfService = newValue }
    }

    /// The configuration's container. Apple: deprecated in iOS 11 in favour of `configuration`, as are the four below.
    open var container: CKContainer? {
        get { configuration.container }
        set { configuration.container = newValue }
    }

    /// The configuration's value.
    open var allowsCellularAccess: Bool {
        get { configuration.allowsCellularAccess }
        set { configuration.allowsCellularAccess = newValue }
    }

    /// The configuration's value.
    open var isLongLived: Bool {
        get { configuration.isLongLived }
        set { configuration.isLongLived = newValue }
    }

    /// The configuration's value.
    open var timeoutIntervalForRequest: TimeInterval {
        get { configuration.timeoutIntervalForRequest }
        set { configuration.timeoutIntervalForRequest = newValue }
    }

    /// The configuration's value.
    open var timeoutIntervalForResource: TimeInterval {
        get { configuration.timeoutIntervalForResource }
        set { configuration.timeoutIntervalForResource = newValue }
    }

    /// The explicit values of this operation and its group's defaults.
    var resolvedConfiguration: CKOperation.Configuration.Values {
        configuration.snapshot.over(group?.defaultConfiguration.snapshot)
    }

    // MARK: Overrides of subclasses

    /// Prepares the operation before its first request.
    func prepare() async throws(CKError) {}

    /// Called on the callback queue when everything was reported.
    func settle() {}

    /// Makes the operation's requests, and passes the result of each item to `report`. Throws an error that ends the
    /// operation as a whole.
    func run() async throws(CKError) {}

    /// Calls the final blocks. Runs on the callback queue, after everything that was reported.
    func deliver(_ error: CKError?) {}

    /// Runs `blocks` on the callback queue, in the order of the calls.
    final func report(_ blocks: @escaping @Sendable () -> Void) {
        callbackQueue.async(execute: blocks)
    }

    /// Returns when all blocks reported so far have run.
    final func reported() async {
        await withCheckedContinuation { continuation in report { continuation.resume() } }
    }

    // MARK: The engine

    /// Always true: `start()` does not wait for the operation's end.
    open override var isAsynchronous: Bool { true }

    /// Whether the operation has started and not ended.
    open override var isExecuting: Bool {
        phase.withLock { if case .executing = $0 { true } else { false } }
    }

    /// Whether the operation's last block has returned.
    open override var isFinished: Bool {
        phase.withLock { if case .finished = $0 { true } else { false } }
    }

    /// Returns true once: the operation may then enter a queue.
    final func enqueue() -> Bool {
        phase.withLock { phase in
            guard case .new = phase else { return false }
            phase = .enqueued
            return true
        }
    }

    /// Starts the operation and returns at once.
    open override func start() {
        willChangeValue(forKey: "isExecuting")
        let begins = phase.withLock { phase in
            switch phase {
            case .new, .enqueued:
                phase = .executing(nil)
                return true
            case .executing, .finished:
                return false
            }
        }
        didChangeValue(forKey: "isExecuting")
        guard begins else { return }
        let task = Task { [self] in
            let error = await outcome()
            report { self.end(error) }
        }
        phase.withLock { phase in
            if case .executing = phase { phase = .executing(task) }
        }
        // A cancellation before the task was stored did not reach it.
        if isCancelled { task.cancel() }
    }

    /// Cancels the operation's requests. Finished work stays done, and is reported.
    open override func cancel() {
        super.cancel()
        let task: Task<Void, Never>? = phase.withLock { if case .executing(let task) = $0 { task } else { nil } }
        task?.cancel()
    }

    private func outcome() async -> CKError? {
        if isCancelled { return .cancelled }
        do throws(CKError) {
            try await prepare()
            try await run()
            return nil
        } catch {
            return error
        }
    }

    private func end(_ error: CKError?) {
        deliver(isCancelled ? .cancelled : error)
        settle()
        willChangeValue(forKey: "isExecuting")
        willChangeValue(forKey: "isFinished")
        phase.withLock { $0 = .finished }
        didChangeValue(forKey: "isExecuting")
        didChangeValue(forKey: "isFinished")
    }
}

/// Holds a block of the app, so that a lock can return it.
private struct Held: @unchecked Sendable {
    // Sendable: the block is not called, only passed on by the thread that set it or asked for it.
    let value: (() -> Void)?

    init(_ value: (() -> Void)?) {
        self.value = value
    }
}
