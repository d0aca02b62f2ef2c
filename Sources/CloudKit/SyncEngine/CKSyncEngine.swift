import Foundation
import NacreLocks

/// Keeps an app's local records and a private or shared database in step: sends what the app says is pending, fetches what others changed, and
/// tells the delegate of both in an order that `docs/sync-engine.md` promises.
///
/// Make one early after launch, with the newest `State.Serialization` that `.stateUpdate` told, and keep it: an engine that nobody keeps stops. It
/// stores nothing itself. It holds its delegate weakly; without one it does nothing. One engine has one database; several engines, also of one
/// database, may be in a process. Apple: iOS 17.
public final class CKSyncEngine: Sendable, CustomStringConvertible {
    /// The database that the engine keeps in step.
    public let database: CKDatabase
    /// What is pending, and what is known of the server.
    public let state: CKSyncEngine.State
    let automaticallySync: Bool
    let turns: SyncTurns

    /// Returns at once. With `automaticallySync` the engine begins to fetch and to send by itself.
    ///
    /// What cannot be synced, the public database or a state of another database, is the error of `fetchChanges` and `sendChanges`.
    public init(_ configuration: CKSyncEngine.Configuration) {
        database = configuration.database
        automaticallySync = configuration.automaticallySync
        let kept = configuration.stateSerialization
        let home = SyncHome(configuration.database)
        let fault = home.fault(of: kept)
        state = State(fault == nil ? kept?.state ?? SyncState() : SyncState())
        turns = SyncTurns(home: home, fault: fault, delegate: configuration.delegate, subscriptionID: configuration.subscriptionID)
        let told: @Sendable (SyncState.AppChange) -> Void = { [weak self] in self?.appChanged($0) }
        state.changed.withLock { $0 = told }
        turns.watchAccount { [weak self] in self?.accountMayHaveChanged() }
        SyncEngines.shared.add(self)
        guard automaticallySync else { return }
        if let fault {
            database.line.log("error: CloudKit: CKSyncEngine: \(fault)")
            return
        }
        want(SyncSchedule.Due(fetch: true, send: state.held.withLock(\.hasSomethingToSend)))
    }

    deinit {
        turns.end()
    }

    /// Fetches what others changed, and returns when the delegate has handled all of it.
    ///
    /// One fetch or send runs at a time, in the order of the calls. Never call it inside the delegate: there it throws `invalidArguments`. Throws
    /// what kept something from being fetched; what was fetched before stays good.
    public func fetchChanges(_ options: CKSyncEngine.FetchChangesOptions = .init()) async throws {
        try await perform(SyncSchedule.Due(fetch: true)) { run throws(CKError) in
            try await self.fetch(FetchChangesContext(reason: .manual, options: options), in: run)
        }
    }

    /// Sends what is pending, in as many batches as it takes, and returns when the delegate has handled what became of all of it.
    ///
    /// One fetch or send runs at a time, in the order of the calls. Never call it inside the delegate: there it throws `invalidArguments`. Throws
    /// when something failed to be sent, although the delegate was told: `partialFailure` with the items' errors, or what kept everything from
    /// being sent.
    public func sendChanges(_ options: CKSyncEngine.SendChangesOptions = .init()) async throws {
        try await perform(SyncSchedule.Due(send: true)) { run throws(CKError) in
            try await self.send(SendChangesContext(reason: .manual, options: options), in: run)
        }
    }

    /// Asks all fetches and sends, also those that wait for their turn, to end with `operationCancelled`, and does not wait for them. What is on
    /// its way may still be done, and is told. Nothing pending is lost.
    public func cancelOperations() async {
        turns.cancelRuns()
    }

    public var description: String { "<CKSyncEngine: \(database.databaseScope.wire), automaticallySync=\(automaticallySync)>" }
}

/// Hears of everything that a `CKSyncEngine` does. The calls of one engine never overlap. Apple: iOS 17.
public protocol CKSyncEngineDelegate: AnyObject, Sendable {
    /// The engine goes on when this returns: what was fetched counts as kept then.
    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async

    /// What to send next, within `context.options.scope`; asked again until it is nil.
    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch?

    /// Asked before each zone: what to fetch next. Without an implementation: `context.options`.
    func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions
}

extension CKSyncEngineDelegate {
    /// `context.options`.
    public func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions {
        context.options
    }
}

extension CKSyncEngine {
    /// What an engine is made of. Apple: iOS 17.
    public struct Configuration: Sendable, CustomStringConvertible {
        /// A private or a shared database.
        public var database: CKDatabase
        /// The newest one that `.stateUpdate` told; nil: the first time.
        public var stateSerialization: CKSyncEngine.State.Serialization?
        /// The engine holds it weakly.
        public var delegate: any CKSyncEngineDelegate
        /// True: the engine sends when something is pending, fetches when something changed, and tries again what may work later. False:
        /// `fetchChanges` and `sendChanges` alone do anything.
        public var automaticallySync: Bool = true
        /// The database subscription of this engine, made where the user has none of this ID. nil: any database subscription of the user, or one of
        /// the engine's.
        public var subscriptionID: CKSubscription.ID?

        /// What an engine needs: the database, the newest state that it told (nil at the very first), and who hears its events.
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

    /// Why the engine fetches or sends. Apple: iOS 17.
    public enum SyncReason: Sendable, Equatable, Hashable, CustomStringConvertible {
        /// By itself.
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
