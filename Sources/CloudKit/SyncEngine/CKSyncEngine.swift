import Foundation
import NacreLocks

/// Keeps an app's local records and a private or shared database in sync. It sends the app's pending changes, fetches
/// changes of other devices, and reports both to the delegate in the order that `docs/sync-engine.md` promises.
///
/// ```swift
/// let configuration = CKSyncEngine.Configuration(
///     database: container.privateCloudDatabase, stateSerialization: stored, delegate: model)
/// let engine = CKSyncEngine(configuration)
/// engine.state.add(pendingRecordZoneChanges: [.saveRecord(note.recordID)])
/// ```
///
/// Make an engine early after launch, with the newest `State.Serialization` that `.stateUpdate` delivered, and keep a
/// reference: an engine without one stops. The engine stores nothing itself. It holds its delegate weakly, and does
/// nothing without one. Each engine has one database; a process may have several engines, also for the same database.
/// Apple: iOS 17.
public final class CKSyncEngine: Sendable, CustomStringConvertible {
    /// The database that the engine syncs.
    public let database: CKDatabase
    /// The pending changes, and the engine's knowledge of the server.
    public let state: CKSyncEngine.State
    let automaticallySync: Bool
    let activity: SyncActivity

    /// Makes an engine and returns at once. With `automaticallySync` the engine begins to fetch and to send by itself.
    ///
    /// If the database is the public one, or the state belongs to another database, `fetchChanges` and `sendChanges`
    /// throw the reason.
    public init(_ configuration: CKSyncEngine.Configuration) {
        database = configuration.database
        automaticallySync = configuration.automaticallySync
        let kept = configuration.stateSerialization
        let home = SyncHome(configuration.database)
        let fault = home.fault(of: kept)
        state = State(fault == nil ? kept?.state ?? SyncState() : SyncState())
        activity = SyncActivity(home: home, fault: fault, delegate: configuration.delegate, subscriptionID: configuration.subscriptionID)
        let told: @Sendable (SyncState.AppChange) -> Void = { [weak self] in self?.appChanged($0) }
        state.changed.withLock { $0 = told }
        activity.watchAccount { [weak self] in self?.accountMayHaveChanged() }
        SyncEngines.shared.add(self)
        guard automaticallySync else { return }
        if let fault {
            database.line.log("error: CloudKit: CKSyncEngine: \(fault)")
            return
        }
        want(SyncSchedule.Due(fetch: true, send: state.held.withLock(\.hasSomethingToSend)))
    }

    deinit {
        activity.end()
    }

    /// Fetches changes of other devices, and returns when the delegate has handled them all.
    ///
    /// Fetches and sends run one at a time, in the order of the calls. Inside the delegate the call throws
    /// `invalidArguments`. Otherwise it throws the reason why something could not be fetched; changes that arrived
    /// before the error stay valid.
    public func fetchChanges(_ options: CKSyncEngine.FetchChangesOptions = .init()) async throws {
        try await perform(SyncSchedule.Due(fetch: true)) { run throws(CKError) in
            try await self.fetch(FetchChangesContext(reason: .manual, options: options), in: run)
        }
    }

    /// Sends the pending changes, in as many batches as needed, and returns when the delegate has handled all results.
    ///
    /// Fetches and sends run one at a time, in the order of the calls. Inside the delegate the call throws
    /// `invalidArguments`. It also throws if a change failed, although the delegate was told: `partialFailure` with the
    /// items' errors, or the error that stopped the whole send.
    public func sendChanges(_ options: CKSyncEngine.SendChangesOptions = .init()) async throws {
        try await perform(SyncSchedule.Due(send: true)) { run throws(CKError) in
            try await self.send(SendChangesContext(reason: .manual, options: options), in: run)
        }
    }

    /// Asks all fetches and sends, also queued ones, to end with `operationCancelled`, and does not wait for them. A
    /// request under way may still succeed, and its results are reported. Pending changes stay pending.
    public func cancelOperations() async {
        activity.cancelRuns()
    }

    public var description: String { "<CKSyncEngine: \(database.databaseScope.wire), automaticallySync=\(automaticallySync)>" }
}

/// The receiver of everything that a `CKSyncEngine` does. The calls of one engine never overlap. Apple: iOS 17.
public protocol CKSyncEngineDelegate: AnyObject, Sendable {
    /// Handles an event. The engine continues when this returns; changes that it delivered then count as stored.
    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async

    /// Returns the next batch to send, within `context.options.scope`. It is called until it returns nil.
    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch?

    /// Returns the options for the next zone; it is called before each zone. The default returns `context.options`.
    func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions
}

extension CKSyncEngineDelegate {
    /// Returns `context.options`.
    public func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions {
        context.options
    }
}

extension CKSyncEngine {
    /// The settings of an engine. Apple: iOS 17.
    public struct Configuration: Sendable, CustomStringConvertible {
        /// A private or a shared database.
        public var database: CKDatabase
        /// The newest state that `.stateUpdate` delivered; nil at the first launch.
        public var stateSerialization: CKSyncEngine.State.Serialization?
        /// The delegate, which the engine holds weakly.
        public var delegate: any CKSyncEngineDelegate
        /// Whether the engine sends when changes are pending, fetches when the database changed, and retries by itself.
        /// If false, only `fetchChanges` and `sendChanges` do work.
        public var automaticallySync: Bool = true
        /// The ID of the engine's database subscription, which is made if the user has none of this ID. nil uses any
        /// database subscription of the user, or makes one.
        public var subscriptionID: CKSubscription.ID?

        /// Makes a configuration. `stateSerialization` is the newest state that the engine delivered, or nil at the
        /// first launch.
        public init(
            database: CKDatabase, stateSerialization: CKSyncEngine.State.Serialization?, delegate: any CKSyncEngineDelegate
        ) {
            self.database = database
            self.stateSerialization = stateSerialization
            self.delegate = delegate
        }

        public var description: String {
            "<CKSyncEngine.Configuration: \(database.databaseScope.wire), automaticallySync=\(automaticallySync), "
                + "subscriptionID=\(subscriptionID ?? "nil"), \(stateSerialization == nil ? "no state" : "with a state")>"
        }
    }

    /// The reason why the engine fetches or sends. Apple: iOS 17.
    public enum SyncReason: Sendable, Equatable, Hashable, CustomStringConvertible {
        /// The engine's own schedule.
        case scheduled
        /// The app called `fetchChanges` or `sendChanges`.
        case manual

        public var description: String {
            switch self {
            case .scheduled: "scheduled"
            case .manual: "manual"
            }
        }
    }
}
