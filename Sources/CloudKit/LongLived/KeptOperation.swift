import Foundation
import NacreCloudWire

/// The encoded form of a long-lived operation: its request, its server and its timeouts. It contains the account's
/// token.
struct KeptOperation: Codable, Sendable {
    /// The newest version; version 1 is the first.
    static let currentVersion = 1

    var version = currentVersion
    var operationID: String
    /// The `kind` of an `ArchivedOperation`.
    var kind: String
    /// The keyed archive of the operation's request.
    var request: Data
    var began: Date
    var scope: Int
    var server: URL
    var container: String
    var environment: String
    var apiToken: String?
    var accountToken: String?
    /// The app's `CLOUDKIT_CA_FILE`.
    var authorityFile: String?
    var qualityOfService: Int?
    var allowsCellularAccess: Bool?
    var timeoutIntervalForRequest: Double?
    var timeoutIntervalForResource: Double?
    /// The keyed archive of the operation's group.
    var group: Data?

    /// Returns whether the operation belongs to the same app and user on the same server.
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
    /// Encodes an operation; nil if its request cannot be archived.
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

    /// Returns the operation on a database of its scope; nil if this version cannot decode it.
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
