import Glibc
import NacreLocks

extension HTTPClient {
    /// A file that comes over one or several answers, and gets its name when it is complete.
    ///
    /// Until then its bytes are in a file that ends with `.part`, for this user alone. One task uses a download at a
    /// time. A download that is released unfinished removes that file. After a killed process a download with `keptAs`
    /// can continue.
    ///
    /// ```swift
    /// let download = try HTTPClient.FileDownload(path: path, bytesMax: 1 << 30)
    /// let answer = try await client.fetch(request, into: download)
    /// if answer.status < 300 { try await download.finish() }
    /// ```
    package final class FileDownload: Sendable {
        private struct State {
            var received = 0
            /// The server's strong tag of this version of the bytes (RFC 9110, section 8.8.1); nil if the server sent
            /// none.
            var tag: String?
            var isFinished = false
        }

        package let path: String
        /// The most bytes of the file. More end the transfer before they are written.
        package let bytesMax: Int
        private let file: OpenFile
        private let kept: KeptPart?
        private let state: Locked<State>

        /// Creates or opens the `.part` file; blocks while the system does.
        /// - Parameter keptAs: The path, without its ending, that holds the bytes until the file is complete, and that
        ///   is searched for earlier ones. If it is nil, or cannot be used, for example because another download has
        ///   it, the bytes are beside `path`.
        /// - Throws: `EEXIST` if there is a `.part` file beside `path` already, for example of another download.
        package init(path: String, keptAs: String? = nil, bytesMax: Int) throws(FileError) {
            self.path = path
            self.bytesMax = bytesMax
            if let kept = keptAs.flatMap({ KeptPart(path: $0) }) {
                let (received, tag) = try kept.takeUp(bytesMax: bytesMax)
                (file, self.kept, state) = (kept.file, kept, Locked(State(received: received, tag: tag)))
            } else {
                file = try OpenFile(path + ".part", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
                (kept, state) = (nil, Locked(State()))
            }
        }

        deinit {
            guard !state.withLock({ $0.isFinished }) else { return }
            if let kept { kept.remove() } else { unlink(path + ".part") }
        }

        /// The number of bytes that are there.
        package var received: Int { state.withLock { $0.received } }

        /// Gives the file its name and replaces an earlier file of this name. The caller knows that the file is
        /// complete.
        package func finish() async throws(FileError) {
            try await FileWork.run { [self] () throws(FileError) in
                if let kept {
                    try kept.move(to: path)
                } else if rename(path + ".part", path) != 0 {
                    throw FileError(code: errno)
                }
                state.withLock { $0.isFinished = true }
            }
        }

        /// The headers that request the rest; empty if there are no bytes, or none that can be continued.
        fileprivate var rangeHeaders: [Header] {
            state.withLock { state in
                guard state.received > 0, let tag = state.tag else { return [] }
                return [Header("Range", "bytes=\(state.received)-"), Header("If-Range", tag)]
            }
        }

        /// Begins an answer with the file's bytes, either from the first byte or from the end of the received ones.
        fileprivate func begin(_ head: Head) async throws(HTTPClient.Failure) {
            let tag = head["etag"].flatMap { $0.hasPrefix("\"") ? $0 : nil }
            if head.status == 206 {
                let range = head["content-range"].flatMap(ContentRange.init)
                guard let range, range.first == received, tag == nil || tag == state.withLock({ $0.tag }) else {
                    throw HTTPClient.Failure(.badAnswer(.range), mayHaveArrived: true)
                }
                if range.complete ?? 0 > bytesMax { throw HTTPClient.Failure(.badAnswer(.bodyTooLarge), mayHaveArrived: true) }
                return
            }
            if let length = head["content-length"].flatMap({ Int($0) }), length > bytesMax {
                throw HTTPClient.Failure(.badAnswer(.bodyTooLarge), mayHaveArrived: true)
            }
            try await restart(tag)
        }

        fileprivate func restart(_ tag: String?) async throws(HTTPClient.Failure) {
            try await work { [kept] file throws(FileError) in
                try file.truncate()
                try kept?.note(tag)
            }
            state.withLock { $0 = State(tag: tag) }
        }

        fileprivate func append(_ bytes: [UInt8]) async throws(HTTPClient.Failure) {
            let offset = received
            guard bytes.count <= bytesMax - offset else { throw HTTPClient.Failure(.badAnswer(.bodyTooLarge), mayHaveArrived: true) }
            try await work { file throws(FileError) in try file.write(bytes, at: offset) }
            state.withLock { $0.received += bytes.count }
        }

        private func work(_ body: @escaping @Sendable (OpenFile) throws(FileError) -> Void) async throws(HTTPClient.Failure) {
            do throws(FileError) {
                try await FileWork.run { [file] () throws(FileError) in try body(file) }
            } catch {
                throw HTTPClient.Failure(.fileFailed, mayHaveArrived: true, underlying: error)
            }
        }
    }

    /// The most bytes of an answer that refuses a file, our choice: an error's text.
    private static let refusalBytesMax = 64 << 10

    /// Fetches a file's bytes, or those that a download lacks. After a failure the call can be repeated. It continues
    /// if the server named the version with a strong tag and still has it. Any other version starts from the first
    /// byte. Some hundred kilobytes are in memory at a time.
    /// - Parameter request: The request. Its ranges and its compression are set here.
    /// - Returns: Status 200 or 206 without a body if the download has all bytes of this answer. Any other status comes
    ///   with its body, and leaves the bytes of the download as they were.
    package func fetch(_ request: Request, into download: FileDownload) async throws(Failure) -> Answer {
        while true {
            let range = download.rangeHeaders
            var request = request
            request.headers += range
            request.takesCompression = false
            let stream = try await open(request)
            switch stream.head.status {
            case 200, 206:
                try await download.begin(stream.head)
                for try await bytes in stream { try await download.append(bytes) }
                return Answer(head: stream.head, body: [])
            // The download has at least as many bytes as the server's file: start again.
            case 416 where !range.isEmpty: try await download.restart(nil)
            default:
                var body: [UInt8] = []
                for try await bytes in stream {
                    guard bytes.count <= Self.refusalBytesMax - body.count else { break }
                    body += bytes
                }
                return Answer(head: stream.head, body: body)
            }
        }
    }
}

/// The value of `Content-Range` (RFC 9110, section 14.4), for example `bytes 5-9/10`.
struct ContentRange: Equatable, Sendable {
    var first: Int
    var last: Int
    /// The size of the whole file; nil if the server does not know it.
    var complete: Int?

    init?(_ text: String) {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
        let sizes = parts[1].split(separator: "/", omittingEmptySubsequences: false)
        guard sizes.count == 2 else { return nil }
        let ends = sizes[0].split(separator: "-", omittingEmptySubsequences: false).map { Self.number($0) }
        guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last else { return nil }
        self.first = first
        self.last = last
        if sizes[1] != "*" {
            guard let complete = Self.number(sizes[1]), last < complete else { return nil }
            self.complete = complete
        }
    }

    private static func number(_ text: Substring) -> Int? {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(text) : nil
    }
}
