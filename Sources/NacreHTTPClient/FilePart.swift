import Dispatch
import Glibc

extension HTTPClient {
    /// Bytes of a file as a request's body. They are read while they are sent, some hundred kilobytes at a time, and
    /// never on the thread of all transfers.
    package struct FilePart: Sendable {
        /// Bytes that are read at once.
        static let pieceBytes = 256 << 10

        /// The open file. It stays open as long as it is referenced, so that a file that is replaced meanwhile is sent
        /// as it was.
        private let file: OpenFile
        package let offset: Int
        package let length: Int
        /// Whether the bytes may be sent again if the first connection ended without an answer. false if the server
        /// appends them to earlier bytes.
        let isRepeatable: Bool

        /// Opens the file; blocks while the system does.
        /// - Throws: `FileError`, with `EINVAL` if it is no regular file or is too short.
        package init(path: String, offset: Int = 0, length: Int, isRepeatable: Bool = true) throws(FileError) {
            file = try OpenFile(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
            self.offset = offset
            self.length = length
            self.isRepeatable = isRepeatable
            var status = stat()
            guard fstat(file.descriptor, &status) == 0 else { throw FileError(code: errno) }
            guard status.st_mode & S_IFMT == S_IFREG, offset >= 0, length >= 0, offset <= Int(status.st_size), length <= Int(status.st_size) - offset
            else { throw FileError(code: EINVAL) }
        }

        /// Returns the piece after `sent` bytes of the part; nil at its end. Throws `FileError` with `EINVAL` if the
        /// file has become shorter.
        func piece(after sent: Int) async throws -> [UInt8]? {
            guard sent < length else { return nil }
            let count = min(Self.pieceBytes, length - sent)
            return try await FileWork.run { () throws(FileError) in try file.read(count, at: offset + sent) }
        }
    }

    package struct FileError: Error, Equatable, Sendable {
        /// The system's `errno`.
        package var code: Int32
    }
}

/// A file descriptor that is closed with its last reference.
final class OpenFile: Sendable {
    let descriptor: Int32

    init(_ path: String, _ flags: Int32, _ mode: mode_t = 0) throws(HTTPClient.FileError) {
        descriptor = open(path, flags, mode)
        guard descriptor >= 0 else { throw HTTPClient.FileError(code: errno) }
    }

    deinit { close(descriptor) }

    /// Reads exactly `count` bytes.
    func read(_ count: Int, at offset: Int) throws(HTTPClient.FileError) -> [UInt8] {
        var failure: Int32?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while initialized < count, failure == nil {
                let got = pread(descriptor, buffer.baseAddress?.advanced(by: initialized), count - initialized, off_t(offset + initialized))
                if got > 0 { initialized += got } else if got == 0 { failure = EINVAL } else if errno != EINTR { failure = errno }
            }
        }
        if let failure { throw HTTPClient.FileError(code: failure) }
        return bytes
    }

    func write(_ bytes: [UInt8], at offset: Int) throws(HTTPClient.FileError) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes {
                pwrite(descriptor, $0.baseAddress?.advanced(by: written), $0.count - written, off_t(offset + written))
            }
            if count >= 0 { written += count } else if errno != EINTR { throw HTTPClient.FileError(code: errno) }
        }
    }

    func truncate(to length: Int = 0) throws(HTTPClient.FileError) {
        guard ftruncate(descriptor, off_t(length)) == 0 else { throw HTTPClient.FileError(code: errno) }
    }
}

/// Runs file operations, which may block, on threads that serve nothing but files.
enum FileWork {
    private static let queue = DispatchQueue(label: "http files", attributes: .concurrent)

    static func run<Value: Sendable>(
        _ work: @escaping @Sendable () throws(HTTPClient.FileError) -> Value
    ) async throws(HTTPClient.FileError) -> Value {
        let result: Result<Value, HTTPClient.FileError> = await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: Result { () throws(HTTPClient.FileError) in try work() }) }
        }
        return try result.get()
    }
}
