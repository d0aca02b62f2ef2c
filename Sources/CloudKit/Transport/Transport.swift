package import Foundation

/// Carries one request to the server and brings its answer. Knows nothing of what they say.
///
/// `NetworkTransport` goes over the network; tests put a server in its place.
package protocol Transport: Sendable {
    /// Any answer is a success, whatever its status. Cancelling the task ends the call soon, with `.cancelled`.
    func send(_ request: TransportRequest) async throws(TransportFailure) -> TransportAnswer
}

package struct TransportRequest: Equatable, Sendable {
    package enum Method: String, Equatable, Sendable {
        case get = "GET"
        case post = "POST"
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
    case cancelled
}
