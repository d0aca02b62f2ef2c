import Foundation
import NacreLocks

/// The base of operations on a database. Apple: iOS 8.
open class CKDatabaseOperation: CKOperation, @unchecked Sendable {
    // Sendable: see `CKOperation`; the added properties are in `Locked`.

    private let target = Locked<CKDatabase?>(nil)
    final let outliving = Locked(Outliving.no)

    public override init() {
        super.init()
    }

    /// The database; nil for the private database of the configuration's container, or of the default one. Setting it
    /// also sets the configuration's container.
    open var database: CKDatabase? {
        get { target.withLock { $0 } }
        set {
            target.withLock { $0 = newValue }
            if let newValue { configuration.container = newValue.container }
        }
    }

    /// The database that a running operation uses.
    final var effectiveDatabase: CKDatabase {
        database ?? (resolvedConfiguration.container ?? .default()).privateCloudDatabase
    }

    final var conversation: Conversation {
        let database = effectiveDatabase
        return Conversation(
            line: database.line, scope: database.databaseScope, patience: Patience(resolvedConfiguration, quality: builtInQuality),
            journal: journal, group: group?.note)
    }

    override func prepare() async throws(CKError) {
        try await outlive()
    }

    override func settle() {
        forget()
    }

    open override func cancel() {
        super.cancel()
        // An agent's operation is cancelled by its app alone.
        forget()
    }
}
