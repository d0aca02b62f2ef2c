import Glibc

/// Files that hold secrets: open to their owner alone, and never seen half written. Small ones; every call blocks for a moment.
package enum PrivateFile {
    /// A longer file was not written by this server. On this server: the longest we write has a few hundred bytes.
    package static let bytesMax = 64 * 1024

    /// Writes the file whole or not at all, in place of one that is there.
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

    /// The bytes of a file that only its owner can read, where the owner is this process's user, or this process runs as root. A file of another user could name another server.
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

    /// A new, empty file, open for writing; a leftover of the same name goes first.
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

    /// Makes a folder and those above it that are missing, open to their owner alone; one that is there stays as it is.
    static func makeFolder(_ folder: String) throws(PrivateFileError) {
        var path = folder.hasPrefix("/") ? "" : "."
        for part in folder.split(separator: "/") {
            path += "/" + part
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw PrivateFileError(.system(errno), path) }
        }
    }
}

/// Why a private file could not be read or written.
package struct PrivateFileError: Error, Hashable, Sendable {
    package enum Code: Hashable, Sendable {
        case missing
        /// Others can read it, or it belongs to somebody else.
        case notPrivate
        case tooLong
        /// What is in it does not read.
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
