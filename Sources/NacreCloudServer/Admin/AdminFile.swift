import FoundationEssentials
import Glibc
import NacreCrypto
import NacreLocks

/// The file `admin.json` of the data folder, by which an administrator's commands find the running server. Its secret
/// makes them administrators.
package struct AdminFile: Codable, Hashable, Sendable {
    /// URL of the admin API.
    package var url: String
    /// The URL by which apps reach the server.
    package var publicURL: String
    package var pid: Int32
    /// The token of the admin API: 64 hexadecimal digits, new at each start.
    package var token: String

    package init(url: String, publicURL: String, pid: Int32, token: String) {
        self.url = url
        self.publicURL = publicURL
        self.pid = pid
        self.token = token
    }

    package static let name = "admin.json"

    package static func newToken() throws -> String {
        Hex.encode(try SecureRandom.keyBytes(32))
    }

    /// Reads the file of the server that runs on a data folder, or that was killed there.
    package static func read(folder: String) throws(PrivateFileError) -> AdminFile {
        try read(path: path(in: folder))
    }

    /// Reads a copy of the file on an administrator's machine.
    package static func read(path: String) throws(PrivateFileError) -> AdminFile {
        let bytes = try PrivateFile.read(path)
        guard let file = AdminFile(json: bytes) else { throw PrivateFileError(.malformed, path) }
        return file
    }

    /// Decodes the file; nil if it is not an admin file.
    package init?(json: [UInt8]) {
        guard let file = try? JSONDecoder().decode(AdminFile.self, from: Data(json)) else { return nil }
        self = file
    }

    static func path(in folder: String) -> String { folder + "/" + name }

    /// Writes the file into the data folder, which is created if missing. The file of a server that is gone is
    /// replaced.
    ///
    /// A server keeps its file locked for as long as it lives, so the kernel knows whether it is gone, however it
    /// ended. A process ID alone may belong to another process by now.
    /// - Throws: `AdminFileInUse`, `PrivateFileError`.
    package func publish(in folder: String) throws -> PublishedAdminFile {
        try PrivateFile.makeFolder(folder)
        let path = Self.path(in: folder)
        let temporary = "\(path).\(getpid()).new"
        let descriptor = try PrivateFile.create(temporary)
        do {
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw PrivateFileError(.system(errno), path) }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            try PrivateFile.put([UInt8](try encoder.encode(self)) + [UInt8(ascii: "\n")], descriptor, path)
            // A link instead of a rename: it never replaces a file that another server has just published.
            while link(temporary, path) != 0 {
                guard errno == EEXIST else { throw PrivateFileError(.system(errno), path) }
                try Self.removeStale(path)
            }
        } catch {
            close(descriptor)
            unlink(temporary)
            throw error
        }
        unlink(temporary)
        return PublishedAdminFile(path: path, descriptor: descriptor)
    }

    /// Removes the file unless its server is alive.
    private static func removeStale(_ path: String) throws {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else {
            // The file was withdrawn just now.
            if errno == ENOENT { return }
            throw PrivateFileError(.system(errno), path)
        }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            guard errno == EWOULDBLOCK else { throw PrivateFileError(.system(errno), path) }
            let holder = (try? PrivateFile.contents(descriptor, path)).flatMap { AdminFile(json: $0) }
            throw AdminFileInUse(path: path, pid: holder?.pid)
        }
        // Only the holder of the lock, here this process, may replace the file. If it was not replaced before, it is
        // still the opened one.
        guard isOpen(path, as: descriptor) else { return }
        guard unlink(path) == 0 || errno == ENOENT else { throw PrivateFileError(.system(errno), path) }
    }
}

/// Whether the path still names the file that was opened.
private func isOpen(_ path: String, as descriptor: Int32) -> Bool {
    var opened = stat()
    var named = stat()
    return fstat(descriptor, &opened) == 0 && lstat(path, &named) == 0 && opened.st_ino == named.st_ino && opened.st_dev == named.st_dev
}

/// An error: another server runs on the data folder.
package struct AdminFileInUse: Error, Hashable, Sendable {
    package var path: String
    package var pid: Int32?
}

/// The admin file of this process, with its lock.
package final class PublishedAdminFile: Sendable {
    private let path: String
    private let descriptor: Locked<Int32?>

    init(path: String, descriptor: Int32) {
        self.path = path
        self.descriptor = Locked(descriptor)
    }

    deinit { withdraw() }

    /// Removes the file. Idempotent, from any thread.
    package func withdraw() {
        let open = descriptor.withLock { descriptor in
            defer { descriptor = nil }
            return descriptor
        }
        guard let open else { return }
        if isOpen(path, as: open) { unlink(path) }
        close(open)
    }
}
