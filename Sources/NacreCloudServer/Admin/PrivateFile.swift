import Glibc

/// Small files that hold secrets: readable by their owner alone, and never seen half written. Every call blocks for a
/// moment.
package enum PrivateFile {
    /// Bytes of the longest file; this server writes none that is longer. On this server: the longest has a few hundred
    /// bytes.
    package static let bytesMax = 64 * 1024

    /// Writes the file whole or not at all, and replaces an existing one.
    package static func write(_ bytes: [UInt8], to path: String) throws(PrivateFileError) {
        let temporary = "\(path).\(getpid()).new"
        let descriptor = try create(temporary)
        defer { close(descriptor) }
        do throws(PrivateFileError) {
            try put(bytes, descriptor, path)
            guard fsync(descriptor) == 0, rename(temporary, path) == 0 else { throw PrivateFileError(.system(errno), path) }
        } catch {
            unlink(temporary)
            throw error
        }
    }

    /// The bytes of a file that only its owner can read. The owner has to be this process's user, unless the process
    /// runs as root: a file of another user could name another server.
    package static func read(_ path: String) throws(PrivateFileError) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw PrivateFileError(errno == ENOENT ? .missing : .system(errno), path) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw PrivateFileError(.system(errno), path) }
        let user = geteuid()
        guard status.st_mode & 0o077 == 0, status.st_uid == user || user == 0 else { throw PrivateFileError(.notPrivate, path) }
        return try contents(descriptor, path)
    }

    /// Creates an empty file and opens it for writing; a leftover of the same name is removed first.
    static func create(_ path: String) throws(PrivateFileError) -> Int32 {
        unlink(path)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw PrivateFileError(.system(errno), path) }
        return descriptor
    }

    static func put(_ bytes: [UInt8], _ descriptor: Int32, _ path: String) throws(PrivateFileError) {
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count >= 0 || errno == EINTR else { throw PrivateFileError(.system(errno), path) }
            done += max(count, 0)
        }
    }

    static func contents(_ descriptor: Int32, _ path: String) throws(PrivateFileError) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            guard count >= 0 || errno == EINTR else { throw PrivateFileError(.system(errno), path) }
            if count == 0 { return bytes }
            bytes += buffer.prefix(max(count, 0))
            guard bytes.count <= bytesMax else { throw PrivateFileError(.tooLong, path) }
        }
    }

    /// Creates a folder and its missing parents for their owner alone; existing folders stay as they are.
    static func makeFolder(_ folder: String) throws(PrivateFileError) {
        var path = folder.hasPrefix("/") ? "" : "."
        for part in folder.split(separator: "/") {
            path += "/" + part
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw PrivateFileError(.system(errno), path) }
        }
    }
}

/// The reason why a private file could not be read or written.
package struct PrivateFileError: Error, Hashable, Sendable {
    package enum Code: Hashable, Sendable {
        case missing
        /// Other users can read the file, or it belongs to another user.
        case notPrivate
        case tooLong
        /// The content cannot be decoded.
        case malformed
        /// The `errno` of the call that failed.
        case system(Int32)
    }

    package var code: Code
    package var path: String

    package init(_ code: Code, _ path: String) {
        self.code = code
        self.path = path
    }

    package var text: String {
        switch code {
        case .missing: "The file does not exist"
        case .notPrivate: "The file must belong to you and be open to nobody else"
        case .tooLong: "The file is too long"
        case .malformed: "The file does not hold what it should"
        case .system(let code): String(cString: strerror(code))
        }
    }
}
