import Glibc
package import NacreCloudContainer

/// Chunks beside backups: a folder `assets` next to them holds each chunk once, however many backups need it.
package enum AssetBackup {
    /// Where the chunks of a backup stand.
    package static func folder(besides backup: String) -> String {
        let end = backup.lastIndex(of: "/")
        return (end.map { String(backup[..<$0]) } ?? ".") + "/assets"
    }

    /// Gives each chunk of one folder a place in another, where it is not there. On one disk that takes no room. What is there already stays as it is.
    /// Blocks as long as the disk takes.
    /// - Parameter isCancelled: asked before each of up to 256 parts.
    /// - Returns: how many came.
    @discardableResult
    package static func share(_ source: String, with target: String, isCancelled: () -> Bool = { false }) throws(StoreError) -> Int {
        let parts = try FileCall.names(in: source).filter { $0.utf8.count == 2 }
        guard !parts.isEmpty else { return 0 }
        try FileCall.makeFolder(target)
        var count = 0
        for part in parts {
            if isCancelled() { throw BackupControl.cancelled }
            let (from, to) = ("\(source)/\(part)", "\(target)/\(part)")
            try FileCall.makeFolder(to)
            let there = Set(try FileCall.names(in: to))
            // A chunk that was collected meanwhile is in no backup.
            let new = try FileCall.names(in: from).filter { $0.utf8.count == 64 && !there.contains($0) }
            for name in new { try FileCall.share("\(from)/\(name)", as: "\(to)/\(name)") }
            if !new.isEmpty { try FileCall.sync(folder: to) }
            count += new.count
        }
        try FileCall.sync(folder: target)
        return count
    }

    /// The same, off the thread that asks.
    package static func sharing(_ source: String, with target: String, _ control: BackupControl) async throws {
        let threads = try FileThreads(count: 1)
        do {
            try await threads.run { _ = try share(source, with: target) { control.isCancelled } }
        } catch {
            await threads.close()
            throw error
        }
        await threads.close()
    }
}
