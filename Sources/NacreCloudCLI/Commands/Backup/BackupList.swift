import Foundation
import NacreCloudServer

/// `nacre backup list`
enum BackupList {
    private static let verify = Option.value("verify", "name", "A backup of the list that the server verifies first, as nacre backup verify does.")

    /// Milliseconds between two requests for the verification's progress.
    private static let pollMilliseconds = 200

    static let command = Command(
        "list", "List the backups that the server makes by itself.",
        discussion: """
            Each line has the file's name in the folder of --backup-dir, the moment that it shows, its bytes, and what a verification since the server's start has \
            found: whole, damaged or unverified. The last line has the time of the next one. With --verify it ends with 2 where that backup is damaged.
            """,
        options: [verify] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let admin = try await AdminClient.connect(call)
        if let name = call.value(verify) { try await verified(name, admin) }
        let found = try await admin.backups()
        if call.has(SharedOptions.json) { return try Output.json(found) }
        for backup in found.backups { try Output.data(backup.line) }
        if let next = found.next { try Output.data("next \(UserTime.text(next))") }
        if found.folder == nil { Output.message("The server makes no backups by itself: nacre serve --backup-dir.") }
    }

    private static func verified(_ name: String, _ admin: AdminClient) async throws {
        var status = try await admin.verify(AdminMessages.NewBackupVerification(name: name))
        while status.state == .running {
            try await Task.sleep(for: .milliseconds(pollMilliseconds))
            status = try await admin.backups().verification
        }
        guard status.state == .done else {
            throw CommandFailure(.damaged, status.problem ?? "the server knows of no verification", remedy: status.remedy)
        }
    }
}

extension AdminMessages.BackupLine {
    /// The name, the moment that it shows, its bytes, and what a verification has found.
    var line: String {
        let outcome = check.map { $0.isWhole ? "whole" : "damaged" } ?? "unverified"
        return "\(name) \(time) \(bytes) bytes \(outcome)"
    }
}
