public import Foundation

/// Records and zones of one scope of a container. Comes from a `CKContainer`.
///
/// Each function is one operation with the quality of service `userInitiated`, unless `configuredWith` says otherwise. Functions of single
/// items throw the item's error; those of several return a result for each, and throw only when the request as a whole failed. Completion
/// handlers run on a queue that is not the main one. Apple: iOS 8.
open class CKDatabase: NSObject, @unchecked Sendable {
    // Sendable: everything stored is a `let` of a sendable type; `home` is weak and never set again.

    /// Whose data it is. Apple: iOS 10.
    public enum Scope: Int, Sendable {
        /// Everybody reads; counts against the app.
        case `public` = 1
        /// The user's own.
        case `private` = 2
        /// What others share with the user.
        case shared = 3
    }

    /// Which of its container's databases this is.
    public let databaseScope: CKDatabase.Scope
    let line: ServerLine
    let configuration: CKOperation.Configuration.Values?
    let group: CKOperationGroup?
    private weak let home: CKContainer?

    init(
        scope: Scope, line: ServerLine, container: CKContainer?, configuration: CKOperation.Configuration.Values? = nil,
        group: CKOperationGroup? = nil
    ) {
        databaseScope = scope
        self.line = line
        self.configuration = configuration
        self.group = group
        home = container
        super.init()
    }

    /// The container that this database came from, or one over the same line once that is gone.
    final var container: CKContainer { home ?? CKContainer(line: line) }

    /// Runs an operation on this database.
    open func add(_ operation: CKDatabaseOperation) {
        guard operation.enqueue() else { return }
        operation.database = self
        line.queue.addOperation(operation)
    }

    /// Hands `body` a view of this database whose single-call functions use these settings.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil, body: (_ configuredDatabase: CKDatabase) throws -> R
    ) rethrows -> R {
        try body(configured(configuration, group))
    }

    /// Runs `body` with a view of this database whose single calls have the configuration and the group.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: @Sendable (_ configuredDatabase: CKDatabase) async throws -> R
    ) async rethrows -> R {
        try await body(configured(configuration, group))
    }

    private func configured(_ configuration: CKOperation.Configuration?, _ group: CKOperationGroup?) -> CKDatabase {
        CKDatabase(scope: databaseScope, line: line, container: home, configuration: configuration?.snapshot, group: group)
    }

    /// Gives an operation of a single-call function this database and its settings.
    final func prepare<Prepared: CKDatabaseOperation>(_ operation: Prepared) -> Prepared {
        operation.configuration = CKOperation.Configuration(values: configuration ?? CKOperation.Configuration.Values())
        if operation.resolvedConfiguration.qualityOfService == nil && group?.defaultConfiguration.snapshot.qualityOfService == nil {
            operation.configuration.qualityOfService = .userInitiated
        }
        operation.group = group
        operation.database = self
        return operation
    }
}
