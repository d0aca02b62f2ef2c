import Glibc
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore

/// The reason why a backup was not made or is invalid, and the remedy, for an administrator.
package struct BackupFault: Error, Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case failed
        /// The file differs from what a backup wrote.
        case damaged
        /// A server or another backup uses something that is needed.
        case inUse
        /// A signal or an administrator ended the operation.
        case interrupted
    }

    package var kind: Kind
    package var text: String
    package var remedy: String?

    /// - Parameter interrupted: describes the state after an interrupt; nil: the text for an interrupted backup.
    init(_ error: any Error, file: String? = nil, interrupted: String? = nil) {
        switch error {
        case let error as BackupFault: self = error
        case let error as BackupFile.Damage:
            self.init(
                .damaged, "\(file ?? "the file") \(error.verdict): \(error.text)",
                error.remedy ?? "keep it, and take another backup: nacre backup verify FILE")
        case let error as StoreError where error == BackupControl.cancelled: self.init(.interrupted, interrupted ?? error.text, nil)
        case let error as StoreError:
            let values = error.values.filter { !["remedy", "code", "errno"].contains($0.key) }.sorted { $0.key < $1.key }
            let details = values.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
            self.init(
                error.code == .inUse ? .inUse : .failed, details.isEmpty ? error.text : "\(error.text) (\(details))",
                error.values["remedy"] ?? Self.remedy(error))
        default: self.init(.failed, "\(error)", nil)
        }
    }

    private init(_ kind: Kind, _ text: String, _ remedy: String?) {
        self.kind = kind
        self.text = text
        self.remedy = remedy
    }

    private static func remedy(_ error: StoreError) -> String? {
        switch error.code {
        case .full: "make room, or name a file on another disk"
        case .inUse: "stop what has it, or name another"
        case .readOnly: "see that this user may write there"
        default:
            // A call of the system says its number as `code`, and SQLite that of its own calls as `errno`.
            (error.values["call"] == nil ? error.values["errno"] : error.values["code"]) == String(ENOENT)
                ? "name a file in a folder that is there" : nil
        }
    }
}

extension AdminMessages.Backup {
    init(_ manifest: BackupManifest, path: String, lostFiles: Int) {
        self.init(
            path: path, nacre: manifest.nacre, schemaVersion: manifest.schemaVersion, time: manifest.time, folder: manifest.folder,
            containers: manifest.containers, databases: manifest.databases, bytes: manifest.databaseBytes, sha256: manifest.sha256,
            lostFiles: lostFiles)
    }
}
