public import Foundation

/// The records and zones of one scope of a container. A `CKContainer` provides its databases.
///
/// Each function is one operation with the quality of service `userInitiated`, unless `configuredWith` sets another.
/// Functions for a single item throw the item's error. Functions for several items return a result for each, and throw
/// only if the request as a whole failed. Completion handlers run on a queue other than the main one. Apple: iOS 8.
open class CKDatabase: NSObject, @unchecked Sendable {
    // Sendable: every stored property is a `let` of a sendable type; `home` is weak and never set again.

    /// The kind of a database. Apple: iOS 10.
    public enum Scope: Int, Sendable {
        /// Data that all users read; it counts against the app's storage.
        case `public` = 1
        /// The user's own data.
        case `private` = 2
        /// Data that other users share with the user.
        case shared = 3
    }

    /// The kind of this database.
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

    /// The container of this database, or a new one over the same line once that is gone.
    final var container: CKContainer { home ?? CKContainer(line: line) }

    /// Runs an operation on this database.
    open func add(_ operation: CKDatabaseOperation) {
        guard operation.enqueue() else { return }
        operation.database = self
        line.queue.addOperation(operation)
    }

    /// Calls `body` with a view of this database, whose single-call functions use these settings.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil, body: (_ configuredDatabase: CKDatabase) throws -> R
    ) rethrows -> R {
        try body(configured(configuration, group))
    }

    /// Calls `body` with a view of this database, whose single-call functions use these settings.
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
