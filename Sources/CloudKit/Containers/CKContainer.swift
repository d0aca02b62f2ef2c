public import Foundation
import NacreLocks

/// Everything that an app keeps in the cloud: a public database, and a private and a shared one for each user.
///
/// Where its server is, `CloudKitServer` says. Making a container never fails and never asks for an entitlement; what is missing is told by
/// the first request. Apple: iOS 8.
open class CKContainer: NSObject, @unchecked Sendable {
    // Sendable: everything stored is a `let` of a sendable type, or in `Locked`.

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

    /// The container that `CloudKitServer.setDefaultContainer`, `CLOUDKIT_CONTAINER` or the configuration file names.
    open class func `default`() -> CKContainer { shared }

    /// A container by its identifier, such as `iCloud.com.example.Notes`. Nothing is asked until the first request.
    public convenience init(identifier containerIdentifier: String) {
        self.init(line: ServerLine(identifier: containerIdentifier, source: .ambient))
    }

    /// For tests: a container with settings of its own over another transport.
    package convenience init(identifier: String, server: CloudKitServer, transport: any Transport, timekeeper: Timekeeper = .system) {
        self.init(line: ServerLine(identifier: identifier, source: .explicit(server), transport: transport, timekeeper: timekeeper))
    }

    /// nil: this is the default container, and nobody has said which that is.
    open var containerIdentifier: String? { line.containerIdentifier }

    // MARK: Databases

    /// The user's own data.
    open var privateCloudDatabase: CKDatabase { database(with: .private) }
    /// What all users of the app share.
    open var publicCloudDatabase: CKDatabase { database(with: .public) }
    /// What others share with the user.
    open var sharedCloudDatabase: CKDatabase { database(with: .shared) }

    /// The same instance each time.
    open func database(with databaseScope: CKDatabase.Scope) -> CKDatabase {
        databases.withLock { databases in
            if let database = databases[databaseScope] { return database }
            let database = CKDatabase(scope: databaseScope, line: line, container: self, configuration: configuration, group: group)
            databases[databaseScope] = database
            return database
        }
    }

    /// Runs an operation on this container; one on a database that names none goes to this container's private one.
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

    /// Hands `body` a view of this container whose single-call functions, its databases' included, use these settings.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: (_ configuredContainer: CKContainer) throws -> R
    ) rethrows -> R {
        try body(CKContainer(line: line, configuration: configuration?.snapshot, group: group))
    }

    /// Runs `body` with a view of this container whose single calls have the configuration and the group.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: @Sendable (_ configuredContainer: CKContainer) async throws -> R
    ) async rethrows -> R {
        try await body(CKContainer(line: line, configuration: configuration?.snapshot, group: group))
    }
}
