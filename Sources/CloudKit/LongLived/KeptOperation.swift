import Foundation
import NacreCloudWire

/// A long-lived operation as its file keeps it: what it asks for, of whom, and how patiently. It has the account's token in it.
struct KeptOperation: Codable, Sendable {
    /// Version 1 is the first.
    static let currentVersion = 1

    var version = currentVersion
    var operationID: String
    /// Of an `ArchivedOperation`.
    var kind: String
    /// The keyed archive of what the operation asks for.
    var request: Data
    var began: Date
    var scope: Int
    var server: URL
    var container: String
    var environment: String
    var apiToken: String?
    var accountToken: String?
    /// Of the app, as `CLOUDKIT_CA_FILE` named it.
    var authorityFile: String?
    var qualityOfService: Int?
    var allowsCellularAccess: Bool?
    var timeoutIntervalForRequest: Double?
    var timeoutIntervalForResource: Double?
    /// A keyed archive.
    var group: Data?

    /// Whether it is of the same app and user, as far as their server tells.
    func belongs(to settings: ServerSettings) -> Bool {
        server == settings.url && container == settings.container && environment == settings.environment.rawValue
            && accountToken == settings.accountToken
    }

    var settings: CloudKitServer {
        CloudKitServer(
            url: server, environment: CloudKitServer.Environment(rawValue: environment), apiToken: apiToken, accountToken: accountToken)
    }

    var values: CKOperationConfiguration.Values {
        CKOperationConfiguration.Values(
            qualityOfService: qualityOfService.flatMap(QualityOfService.init), allowsCellularAccess: allowsCellularAccess, isLongLived: true,
            timeoutIntervalForRequest: timeoutIntervalForRequest, timeoutIntervalForResource: timeoutIntervalForResource)
    }
}

extension KeptOperation {
    /// What an operation is about to do; nil for one whose request nothing but its app can hold.
    init?(_ operation: CKDatabaseOperation, began: Date, settings: ServerSettings) {
        guard let request = ArchivedOperations.archive(operation) else { return nil }
        let values = operation.resolvedConfiguration
        self.init(
            operationID: operation.operationID, kind: request.kind, request: request.data, began: began,
            scope: operation.effectiveDatabase.databaseScope.rawValue, server: settings.url, container: settings.container,
            environment: settings.environment.rawValue, apiToken: settings.apiToken, accountToken: settings.accountToken,
            authorityFile: NetworkTransport.authorityFile, qualityOfService: values.qualityOfService?.rawValue,
            allowsCellularAccess: values.allowsCellularAccess, timeoutIntervalForRequest: values.timeoutIntervalForRequest,
            timeoutIntervalForResource: values.timeoutIntervalForResource,
            group: operation.group.flatMap { try? NSKeyedArchiver.archivedData(withRootObject: $0, requiringSecureCoding: true) })
    }

    /// The operation again, on a database of its scope; nil where this version does not read it.
    func operation(on container: CKContainer) -> CKDatabaseOperation? {
        guard version <= Self.currentVersion, let scope = CKDatabase.Scope(rawValue: scope),
            let operation = ArchivedOperations.operation(kind, request)
        else { return nil }
        operation.configuration = CKOperation.Configuration(values: values)
        operation.group = group.flatMap { try? NSKeyedUnarchiver.unarchivedObject(ofClass: CKOperationGroup.self, from: $0) }
        operation.database = container.database(with: scope)
        return operation
    }
}
