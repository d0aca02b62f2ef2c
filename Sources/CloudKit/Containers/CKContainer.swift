public import Foundation
import NacreLocks

/// An app's data in the cloud: a public database, and a private and a shared one for each user.
///
/// `CloudKitServer` configures its server. Making a container never fails and needs no entitlement; missing settings
/// fail the first request. Apple: iOS 8.
open class CKContainer: NSObject, @unchecked Sendable {
    // Sendable: every stored property is a `let` of a sendable type, or in `Locked`.

    let line: ServerLine
    let configuration: CKOperation.Configuration.Values?
    let group: CKOperationGroup?
    private let databases = Locked<[CKDatabase.Scope: CKDatabase]>([:])

    init(line: ServerLine, configuration: CKOperation.Configuration.Values? = nil, group: CKOperationGroup? = nil) {
        self.line = line
        self.configuration = configuration
        self.group = group
        super.init()
    }

    private static let shared = CKContainer(line: .default)

    /// Returns the container that `CloudKitServer.setDefaultContainer`, `CLOUDKIT_CONTAINER` or the configuration file
    /// names.
    open class func `default`() -> CKContainer { shared }

    /// Makes a container by its identifier, such as `iCloud.com.example.Notes`. No request is sent yet.
    public required convenience init(identifier containerIdentifier: String) {
        self.init(line: ServerLine(identifier: containerIdentifier, source: .ambient, sealsAnew: true))
    }

    /// Makes a container with settings of its own over another transport, for tests.
    package convenience init(
        identifier: String, server: CloudKitServer, transport: any Transport, timekeeper: Timekeeper = .system, keyStore: KeyStore? = nil
    ) {
        self.init(
            line: ServerLine(identifier: identifier, source: .explicit(server), transport: transport, timekeeper: timekeeper, keyStore: keyStore))
    }

    /// The container's identifier; nil for a default container that is not configured.
    open var containerIdentifier: String? { line.containerIdentifier }

    // MARK: Databases

    /// The database with the user's own data.
    open var privateCloudDatabase: CKDatabase { database(with: .private) }
    /// The database that all users of the app share.
    open var publicCloudDatabase: CKDatabase { database(with: .public) }
    /// The database with data that other users share with the user.
    open var sharedCloudDatabase: CKDatabase { database(with: .shared) }

    /// Returns the database of a scope, the same instance each time.
    open func database(with databaseScope: CKDatabase.Scope) -> CKDatabase {
        databases.withLock { databases in
            if let database = databases[databaseScope] { return database }
            let database = CKDatabase(scope: databaseScope, line: line, container: self, configuration: configuration, group: group)
            databases[databaseScope] = database
            return database
        }
    }

    /// Runs an operation on this container. A database operation without a database uses the private one.
    open func add(_ operation: CKOperation) {
        guard operation.enqueue() else { return }
        if let operation = operation as? CKDatabaseOperation, operation.database == nil {
            operation.database = privateCloudDatabase
        } else if !(operation is CKDatabaseOperation) {
            operation.configuration.container = self
        }
        line.queue.addOperation(operation)
    }

    // MARK: A configured view

    /// Calls `body` with a view of this container. Single-call functions of the view and its databases use these
    /// settings.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: (_ configuredContainer: CKContainer) throws -> R
    ) rethrows -> R {
        try body(CKContainer(line: line, configuration: configuration?.snapshot, group: group))
    }

    /// Calls `body` with a view of this container. Single-call functions of the view and its databases use these
    /// settings.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: @Sendable (_ configuredContainer: CKContainer) async throws -> R
    ) async rethrows -> R {
        try await body(CKContainer(line: line, configuration: configuration?.snapshot, group: group))
    }
}
