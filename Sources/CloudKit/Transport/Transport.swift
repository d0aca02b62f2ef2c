package import Foundation

/// Carries one request to the server and brings its answer. Knows nothing of what they say.
///
/// `NetworkTransport` goes over the network; tests put a server in its place.
package protocol Transport: Sendable {
    /// Any answer is a success, whatever its status. Cancelling the task ends the call soon, with `.cancelled`.
    func send(_ request: TransportRequest) async throws(TransportFailure) -> TransportAnswer

    /// Sends a file's first bytes as the body, without having them in memory. Else as `send`.
    ///
    /// - Parameter progress: is called with the bytes sent, on any thread, and returns at once.
    func upload(
        _ request: TransportRequest, from path: String, length: Int, progress: @escaping @Sendable (Int) -> Void
    ) async throws(TransportFailure) -> TransportAnswer

    /// Whether `send(_:bytes:of:progress:)` sends a part of a file.
    var sendsParts: Bool { get }

    /// Sends a part of a file as the body. Else as `upload`.
    func send(
        _ request: TransportRequest, bytes: Range<Int>, of path: String, progress: @escaping @Sendable (Int) -> Void
    ) async throws(TransportFailure) -> TransportAnswer

    /// Makes a file that will come from the server. Who lets go of an unfinished one leaves nothing behind.
    ///
    /// - Parameter bytesMax: what comes beyond fails the attempt.
    func download(to path: String, bytesMax: Int) async throws(TransportFailure) -> any TransportDownload

    /// The same for a file whose bytes the next process goes on with where this one is killed, on a transport that can.
    ///
    /// - Parameter keptAs: the path, without an ending, under which the bytes are meanwhile.
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

/// A file that comes over one or several answers.
package protocol TransportDownload: Sendable {
    /// Bytes that are there.
    var received: Int { get }

    /// Fetches what lacks. An attempt that failed can be made again, and goes on where it can.
    ///
    /// - Returns: status 200 or 206 when all bytes of the answer are there; any other with its body, and nothing has changed.
    /// - Parameter progress: is called with the bytes that are there, on any thread, and returns at once.
    func attempt(_ request: TransportRequest, progress: @escaping @Sendable (Int) -> Void) async throws(TransportFailure) -> TransportAnswer

    /// Gives the file its name.
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
    /// Seconds without any data after which the attempt is given up.
    package var timeout: Double
    /// Seconds after which it is given up in any case; nil: no limit.
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
    /// Names in lower case.
    package var headers: [String: String]
    package var body: [UInt8]

    package init(status: Int, headers: [String: String] = [:], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// Why there is no answer.
package enum TransportFailure: Error, Sendable {
    /// Nothing of the request reached the server.
    case notSent(NSError)
    /// The request, or a part of it, may have reached the server, and what it did with it is not known.
    case answerLost(NSError)
    /// A file of this machine cannot be read or written: an error of `NSPOSIXErrorDomain`.
    case fileFailed(NSError)
    case cancelled
}
