import Glibc

/// The beginning of a file that is being fetched, under a name that the next process finds. Its bytes are in `.part`,
/// and the server's tag of this version is in `.tag`.
///
/// One download owns it at a time, by a lock that ends with its process. Bytes count only until the system restarts:
/// those of a killed process are there, but after a power cut they may be missing.
struct KeptPart: Sendable {
    /// The longest tag that is kept, in bytes.
    private static let tagBytesMax = 1024

    let path: String
    let file: OpenFile

    /// Opens the file, or creates it; blocks while the system does, but never for other downloads.
    /// - Returns: nil if another download has the file, if it cannot be opened, or if it is not this user's private
    ///   regular file.
    init?(path: String) {
        guard let file = try? OpenFile(path + ".part", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600),
            flock(file.descriptor, LOCK_EX | LOCK_NB) == 0
        else { return nil }
        self.path = path
        self.file = file
        var status = stat()
        guard isThere, fstat(file.descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o777 == 0o600,
            status.st_uid == geteuid(), status.st_nlink == 1
        else { return nil }
    }

    /// Whether the path still names the opened file. It may have been deleted, and another download begun.
    var isThere: Bool {
        var (named, opened) = (stat(), stat())
        guard lstat(path + ".part", &named) == 0, fstat(file.descriptor, &opened) == 0 else { return false }
        return named.st_ino == opened.st_ino && named.st_dev == opened.st_dev
    }

    /// Returns the bytes that a download of at most `bytesMax` bytes can continue with. They are at most `bytesMax -
    /// 1`: one byte is always requested, so that the server says whether it has this version.
    func takeUp(bytesMax: Int) throws(HTTPClient.FileError) -> (received: Int, tag: String?) {
        var status = stat()
        let tag = readTag()
        let isKept = tag != nil && fstat(file.descriptor, &status) == 0
        let received = isKept ? max(0, min(Int(status.st_size), bytesMax - 1)) : 0
        try file.truncate(to: received)
        return (received, received > 0 ? tag : nil)
    }

    /// Writes the tag of the bytes that will come. The file is empty meanwhile.
    func note(_ tag: String?) throws(HTTPClient.FileError) {
        unlink(path + ".tag")
        guard let tag, tag.utf8.count <= Self.tagBytesMax, let systemStart = Self.systemStart else { return }
        let file = try OpenFile(path + ".tag", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        try file.write(Array("\(systemStart)\n\(tag)\n".utf8), at: 0)
    }

    /// Moves the bytes to another path and removes the tag.
    func move(to place: String) throws(HTTPClient.FileError) {
        guard isThere else { throw HTTPClient.FileError(code: ENOENT) }
        unlink(path + ".tag")
        guard rename(path + ".part", place) == 0 else { throw HTTPClient.FileError(code: errno) }
    }

    func remove() {
        guard isThere else { return }
        unlink(path + ".tag")
        unlink(path + ".part")
    }

    private func readTag() -> String? {
        guard let systemStart = Self.systemStart, let text = Self.text(of: path + ".tag") else { return nil }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count == 3, lines[0] == systemStart, lines[1].hasPrefix("\""), lines[2].isEmpty else { return nil }
        return String(lines[1])
    }

    /// The id of the system's current run, from its start on.
    private static let systemStart: String? = text(of: "/proc/sys/kernel/random/boot_id")?.split(separator: "\n").first.map(String.init)

    private static func text(of path: String) -> String? {
        guard let file = try? OpenFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) else { return nil }
        let bytes = [UInt8](unsafeUninitializedCapacity: 2 * tagBytesMax) { buffer, count in
            count = max(0, read(file.descriptor, buffer.baseAddress, 2 * tagBytesMax))
        }
        return bytes.isEmpty ? nil : String(validating: bytes, as: UTF8.self)
    }
}
