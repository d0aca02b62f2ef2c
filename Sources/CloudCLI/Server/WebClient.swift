import Foundation
import FoundationNetworking

/// Sends JSON and receives it. One request at a time is all that a command needs.
struct WebClient {
    /// Seconds for an answer: a password in a full queue takes two or three.
    private static let timeoutSeconds: Double = 30

    struct Answer {
        var status: Int
        var body: Data
    }

    /// Where paths begin.
    let url: String

    /// - Throws: `CommandFailure` 69 where nobody answers.
    func send(_ method: String, _ path: String, bearer: String? = nil, body: (any Encodable)? = nil) async throws -> Answer {
        guard let address = URL(string: url + path) else { throw CommandFailure(.usage, "\(url) is no URL") }
        var request = URLRequest(url: address, timeoutInterval: Self.timeoutSeconds)
        request.httpMethod = method
        if let bearer { request.setValue("Bearer \(bearer)", forHTTPHeaderField: "Authorization") }
        if let body {
            request.httpBody = try JSONEncoder().encode(body)
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        let (data, response) = try await exchange(request)
        guard let status = (response as? HTTPURLResponse)?.statusCode else { throw CommandFailure(.unreachable, "\(url) does not speak HTTP") }
        return Answer(status: status, body: data)
    }

    private func exchange(_ request: URLRequest) async throws -> (Data, URLResponse) {
        do {
            return try await session.data(for: request)
        } catch {
            throw CommandFailure(
                .unreachable, "no server answers at \(url): \((error as NSError).localizedDescription)",
                remedy: "Start it with nacre serve, or say where it is: --data DIR, or --server URL.")
        }
    }

    private var session: URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpShouldSetCookies = false
        return URLSession(configuration: configuration, delegate: NoRedirects(), delegateQueue: nil)
    }

    /// Loopback is never reached through the proxy of the environment: it would be told tokens, and has a loopback of its own. To be called
    /// once, before there are threads.
    static func keepProxiesFromLoopback() {
        let environment = ProcessInfo.processInfo.environment
        let known = environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""
        setenv("no_proxy", (known.isEmpty ? "" : known + ",") + "localhost,127.0.0.1,::1", 1)
    }
}

/// Whoever redirects is not the server that was asked.
private final class NoRedirects: NSObject, URLSessionTaskDelegate, Sendable {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}
