import Glibc
import NacreCloudStorage
import NacreCrypto

/// Puts a backup into a data folder. A crash at any moment leaves the old data, the new data, or a folder marked as an
/// unfinished restore. A marked folder refuses to be opened.
package enum FolderRestore {
    package struct Outcome: Sendable {
        package var manifest: BackupManifest
        /// The folder that the earlier data were moved to; nil if there were none.
        package var replaced: String?
        /// The number of files of records that are lost, because their chunks are not beside the backup.
        package var lostFiles: Int
    }

    private static let marker = "nacre-restore-unfinished"
    private static let newName = "nacre-restore-new"

    /// Checks all of the backup, copies it beside the data and replaces them. Blocks.
    /// - Parameters:
    ///   - replaces: Whether existing data may be moved aside.
    ///   - withoutAssets: Whether to go on if chunks beside the backup are missing or damaged.
    /// - Throws: `BackupFile.Damage`; `StoreError` `.inUse` if a server has the folder.
    package static func restore(
        _ backup: String, to folder: String, replaces: Bool, withoutAssets: Bool = false, _ control: BackupControl
    ) throws -> Outcome {
        let manifest = try BackupFile.verify(backup, control)
        guard manifest.schemaVersion <= Migration.current else {
            throw StoreError(
                .newerVersion, "The backup was made by a newer version",
                [
                    "path": backup, "found": String(manifest.schemaVersion), "supported": String(Migration.current),
                    "remedy": "restore it with nacre \(manifest.nacre) or later",
                ])
        }
        let assets = try AssetBackup.look(backup, restoringInto: folder, control)
        if !withoutAssets { try assets.requireWhole() }
        let lock = try FolderLock(folder: folder)
        defer { lock.release() }
        let old = ["nacre.sqlite", "nacre.sqlite-wal"].filter { exists(folder + "/" + $0) }
        guard old.isEmpty && !exists(folder + "/" + marker) || replaces else {
            throw StoreError(
                .inUse, "The folder holds data already",
                ["path": folder, "remedy": "choose another folder with --data, or put what is there aside with --replace"])
        }
        let new = folder + "/" + newName
        do {
            try copy(backup, manifest, to: new, control)
            // Chunks come before the data. A restore that ends here leaves the old data, and a server later removes the
            // chunks that it does not need.
            try bring(assets, of: backup, to: folder + "/assets", control)
        } catch {
            unlink(new)
            throw error
        }
        try mark(folder)
        let aside = old.isEmpty ? nil : try putAside(old, of: folder)
        unlink(folder + "/nacre.sqlite-shm")
        try move(new, to: folder + "/nacre.sqlite")
        try FolderLock.syncFolder(folder)
        unlink(folder + "/" + marker)
        try FolderLock.syncFolder(folder)
        return Outcome(manifest: manifest, replaced: aside, lostFiles: assets.lostFiles)
    }

    private static func bring(_ look: AssetBackup.Look, of backup: String, to assets: String, _ control: BackupControl) throws {
        for path in look.replaced { try FileCall.remove(path) }
        // An equal chunk in the folder has the same name.
        try AssetBackup.share(AssetBackup.folder(besides: backup), with: assets) { control.isCancelled }
        // A damaged chunk of the right size would hide the loss of the file from a check.
        for chunk in look.lost { try FileCall.remove(AssetBackup.path(of: chunk, in: assets)) }
        // A server starts only if the folder exists: it shows that the files were not forgotten.
        if look.lostFiles > 0 { try FileCall.makeFolder(assets) }
        if control.isCancelled { throw BackupControl.cancelled }
    }

    /// - Throws: If a restore did not finish, because the folder may hold only a part of the earlier data.
    static func checkFinished(_ folder: String) throws {
        guard exists(folder + "/" + marker) else { return }
        throw StoreError(
            .unavailable, "A restore into the data folder did not finish",
            ["path": folder, "remedy": "run it again: nacre backup restore FILE --data \(folder) --replace"])
    }

    private static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// Copies the database out of a backup, and checks again that it is the verified one.
    private static func copy(_ backup: String, _ manifest: BackupManifest, to path: String, _ control: BackupControl) throws {
        let source = try FileBytes(backup)
        defer { source.close() }
        let target = try FileBytes.create(path)
        defer { target.close() }
        var whole = try SHA256.Stream()
        var place: Int64 = 0
        while place < manifest.databaseBytes {
            let chunk = try source.read(Int(min(Int64(manifest.chunkBytes), manifest.databaseBytes - place)), at: place)
            whole.update(chunk)
            try target.write(chunk, at: place)
            place += Int64(chunk.count)
            try control.reached(.copying, place, of: manifest.databaseBytes)
        }
        guard Hex.encode(try whole.finish()) == manifest.sha256 else { throw BackupFile.Damage(text: "it changed while it was read") }
        try target.sync()
    }

    private static func mark(_ folder: String) throws {
        let path = folder + "/" + marker
        let file = try exists(path) ? FileBytes(path) : FileBytes.create(path)
        defer { file.close() }
        try file.sync()
        try FolderLock.syncFolder(folder)
    }

    /// Moves the earlier data into a new folder, on which a server can be started.
    private static func putAside(_ names: [String], of folder: String) throws -> String {
        let stem = folder + "/replaced-" + UTCText.stamp(time(nil))
        var aside = stem
        var number = 1
        while mkdir(aside, 0o700) != 0 {
            guard errno == EEXIST else { throw DataFolder.systemError("A folder for the data of before could not be made", aside) }
            number += 1
            aside = "\(stem)-\(number)"
        }
        // The files of records stay, for the new data, and are linked into the new folder.
        try AssetBackup.share(folder + "/assets", with: aside + "/assets")
        for name in names { try move(folder + "/" + name, to: aside + "/" + name) }
        try FolderLock.syncFolder(aside)
        return aside
    }

    private static func move(_ path: String, to other: String) throws {
        guard rename(path, other) == 0 else { throw DataFolder.systemError("A file could not be moved", path) }
    }
}
