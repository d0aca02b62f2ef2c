import Foundation
import NacreLocks

#if canImport(NacreCrypto)
    package import NacreCrypto
#endif

/// The keys of this device: a file for each account in `$XDG_DATA_HOME/nacre/keys`, otherwise under `~/.local/share`.
/// Only this user can read the folder and the files.
///
/// Several processes may use one folder. A file is changed under the lock of another file, and replaced as a whole, so
/// that a reader, and the next process after a crash, finds the old or the new one.
package final class KeyStore: Sendable {
    /// The most bytes of a file: `KeptKeys.scopesMax` zones of the user's own and of others, and what goes with them.
    static let fileBytesMax = 16 << 20
    /// Milliseconds for which a process waits for the lock. Others hold it while they write one file.
    static let lockWaitMax = 10_000

    package static let ambient = KeyStore(environment: ProcessInfo.processInfo.environment)

    /// The folder; nil if keys are in memory alone.
    package let folder: String?
    private let memory = Locked<[String: [UInt8]]>([:])
    /// The names of the locks that are held while keys are in memory alone.
    private let locks = Locked<Set<String>>([])
    #if canImport(NacreCrypto)
        private let archive = Locked<SecretBytes?>(nil)
    #endif

    /// - Parameter folder: nil keeps the keys in memory, for containers that reach their server by no network.
    package init(folder: String?) {
        self.folder = folder
    }

    /// Uses the folder under `XDG_DATA_HOME`, which must be absolute to count, otherwise under `~/.local/share`.
    package convenience init(environment variables: [String: String]) {
        let data = variables["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        self.init(folder: (data ?? (variables["HOME"] ?? NSHomeDirectory()) + "/.local/share") + "/nacre/keys")
    }

    /// Reads a file on a thread that may block.
    /// - Parameter use: takes the file's bytes; nil if there is none.
    func read<Value: Sendable>(
        _ name: String, _ use: @escaping @Sendable ([UInt8]?) throws(CKError) -> Value
    ) async throws(CKError) -> Value {
        try await FileWork.run { [self] () throws(CKError) in try use(bytes(of: name)) }
    }

    /// Changes a file on a thread that may block, while no other process and no other thread does. The file is on the
    /// disk when the function returns, and as before if it throws.
    /// - Parameter change: takes the file's bytes, nil if there is none, and returns the new ones, nil to leave it.
    func update<Value: Sendable>(
        _ name: String, _ change: @escaping @Sendable ([UInt8]?) throws(CKError) -> (bytes: [UInt8]?, value: Value)
    ) async throws(CKError) -> Value {
        try await FileWork.run { [self] () throws(CKError) in try changed(name, change) }
    }

    /// Takes a lock that one process of the device has at a time, without waiting. It ends with the process.
    /// - Returns: a function that gives the lock back; nil if it is held.
    func lockIfFree(_ name: String) async throws(CKError) -> (@Sendable () -> Void)? {
        guard let folder else {
            guard locks.withLock({ $0.insert(name).inserted }) else { return nil }
            return { [self] in _ = locks.withLock { $0.remove(name) } }
        }
        return try await FileWork.run { [self] () throws(CKError) -> (@Sendable () -> Void)? in
            try prepare(folder)
            let path = path(of: name)
            let file = try opened(path) { () throws(CKError) in try KeptFile(making: path, mayBeThere: true) }
            guard file.lock() else { return nil }
            return { file.unlock() }
        }
    }

    /// Does what `update` does, on the caller's thread.
    private func changed<Value: Sendable>(
        _ name: String, _ change: @Sendable ([UInt8]?) throws(CKError) -> (bytes: [UInt8]?, value: Value)
    ) throws(CKError) -> Value {
        guard let folder else {
            let result: Result<Value, CKError> = memory.withLock { files in
                Result { () throws(CKError) in
                    let (bytes, value) = try change(files[name])
                    if let bytes { files[name] = bytes }
                    return value
                }
            }
            return try result.get()
        }
        let lock = try locked("\(name).lock", in: folder)
        defer { lock.unlock() }
        let (after, value) = try change(bytes(of: name))
        if let after { try replace(path(of: name), in: folder, with: after) }
        return value
    }

    // MARK: Files

    /// Returns the path of a file, for errors too.
    func path(of name: String) -> String { folder.map { "\($0)/\(name)" } ?? name }

    private func bytes(of name: String) throws(CKError) -> [UInt8]? {
        guard folder != nil else { return memory.withLock { $0[name] } }
        let path = path(of: name)
        var status = stat()
        guard lstat(path, &status) == 0 else {
            if errno == ENOENT { return nil }
            throw .keysNotKept(errno, at: path)
        }
        let file = try opened(path) { () throws(CKError) in try KeptFile(path) }
        guard fstat(file.descriptor, &status) == 0 else { throw .keysNotKept(errno, at: path) }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 == 0, status.st_uid == geteuid() else { throw .keysAreOpen(at: path) }
        let size = Int(status.st_size)
        guard size <= Self.fileBytesMax else { throw .keysUnreadable(at: path) }
        return file.bytes(size, at: 0)
    }

    private func locked(_ name: String, in folder: String) throws(CKError) -> KeptFile {
        try prepare(folder)
        let path = path(of: name)
        let file = try opened(path) { () throws(CKError) in try KeptFile(making: path, mayBeThere: true) }
        let pause = 10
        var waited = 0
        while !file.lock() {
            guard waited < Self.lockWaitMax else { throw .keysNotKept(EWOULDBLOCK, at: path) }
            _ = poll(nil, 0, Int32(pause))
            waited += pause
        }
        return file
    }

    private func prepare(_ folder: String) throws(CKError) {
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw .keysNotKept(error as NSError, at: folder)
        }
        guard chmod(folder, 0o700) == 0 else { throw .keysNotKept(errno, at: folder) }
    }

    /// Replaces a file. The caller has the lock, so that no other process writes the draft.
    private func replace(_ path: String, in folder: String, with bytes: [UInt8]) throws(CKError) {
        guard bytes.count <= Self.fileBytesMax else { throw .keysNotKept(EFBIG, at: path) }
        let draft = path + ".new"
        try opened(path) { () throws(CKError) in
            // A killed process may have left a draft.
            unlink(draft)
            let file = try KeptFile(making: draft)
            try file.write(bytes, at: 0)
            try file.sync()
            guard rename(draft, path) == 0 else { throw .stateNotKept(errno) }
            try KeptFile.sync(folder: folder)
        }
    }

    /// Runs file work, and names the file in its error.
    private func opened<Value>(_ path: String, _ work: () throws(CKError) -> Value) throws(CKError) -> Value {
        do throws(CKError) {
            return try work()
        } catch {
            throw .keysNotKept(error.userInfo[NSUnderlyingErrorKey] as? NSError, at: path)
        }
    }

    #if canImport(NacreCrypto)
        /// Returns the key of 32 bytes under which this device seals encrypted values in records' archives, and makes
        /// it at the first call. Archives are opened again by this device's user alone, whichever account they are of.
        ///
        /// The first call of a process reads a file, and blocks the thread. Later ones do not.
        package func archiveKey() throws(CKError) -> SecretBytes {
            if let key = archive.withLock({ $0 }) { return key }
            let name = "archives"
            let key = try changed(name) { [self] bytes throws(CKError) -> (bytes: [UInt8]?, value: SecretBytes) in
                if let bytes {
                    guard bytes.count == 32 else { throw .keysUnreadable(at: path(of: name)) }
                    return (nil, SecretBytes(bytes))
                }
                guard let made = try? SecureRandom.secret(32) else { throw .noRandomness }
                return (made.exposed, made)
            }
            archive.withLock { $0 = key }
            return key
        }
    #endif
}
