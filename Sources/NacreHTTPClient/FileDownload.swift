import Glibc
import NacreLocks

extension HTTPClient {
    /// A file that comes over one or several answers, and has its name when it is whole.
    ///
    /// Until then its bytes are in a file of their own, `.part` at its end, for this user alone. One task uses a download at a time. Who lets go
    /// of one that was not finished removes that file. What a process leaves that was killed is gone on with where it has a name to be found by.
    package final class FileDownload: Sendable {
        private struct State {
            var received = 0
            /// What the server calls this version of the bytes, where it promises that they are the same to the last one (RFC 9110, section 8.8.1).
            var tag: String?
            var isFinished = false
        }

        package let path: String
        /// More bytes than these end the transfer, before they are written.
        package let bytesMax: Int
        private let file: OpenFile
        private let kept: KeptPart?
        private let state: Locked<State>

        /// Makes the file; blocks while the system does.
        /// - Parameter keptAs: under which path, without its ending, the bytes are until the file is whole, and are looked for. Where another
        ///   download has them, and without such a path, they are beside `path`.
        /// - Throws: `EEXIST` where another download to the same name is under way.
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

        /// Bytes that are there.
        package var received: Int { state.withLock { $0.received } }

        /// Gives the file its name, which replaces what had it. The caller knows that it is whole.
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

        /// What asks for the rest; empty where nothing is there, or nothing that can be gone on with.
        fileprivate var rangeHeaders: [Header] {
            state.withLock { state in
                guard state.received > 0, let tag = state.tag else { return [] }
                return [Header("Range", "bytes=\(state.received)-"), Header("If-Range", tag)]
            }
        }

        /// An answer with the file's bytes begins: from the first one, or where the last one ended.
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

    /// The most bytes of an answer that refuses a file. Ours: an error's text.
    private static let refusalBytesMax = 64 << 10

    /// Fetches a file's bytes, or those that a download lacks. A call that failed can be made again, and goes on where the server lets it: where it
    /// said by a strong tag which version it sent. Any other version starts anew.
    ///
    /// Some hundred kilobytes are in memory at a time.
    ///
    /// - Parameter request: its ranges and its compression are set here.
    /// - Returns: status 200 or 206 without a body: the download has all bytes of this answer. Any other status with its body: the download is as it was.
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
            // What is there is more than the server has.
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

/// RFC 9110, section 14.4: `bytes 5-9/10`.
struct ContentRange: Equatable, Sendable {
    var first: Int
    var last: Int
    /// nil: the server does not know.
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
