package import NacreCloudStorage
import NacreCloudWire

/// A container and environment in which an account has a user record name and data of its own.
package struct AppUser: Hashable, Sendable {
    package var container: String
    package var environment: DatabaseKey.Environment
    package var userRecordName: String

    package init(container: String, environment: DatabaseKey.Environment, userRecordName: String) {
        self.container = container
        self.environment = environment
        self.userRecordName = userRecordName
    }

    /// The key of the entry that keeps the name.
    package static func key(_ container: String, _ environment: DatabaseKey.Environment) -> String { "\(container) \(environment.rawValue)" }

    /// Reads the entry of a user record name; nil for an entry that names no app user.
    init?(_ row: EntryRow) throws(StoreError) {
        let parts = row.key.key.split(separator: " ")
        guard parts.count == 2, let environment = DatabaseKey.Environment(rawValue: String(parts[1])) else { return nil }
        container = String(parts[0])
        self.environment = environment
        userRecordName = try UserEntry(row).userRecordName
    }
}
