import Foundation
import FoundationNetworking
import Locks

/// HTTP through URLSession, as an app on this machine would speak it. An answer that does not come is a result here, not an error.
package final class Web: Sendable {
    enum Reply: Sendable {
        case answer(status: Int, body: [UInt8])
        /// Why there is none, in a word for people; the request may have been carried out.
        case lost(String)
    }

    /// Seconds for an answer. Ours: a server that was killed does not hang up on everybody.
    private static let timeoutSeconds: Double = 15

    private let connections: Int
    /// Replaced when it no longer answers at all: URLSession on Linux can lose track of its connections when a server dies.
    private let session: Locked<URLSession>

    /// - Parameter connections: to one server at a time.
    package init(connections: Int) {
        self.connections = connections
        session = Locked(Self.session(connections))
    }

    package func close() {
        session.withLock { $0 }.finishTasksAndInvalidate()
    }

    private static func session(_ connections: Int) -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = connections
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        return URLSession(configuration: configuration)
    }

    /// - Parameters:
    ///   - body: nil asks with GET.
    ///   - patience: after which the answer is not waited for any more; nil waits as long as a client does. The request goes on by itself.
    func send(_ url: URL, body: [UInt8]?, token: String, patience: Duration?) async -> Reply {
        var request = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: Self.timeoutSeconds)
        request.httpMethod = body == nil ? "GET" : "POST"
        request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = body.map { Data($0) }
        let session = session.withLock { $0 }
        let outcome = Outcome()
        let task = session.dataTask(with: request) { data, response, error in outcome.settle(Self.reply(data, response, error)) }
        task.delegate = NoRedirects()
        let timer = Task {
            try await Task.sleep(for: patience ?? .seconds(Self.timeoutSeconds))
            if outcome.settle(.lost("no answer in time")), patience == nil { self.replace(session) }
        }
        defer { timer.cancel() }
        return await withCheckedContinuation { continuation in
            outcome.await(continuation)
            task.resume()
        }
    }

    private func replace(_ session: URLSession) {
        self.session.withLock { [connections] current in
            if current === session { current = Self.session(connections) }
        }
    }

    private static func reply(_ data: Data?, _ response: URLResponse?, _ error: (any Error)?) -> Reply {
        // Without the URL, which the whole error repeats.
        if let error { return .lost((error as NSError).localizedDescription) }
        guard let response = response as? HTTPURLResponse else { return .lost("what answers does not speak HTTP") }
        return .answer(status: response.statusCode, body: [UInt8](data ?? Data()))
    }
}

/// The first of an answer and the end of patience.
private final class Outcome: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Web.Reply, Never>)
        case settled(Web.Reply)
        case done
    }

    private let state = Locked(State.open)

    func await(_ continuation: CheckedContinuation<Web.Reply, Never>) {
        let early = state.withLock { state -> Web.Reply? in
            if case .settled(let reply) = state {
                state = .done
                return reply
            }
            state = .awaited(continuation)
            return nil
        }
        if let early { continuation.resume(returning: early) }
    }

    /// - Returns: whether this was the first.
    @discardableResult
    func settle(_ reply: Web.Reply) -> Bool {
        let (isFirst, continuation) = state.withLock { state -> (Bool, CheckedContinuation<Web.Reply, Never>?) in
            switch state {
            case .open:
                state = .settled(reply)
                return (true, nil)
            case .awaited(let continuation):
                state = .done
                return (true, continuation)
            case .settled, .done: return (false, nil)
            }
        }
        continuation?.resume(returning: reply)
        return isFirst
    }
}

/// The API redirects nobody, and a request carries a token that is for one server.
private final class NoRedirects: NSObject, URLSessionTaskDelegate, Sendable {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}
