extension AdminMessages {
    /// `GET /admin/1/backups`: the backups that the server makes by itself.
    package struct Backups: Codable, Hashable, Sendable {
        /// The folder of `--backup-dir`; absent if the server makes none by itself.
        package var folder: String?
        /// The newest backups, the newest first.
        package var backups: [BackupLine]
        /// Time of the next one, in milliseconds since 1970.
        package var next: Int64?
        /// The verification under way, or how the last one ended.
        package var verification: BackupStatus
    }

    package struct BackupLine: Codable, Hashable, Sendable {
        /// The name of the file in the folder.
        package var name: String
        /// The point in time that the backup shows: `2026-01-31T12:00:00Z`.
        package var time: String
        /// The version of Nacre that made the backup.
        package var nacre: String
        /// Size of the backup's database.
        package var bytes: Int64
        /// The last verification since the server's start; absent: none.
        package var check: BackupCheck?
    }

    package struct BackupCheck: Codable, Hashable, Sendable {
        /// Time of its end, in milliseconds since 1970.
        package var time: Int64
        package var isWhole: Bool
        /// The damage, or why the backup could not be read.
        package var problem: String?
    }

    /// `POST /admin/1/backups/verify`
    package struct NewBackupVerification: Codable, Hashable, Sendable {
        /// A name of the list.
        package var name: String

        package init(name: String) {
            self.name = name
        }
    }
}
