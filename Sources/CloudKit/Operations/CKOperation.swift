public import Foundation
import NacreLocks

/// The base of all operations, and the engine under them: it runs a subclass's requests, tells what became of each item, and finishes.
///
/// An operation is used once. Configure it, then add it to a database, a container or a queue; what is set later has no effect. All its
/// blocks run on a serial queue of its own: those of single items first, then exactly once the one that ends it, also after `cancel()`,
/// with `operationCancelled`. Adding or starting it a second time does nothing. Apple: iOS 8.
open class CKOperation: Operation, @unchecked Sendable {
    // Sendable: `phase` and `settings` are `Locked`; subclasses' settings and blocks are set before the operation starts, which happens
    // before everything that reads them, and what a running operation collects is touched on `callbackQueue` alone.

    /// Names an operation.
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

    /// Unique to each operation; a long-lived one that was fetched has the ID that it had.
    public var operationID: CKOperation.ID { settings.withLock { $0.operationID } }

    final func set(operationID: CKOperation.ID) {
        settings.withLock { $0.operationID = operationID }
    }

    /// What counts where neither the operation nor its group says a quality of service.
    var builtInQuality: QualityOfService { .default }

    public override init() {
        super.init()
    }

    // MARK: Configuration

    /// Copied when set; nil gives a new one.
    open var configuration: CKOperation.Configuration! {
        get { settings.withLock { $0.configuration } }
        set {
            let copy = newValue?.copied() ?? CKOperation.Configuration()
            settings.withLock { $0.configuration = copy }
        }
    }

    /// The group to which the operation belongs; its defaults hold where the operation says nothing.
    open var group: CKOperationGroup? {
        get { settings.withLock { $0.group } }
        set { settings.withLock { $0.group = newValue } }
    }

    /// Called when a long-lived operation is kept: from then on it is done, whatever becomes of this process.
    open var longLivedOperationWasPersistedBlock: (() -> Void)? {
        get { settings.withLock { Held($0.longLivedOperationWasPersistedBlock) }.value }
        set {
            let held = Held(newValue)
            settings.withLock { $0.longLivedOperationWasPersistedBlock = held.value }
        }
    }

    /// The configuration's.
    open override var qualityOfService: QualityOfService {
        get { configuration.qualityOfService }
        set { configuration.qualityOfService = newValue }
    }

    /// Apple: deprecated in iOS 11 in favour of `configuration`, as are the four below.
    open var container: CKContainer? {
        get { configuration.container }
        set { configuration.container = newValue }
    }

    /// The configuration's.
    open var allowsCellularAccess: Bool {
        get { configuration.allowsCellularAccess }
        set { configuration.allowsCellularAccess = newValue }
    }

    /// The configuration's.
    open var isLongLived: Bool {
        get { configuration.isLongLived }
        set { configuration.isLongLived = newValue }
    }

    /// The configuration's.
    open var timeoutIntervalForRequest: TimeInterval {
        get { configuration.timeoutIntervalForRequest }
        set { configuration.timeoutIntervalForRequest = newValue }
    }

    /// The configuration's.
    open var timeoutIntervalForResource: TimeInterval {
        get { configuration.timeoutIntervalForResource }
        set { configuration.timeoutIntervalForResource = newValue }
    }

    /// What holds for this operation, its group's defaults included.
    var resolvedConfiguration: CKOperation.Configuration.Values {
        configuration.snapshot.over(group?.defaultConfiguration.snapshot)
    }

    // MARK: What a subclass says

    /// What comes before the first request.
    func prepare() async throws(CKError) {}

    /// Everything was told. Runs on the callback queue.
    func settle() {}

    /// Makes the operation's requests, and tells with `report` what became of each item. Throws what ends it as a whole.
    func run() async throws(CKError) {}

    /// Calls the blocks that end the operation. Runs on the callback queue, after everything that was reported.
    func deliver(_ error: CKError?) {}

    /// Runs `blocks` on the callback queue, in the order reported.
    final func report(_ blocks: @escaping @Sendable () -> Void) {
        callbackQueue.async(execute: blocks)
    }

    /// Returns when everything reported so far was told.
    final func reported() async {
        await withCheckedContinuation { continuation in report { continuation.resume() } }
    }

    // MARK: The engine

    /// True: starting an operation does not wait for it.
    open override var isAsynchronous: Bool { true }

    /// Whether it has started and not ended.
    open override var isExecuting: Bool {
        phase.withLock { if case .executing = $0 { true } else { false } }
    }

    /// Whether its last block has returned.
    open override var isFinished: Bool {
        phase.withLock { if case .finished = $0 { true } else { false } }
    }

    /// True the first time: the operation may go into a queue.
    final func enqueue() -> Bool {
        phase.withLock { phase in
            guard case .new = phase else { return false }
            phase = .enqueued
            return true
        }
    }

    /// Returns at once.
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
        // A cancellation that came before the task was in its place did not reach it.
        if isCancelled { task.cancel() }
    }

    /// Requests under way are given up. What was done by then stays done, and is told.
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

/// Carries a block of the app over a lock's border.
private struct Held: @unchecked Sendable {
    // Sendable: the block is only carried, by the thread that set or asked for it.
    let value: (() -> Void)?

    init(_ value: (() -> Void)?) {
        self.value = value
    }
}
