import Foundation
import NacreCloudServer

/// `nacre backup`
enum BackupCommands {
    static let command = Command(
        "backup", "Make, list, check and restore backups.",
        subcommands: [BackupCreate.command, BackupList.command, BackupVerify.command, BackupRestore.command])

    /// Returns an absolute path, which means the same file to the server.
    static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }

    /// Runs blocking work on a thread of its own, and cancels it at SIGINT, SIGTERM or SIGHUP.
    static func run<Value: Sendable>(_ body: @escaping @Sendable (OfflineFolder.Cancellation) throws -> Value) async throws -> Value {
        let cancellation = OfflineFolder.Cancellation()
        let interruption = Interruption { cancellation.cancel() }
        defer { interruption.end() }
        return try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try body(cancellation) })
            }
        }
    }

    static func show(_ backup: AdminMessages.Backup, as message: String, _ call: Call) throws {
        if call.has(SharedOptions.json) { return try Output.json(backup) }
        try Output.data(backup.path)
        Output.message(
            "\(message): \(backup.containers) containers, \(backup.databases) databases, \(backup.bytes) bytes, of \(backup.time), by nacre \(backup.nacre)."
        )
        if backup.lostFiles > 0 {
            Output.message("Files of records that are not with it, because they were missing before: \(backup.lostFiles). nacre check names them.")
        }
    }
}

/// `nacre backup create`
enum BackupCreate {
    private static let file = Argument("file", "The file to make; a folder gets one that is named by the time.")
    private static let bandwidth = Option.value(
        "bandwidth", "bytes", "How much is read and written in a second, at most: bytes, or with K, M, G or T.")

    /// Milliseconds between two requests for the backup's progress.
    private static let pollMilliseconds = 200

    static let command = Command(
        "create", "Make a backup of all data, of one moment, while the server goes on.",
        discussion: """
            Asks the server of the data folder; where none runs, the folder is read by this command itself. The file is written under another name, \
            checked as it stands on the disk, and only then gets its name: nothing is ever overwritten. With --server the path is one on the \
            server's machine. An interrupt ends the backup, and nothing stays of it. Prints the path.
            """,
        arguments: [file], options: AdminServer.options + [bandwidth, SharedOptions.json]
    ) { call in
        let path = BackupCommands.absolute(try call.require(file))
        let rate = try call.value(bandwidth).map { text in
            guard let bytes = Quantity.bytes(text) else {
                throw UsageError(.invalid("--\(bandwidth.name)", "give a number of bytes, or one with K, M, G or T, such as 20M"), path: call.path)
            }
            return bytes
        }
        let backup = try await make(path, rate, call)
        try BackupCommands.show(backup, as: "The backup is made and checked", call)
    }

    private static func make(_ path: String, _ rate: Int?, _ call: Call) async throws -> AdminMessages.Backup {
        let admin: AdminClient
        do {
            admin = try await AdminClient.connect(call)
        } catch let failure as CommandFailure
            where failure.code == .unreachable && !call.isGiven(AdminServer.server) && !call.isGiven(AdminServer.tokenFile)
        {
            // No server answers. The folder's lock tells whether one runs.
            let folder = try call.require(SharedOptions.data)
            return try await BackupCommands.run { try OfflineFolder.create(path, of: folder, bytesPerSecond: rate, $0) }
        }
        return try await make(AdminMessages.NewBackup(path: path, bytesPerSecond: rate), admin)
    }

    /// Has the server make a backup, and waits for it. An interrupt ends it.
    static func make(_ asked: AdminMessages.NewBackup, _ admin: AdminClient) async throws -> AdminMessages.Backup {
        let interruption = Interruption()
        defer { interruption.end() }
        var status = try await admin.start(asked)
        while status.state == .running {
            if interruption.isAsked { _ = try await admin.cancelBackup() }
            try await Task.sleep(for: .milliseconds(pollMilliseconds))
            status = try await admin.backupStatus()
        }
        if let backup = status.backup, status.state == .done { return backup }
        throw CommandFailure(
            interruption.isAsked ? .interrupted : .failure, status.problem ?? "the server knows of no backup", remedy: status.remedy)
    }
}
