import Foundation
import NacreCloudWire
import NacreHTTPClient
import NacreLocks

/// HTTP as an app on this machine would speak it. A missing answer is a result here, not an error.
package final class Web: Sendable {
    enum Reply: Sendable {
        case answer(status: Int, body: [UInt8])
        /// No answer, with a text for people; the request may have been carried out.
        case lost(String)
    }

    /// Timeout of an answer. Ours: a server that was killed may leave connections open.
    private static let timeout: Duration = .seconds(15)

    private let client: HTTPClient

    /// Makes a client.
    /// - Parameter connections: To one server at a time, at most.
    package init(connections: Int) {
        client = HTTPClient(.init(transfersPerHostMax: connections, idleConnectionsMax: connections))
    }

    /// Sends a request.
    /// - Parameters:
    ///   - body: nil sends a GET request.
    ///   - token: nil for a URL that authorizes its caller.
    ///   - age: Seconds since a repeated request was sent first.
    ///   - patience: The longest wait for the answer; the request goes on by itself. nil: the client's timeout.
    func send(_ url: URL, body: [UInt8]?, token: String?, repeatedAfter age: Double? = nil, patience: Duration?) async -> Reply {
        var headers: [HTTPClient.Header] = token.map { [.init("Authorization", "Bearer \($0)"), .init("Content-Type", "application/json")] } ?? []
        if let age, body != nil { headers.append(.init(OperationAge.header, OperationAge(seconds: age).text)) }
        let request = HTTPClient.Request(
            body == nil ? "GET" : "POST", url.absoluteString, headers: headers, body: body.map { .bytes($0) } ?? .none, idleTimeout: Self.timeout,
            totalTimeout: Self.timeout)
        guard let patience else { return await reply(to: request) }
        let outcome = Outcome()
        Task { outcome.settle(await reply(to: request)) }
        let timer = Task {
            try await Task.sleep(for: patience)
            outcome.settle(.lost("no answer in time"))
        }
        defer { timer.cancel() }
        return await withCheckedContinuation { outcome.await($0) }
    }

    /// Opens an event stream; nil where there is none now.
    func events(_ url: URL, token: String, after last: String?) async -> HTTPEvents? {
        var headers: [HTTPClient.Header] = [.init("Authorization", "Bearer \(token)")]
        if let last { headers.append(.init("Last-Event-ID", last)) }
        // A keep-alive event comes every 15 seconds.
        let request = HTTPClient.Request("GET", url.absoluteString, headers: headers, idleTimeout: Self.timeout * 3)
        guard let stream = try? await client.open(request), stream.head.status == 200 else { return nil }
        return stream
    }

    private func reply(to request: HTTPClient.Request) async -> Reply {
        do {
            let answer = try await client.send(request)
            return .answer(status: answer.status, body: answer.body)
        } catch {
            return .lost("\(error.cause)")
        }
    }
}

typealias HTTPEvents = HTTPClient.AnswerStream

/// Yields the first of an answer and the end of patience.
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

    /// Settles the outcome; a second call does nothing.
    func settle(_ reply: Web.Reply) {
        let continuation = state.withLock { state -> CheckedContinuation<Web.Reply, Never>? in
            switch state {
            case .open:
                state = .settled(reply)
                return nil
            case .awaited(let continuation):
                state = .done
                return continuation
            case .settled, .done: return nil
            }
        }
        continuation?.resume(returning: reply)
    }
}
