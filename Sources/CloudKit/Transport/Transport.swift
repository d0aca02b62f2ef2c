package import Foundation

/// Carries one request to the server and returns its answer, without knowing their content.
///
/// `NetworkTransport` goes over the network; tests replace it with a server.
package protocol Transport: Sendable {
    /// Sends a request. Any answer is a success, whatever its status. Cancelling the task ends the call soon, with
    /// `.cancelled`.
    func send(_ request: TransportRequest) async throws(TransportFailure) -> TransportAnswer

    /// Sends the first bytes of a file as the body, without loading them into memory. Otherwise the same as `send`.
    ///
    /// - Parameter progress: called with the number of bytes sent, on any thread; it must return at once.
    func upload(
        _ request: TransportRequest, from path: String, length: Int, progress: @escaping @Sendable (Int) -> Void
    ) async throws(TransportFailure) -> TransportAnswer

    /// Whether `send(_:bytes:of:progress:)` can send a part of a file.
    var sendsParts: Bool { get }

    /// Sends a part of a file as the body. Otherwise the same as `upload`.
    func send(
        _ request: TransportRequest, bytes: Range<Int>, of path: String, progress: @escaping @Sendable (Int) -> Void
    ) async throws(TransportFailure) -> TransportAnswer

    /// Makes a file to download into. An unfinished download leaves nothing behind when it is released.
    ///
    /// - Parameter bytesMax: the most bytes; an attempt that brings more fails.
    func download(to path: String, bytesMax: Int) async throws(TransportFailure) -> any TransportDownload

    /// Makes a file whose download another process can continue if this one is killed, on a transport that supports it.
    ///
    /// - Parameter keptAs: the path, without an ending, of the bytes until the file is finished.
    func download(to path: String, keptAs: String?, bytesMax: Int) async throws(TransportFailure) -> any TransportDownload
}

extension Transport {
    package func download(to path: String, keptAs: String?, bytesMax: Int) async throws(TransportFailure) -> any TransportDownload {
        try await download(to: path, bytesMax: bytesMax)
    }

    package var sendsParts: Bool { false }

    package func send(
        _ request: TransportRequest, bytes: Range<Int>, of path: String, progress: @escaping @Sendable (Int) -> Void
    ) async throws(TransportFailure) -> TransportAnswer {
        throw .fileFailed(NSError(domain: NSPOSIXErrorDomain, code: Int(POSIXErrorCode.EOPNOTSUPP.rawValue), userInfo: [:]))
    }
}

/// A file that is downloaded in one or several answers.
package protocol TransportDownload: Sendable {
    /// The number of bytes received so far.
    var received: Int { get }

    /// Fetches the missing bytes. A failed attempt can be repeated, and continues if possible.
    ///
    /// - Returns: status 200 or 206 when all bytes of the answer are there; any other status with its body, and the
    ///   file unchanged.
    /// - Parameter progress: called with the number of bytes that are there, on any thread; it must return at once.
    func attempt(_ request: TransportRequest, progress: @escaping @Sendable (Int) -> Void) async throws(TransportFailure) -> TransportAnswer

    /// Moves the file to its path.
    func finish() async throws(TransportFailure)
}

package struct TransportRequest: Equatable, Sendable {
    package enum Method: String, Equatable, Sendable {
        case get = "GET"
        case post = "POST"
        case patch = "PATCH"
        case head = "HEAD"
    }

    package var method: Method
    package var url: URL
    package var headers: [String: String]
    package var body: [UInt8]
    /// Seconds without any data after which the attempt fails.
    package var timeout: Double
    /// Seconds after which the attempt fails in any case; nil for no limit.
    package var totalTimeout: Double?

    package init(method: Method, url: URL, headers: [String: String], body: [UInt8], timeout: Double, totalTimeout: Double? = nil) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.totalTimeout = totalTimeout
    }

    mutating func limit(by attempt: Conversation.Attempt) {
        timeout = attempt.timeout
        totalTimeout = attempt.totalTimeout
    }
}

package struct TransportAnswer: Equatable, Sendable {
    package var status: Int
    /// The headers, with names in lower case.
    package var headers: [String: String]
    package var body: [UInt8]

    package init(status: Int, headers: [String: String] = [:], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The seconds of `Retry-After`, from 0 to a day; nil without a number. A proxy may send any text.
    var retryAfter: Double? {
        guard let seconds = headers["retry-after"].flatMap(Double.init), seconds.isFinite else { return nil }
        return min(max(seconds, 0), 86_400)
    }
}

/// The reason why there is no answer.
package enum TransportFailure: Error, Sendable {
    /// Nothing of the request reached the server.
    case notSent(NSError)
    /// The request, or a part of it, may have reached the server. The result is not known.
    case answerLost(NSError)
    /// A local file cannot be read or written: an error of `NSPOSIXErrorDomain`.
    case fileFailed(NSError)
    case cancelled
}
