import Foundation
import FoundationNetworking

/// One device that uses CloudKit Web Services directly.
struct WebServicesClient: Sendable {
    struct Answer: Sendable {
        var status: Int
        var body: Data

        /// Decodes the body.
        /// - Throws: `RawError` for an error of the whole request.
        func read<Message: Decodable>(_ type: Message.Type = Message.self) throws -> Message {
            guard status == 200 else { throw try JSONDecoder().decode(RawError.self, from: body) }
            return try JSONDecoder().decode(type, from: body)
        }
    }

    /// `http://HOST:PORT`
    var server: String
    var container: String
    /// An account token.
    var token: String
    private let session: URLSession

    /// Whether a connection serves more than one request. When a reused connection dies under a request with a body,
    /// URLSession on Linux does not fail: it waits for its timeout. Clients of a server that is often killed use a
    /// new one for each.
    private let keepsConnections: Bool

    init(server: String, container: String, token: String, keepsConnections: Bool = true) {
        self.server = server
        self.container = container
        self.token = token
        self.keepsConnections = keepsConnections
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 60
        session = URLSession(configuration: configuration)
    }

    /// Encodes a request; a retry sends the same bytes.
    static func bytes(_ message: some Encodable) throws -> Data {
        try JSONEncoder().encode(message)
    }

    /// Sends a request.
    /// - Throws: The network's error.
    func post(_ path: String, _ body: Data) async throws -> Answer {
        var request = URLRequest(url: try Self.url("\(server)/database/1/\(container)/development/private/\(path)"))
        request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        if !keepsConnections { request.setValue("close", forHTTPHeaderField: "Connection") }
        return try await Self.send(request, body, over: session)
    }

    func post<Message: Decodable>(_ path: String, _ message: some Encodable, as type: Message.Type = Message.self) async throws -> Message {
        try await post(path, try Self.bytes(message)).read(type)
    }

    static func url(_ text: String) throws -> URL {
        guard let url = URL(string: text) else { throw URLError(.badURL) }
        return url
    }

    static func send(_ request: URLRequest, _ body: Data?, over session: URLSession) async throws -> Answer {
        var request = request
        if let body {
            request.httpMethod = "POST"
            request.httpBody = body
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        let (data, response) = try await session.answer(to: request)
        return Answer(status: response?.statusCode ?? 0, body: data)
    }
}

extension URLSession {
    /// Sends a request, shielded from cancellation: URLSession on Linux stops the process if a task is cancelled at
    /// the moment of its failure.
    /// - Throws: The network's error.
    func answer(to request: URLRequest) async throws -> (body: Data, response: HTTPURLResponse?) {
        let (body, response) = try await Task { try await data(for: request) }.value
        return (body, response as? HTTPURLResponse)
    }
}
