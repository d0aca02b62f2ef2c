import Glibc
import NacreCloudStorage
import NacreCloudWire

/// File calls that block, with the store's errors. Never call them on a thread that serves requests.
enum FileCall {
    /// Makes a folder for this user alone. An existing folder is no error.
    static func makeFolder(_ path: String) throws(StoreError) {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw fault("mkdir", path) }
    }

    /// Returns the names in a folder, in no order; none if there is no folder.
    static func names(in path: String) throws(StoreError) -> [String] {
        guard let folder = opendir(path) else {
            if errno == ENOENT { return [] }
            throw fault("opendir", path)
        }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Returns the size of a file in bytes; nil if there is no regular file.
    static func size(_ path: String) throws(StoreError) -> Int? {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            if errno == ENOENT { return nil }
            throw fault("lstat", path)
        }
        return status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
    }

    /// Returns the bytes of a file; nil if there is no file. Of a larger file it returns `bytesMax + 1` bytes.
    static func contents(_ path: String, bytesMax: Int) throws(StoreError) -> [UInt8]? {
        guard let file = try open(path) else { return nil }
        return try contents(of: file, path, bytesMax: bytesMax)
    }

    /// Opens a file for reading; nil if there is no file.
    static func open(_ path: String) throws(StoreError) -> OpenedFile? {
        let file = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        if file >= 0 { return OpenedFile(file) }
        if errno == ENOENT { return nil }
        throw fault("open", path)
    }

    /// Returns the bytes of an open file from its start. Of a larger file it returns `bytesMax + 1` bytes.
    static func contents(of opened: OpenedFile, _ path: String, bytesMax: Int) throws(StoreError) -> [UInt8] {
        let file = opened.descriptor
        var failed = false
        let bytes = [UInt8](unsafeUninitializedCapacity: bytesMax + 1) { buffer, count in
            while count <= bytesMax {
                let got = read(file, buffer.baseAddress.map { $0 + count }, bytesMax + 1 - count)
                if got < 0, errno == EINTR { continue }
                failed = got < 0
                if got <= 0 { return }
                count += got
            }
        }
        if failed { throw fault("read", path) }
        return bytes
    }

    /// Creates a file for this user alone, and returns when it is on the disk. If the write fails, the file is removed.
    /// - Parameter isSynced: Whether to sync the file; false: the caller does it.
    static func write(_ bytes: [UInt8], to path: String, isSynced: Bool = true) throws(StoreError) {
        let file = try create(path)
        do throws(StoreError) {
            try append(bytes, bytes.indices, to: file, path)
            if isSynced, fsync(file.descriptor) != 0 { throw fault("fsync", path) }
        } catch {
            unlink(path)
            throw error
        }
    }

    /// Creates a file for this user alone, or empties an existing one, for writing.
    static func create(_ path: String) throws(StoreError) -> OpenedFile {
        let file = Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw fault("open", path) }
        return OpenedFile(file)
    }

    /// Appends a part of the bytes to a file.
    static func append(_ bytes: [UInt8], _ part: Range<Int>, to file: OpenedFile, _ path: String) throws(StoreError) {
        var rest = part
        while !rest.isEmpty {
            let got = bytes.withUnsafeBytes { Glibc.write(file.descriptor, $0.baseAddress.map { $0 + rest.lowerBound }, rest.count) }
            if got > 0 { rest = rest.dropFirst(got) } else if errno != EINTR { throw fault("write", path) }
        }
    }

    /// Makes the kernel begin to write a file to the disk, and does not wait. A later sync has less to wait for.
    static func beginSync(_ file: OpenedFile) {
        _ = syncRange?(file.descriptor, 0, 0, writeOfRange)
    }

    static func move(_ path: String, to place: String) throws(StoreError) {
        guard rename(path, place) == 0 else { throw fault("rename", place) }
    }

    /// Moves a file into a folder that may not exist yet.
    static func move(_ path: String, to place: String, in folder: String) throws(StoreError) {
        if rename(path, place) == 0 { return }
        guard errno == ENOENT else { throw fault("rename", place) }
        try makeFolder(folder)
        try move(path, to: place)
    }

    /// Links a file that never changes to a second, unused name. On another disk it is copied, through a file aside.
    /// - Returns: Whether the name exists; false if the file is gone.
    static func share(_ path: String, as place: String) throws(StoreError) -> Bool {
        if link(path, place) == 0 || errno == EEXIST { return true }
        let number = errno
        let fault = fault("link", place)
        switch number {
        case ENOENT:
            // Either the file or the folder of the new name is missing.
            guard try size(path) == nil else { throw fault }
            return false
        case EXDEV, EPERM, EMLINK, EOPNOTSUPP:
            guard let bytes = try contents(path, bytesMax: ContentCutter.mostBytes) else { return false }
            try write(bytes, to: place + ".part")
            try move(place + ".part", to: place)
            return true
        default: throw fault
        }
    }

    /// Returns a descriptor of a folder, which the caller closes.
    static func openFolder(_ path: String) throws(StoreError) -> Int32 {
        let folder = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw fault("open", path) }
        return folder
    }

    /// Returns when the names in a folder are on the disk.
    static func sync(folder path: String) throws(StoreError) {
        let folder = try openFolder(path)
        defer { close(folder) }
        guard fsync(folder) == 0 else { throw fault("fsync", path) }
    }

    /// Returns when a file is on the disk.
    static func sync(file path: String) throws(StoreError) {
        let file = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { throw fault("open", path) }
        defer { close(file) }
        guard fsync(file) == 0 else { throw fault("fsync", path) }
    }

    /// Returns when all writes to the file system of an open folder are on the disk, whichever process made them.
    /// - Throws: If any write failed since the folder was opened.
    static func syncAll(beside folder: Int32, _ path: String) throws(StoreError) {
        guard let syncfs, syncfs(folder) == 0 else { throw fault("syncfs", path) }
    }

    /// The C library has `syncfs` for GNU programs alone, and its Swift module does not show it.
    private static let syncfs: (@convention(c) @Sendable (Int32) -> Int32)? = dlsym(nil, "syncfs").map {
        unsafeBitCast($0, to: (@convention(c) @Sendable (Int32) -> Int32).self)
    }

    /// The C library's `sync_file_range`, hidden like `syncfs`.
    private static let syncRange: (@convention(c) @Sendable (Int32, Int64, Int64, UInt32) -> Int32)? = dlsym(nil, "sync_file_range").map {
        unsafeBitCast($0, to: (@convention(c) @Sendable (Int32, Int64, Int64, UInt32) -> Int32).self)
    }

    /// `SYNC_FILE_RANGE_WRITE` of <fcntl.h>, for GNU programs alone.
    private static let writeOfRange: UInt32 = 2

    /// Whether `syncAll` reports failed writes: from Linux 5.8 on.
    static let tellsOfAll: Bool = {
        guard syncfs != nil else { return false }
        var name = utsname()
        guard uname(&name) == 0 else { return false }
        let release = withUnsafeBytes(of: &name.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        let parts = release.split { !$0.isNumber }.prefix(2).compactMap { Int($0) }
        return parts.count == 2 && (parts[0] > 5 || parts[0] == 5 && parts[1] >= 8)
    }()

    /// Removes a file. A missing file is no error.
    static func remove(_ path: String) throws(StoreError) {
        guard unlink(path) == 0 || errno == ENOENT else { throw fault("unlink", path) }
    }

    private static func fault(_ call: String, _ path: String) -> StoreError {
        let number = errno
        let code: StoreError.Code =
            switch number {
            case ENOSPC, EDQUOT: .full
            case EROFS: .readOnly
            default: .unavailable
            }
        return StoreError(
            code, "A file of assets could not be used",
            ["call": call, "path": path, "reason": String(cString: strerror(number)), "code": String(number)])
    }
}

/// An open file, which is closed with the last reference.
final class OpenedFile: Sendable {
    let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// The state of the file; nil if it cannot be read.
    var state: FileState? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? FileState(status) : nil
    }
}

/// The attributes of a file that tell whether it was changed, as long as the clock moves between two changes.
struct FileState: Hashable, Sendable {
    private var device: UInt64
    private var inode: UInt64
    private var size: Int64
    private var changedSeconds: Int64
    private var changedNanoseconds: Int64

    init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        changedSeconds = Int64(status.st_ctim.tv_sec)
        changedNanoseconds = Int64(status.st_ctim.tv_nsec)
    }

    /// Returns nil if there is no file.
    init?(path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }
}
