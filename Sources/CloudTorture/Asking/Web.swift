import Foundation
import FoundationNetworking

/// HTTP through URLSession, as an app on this machine would speak it. An answer that does not come is a result here, not an error.
package final class Web: Sendable {
    enum Reply: Sendable {
        case answer(status: Int, body: [UInt8])
        /// Why there is none, in a word for people; the request may have been carried out.
        case lost(String)
    }

    /// Seconds for an answer. Ours: a server that was killed does not hang up on everybody.
    private static let timeoutSeconds: Double = 15

    private let session: URLSession

    /// - Parameter connections: to one server at a time.
    package init(connections: Int) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = connections
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        session = URLSession(configuration: configuration)
    }

    package func close() {
        session.invalidateAndCancel()
    }

    /// - Parameters:
    ///   - body: nil asks with GET.
    ///   - patience: after which the request is abandoned; nil waits as long as a client does.
    func send(_ url: URL, body: [UInt8]?, token: String, patience: Duration?) async -> Reply {
        var request = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: Self.timeoutSeconds)
        request.httpMethod = body == nil ? "GET" : "POST"
        request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = body.map { Data($0) }
        guard let patience else { return await exchange(request) }
        let exchange = Task { [request] in await self.exchange(request) }
        let end = Task {
            try await Task.sleep(for: patience)
            exchange.cancel()
        }
        defer { end.cancel() }
        return await exchange.value
    }

    private func exchange(_ request: URLRequest) async -> Reply {
        do {
            let (data, response) = try await session.data(for: request, delegate: NoRedirects())
            guard let response = response as? HTTPURLResponse else { return .lost("what answers does not speak HTTP") }
            return .answer(status: response.statusCode, body: [UInt8](data))
        } catch {
            // Without the URL, which the whole error repeats.
            return .lost((error as NSError).localizedDescription)
        }
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
