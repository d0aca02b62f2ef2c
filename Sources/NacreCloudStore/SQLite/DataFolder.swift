import Glibc
import NacreCloudStorage

/// Protects a data folder from other users. A user who can read it has every record and every key, and one who can
/// write it can replace them.
package enum DataFolder {
    /// The paths that were open to other users.
    package struct Findings: Hashable, Sendable {
        /// Paths that are now private.
        package var mended: [String] = []
        /// Paths that stay open, because the disk is read-only.
        package var left: [String] = []

        package init() {}
    }

    /// The names of a server's files. A link or folder of one of these names is refused.
    private static let names: Set = [
        "nacre.sqlite", "nacre.sqlite-wal", "nacre.sqlite-shm", "nacre.sqlite-run", "nacre.lock", "admin.json", TelemetryFile.name,
        TelemetryFile.name + "-journal",
    ]

    /// Removes all rights of other users to the existing folder, and to our files in it.
    /// - Throws: `StoreError` with the path. `remedy` has the command for faults that only the operator can mend: an
    ///   owner, a link, the folder above.
    package static func makePrivate(_ folder: String) throws -> Findings {
        var findings = Findings()
        var status = stat()
        guard stat(folder, &status) == 0 else { throw systemError("The data folder could not be looked at", folder) }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw StoreError(.unavailable, "The data folder is not a folder", ["path": folder, "remedy": "choose another with --data"])
        }
        try checkParent(of: folder)
        try mend(folder, status, to: 0o700, &findings)
        for name in try contents(folder) where names.contains(name) || name.hasPrefix("nacre-") {
            let path = folder + "/" + name
            // A server that ends removes its files.
            guard lstat(path, &status) == 0 else { continue }
            switch status.st_mode & S_IFMT {
            case S_IFREG: try mend(path, status, to: 0o600, &findings)
            case _ where names.contains(name):
                throw StoreError(
                    .unavailable, "A file of the data folder is no file of its own",
                    [
                        "path": path,
                        "remedy": "put the file itself there, in place of the link: cp --remove-destination \"$(readlink -f \(path))\" \(path)",
                    ])
            default: continue
            }
        }
        return findings
    }

    private static func mend(_ path: String, _ status: stat, to mode: mode_t, _ findings: inout Findings) throws {
        guard status.st_uid == geteuid() else {
            throw StoreError(
                .unavailable, "The data belong to another user",
                ["path": path, "owner": String(status.st_uid), "remedy": "chown -R \(geteuid()) \(path), or start the server as their owner"])
        }
        guard status.st_mode & 0o077 != 0 else { return }
        if chmod(path, mode) == 0 {
            findings.mended.append(path)
        } else if errno == EROFS {
            findings.left.append(path)
        } else {
            throw systemError("A path is open to others and could not be closed", path, remedy: "chmod \(String(mode, radix: 8)) \(path)")
        }
    }

    /// Refuses a folder whose parent other users may write, because they could replace the folder. A sticky parent like
    /// /tmp prevents that.
    private static func checkParent(of folder: String) throws {
        guard let real = realpath(folder, nil) else { throw systemError("The data folder could not be looked at", folder) }
        defer { free(real) }
        let path = String(cString: real)
        let parent = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
        var status = stat()
        guard !parent.isEmpty, stat(parent, &status) == 0, status.st_mode & S_ISVTX == 0 else { return }
        // On most systems this user is the only member of the process's group.
        let isOpen = status.st_mode & S_IWOTH != 0 || (status.st_mode & S_IWGRP != 0 && status.st_gid != getegid() && status.st_gid != 0)
        guard isOpen else { return }
        throw StoreError(
            .unavailable, "Others can write the folder above the data folder, and so put another in its place",
            ["path": parent, "remedy": "chmod go-w \(parent), or choose another folder with --data"])
    }

    static func contents(_ folder: String) throws -> [String] {
        guard let directory = opendir(folder) else { throw systemError("The data folder could not be read", folder) }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            names.append(withUnsafePointer(to: &entry.pointee.d_name) { $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) } })
        }
        return names.sorted()
    }

    /// Returns an error with the system's code and text.
    static func systemError(_ text: String, _ path: String, _ code: Int32 = errno, remedy: String? = nil) -> StoreError {
        var values = ["path": path, "errno": String(code), "reason": String(cString: strerror(code))]
        values["remedy"] = remedy
        switch code {
        case ENOSPC, EDQUOT: return StoreError(.full, text, values)
        case EROFS, EACCES, EPERM: return StoreError(.readOnly, text, values)
        default: return StoreError(.unavailable, text, values)
        }
    }
}
