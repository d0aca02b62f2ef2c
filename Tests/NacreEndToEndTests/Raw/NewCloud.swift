import Foundation
import FoundationNetworking
import NacreCloudServer

/// An administrator's preparation for apps: a container with an API token, and users with tokens of their devices.
struct NewCloud: Sendable {
    let server: RunningServer
    let container: String
    let apiToken: String

    /// Makes the container.
    /// - Parameter container: Another test's cloud on the same server needs another name.
    init(_ server: RunningServer, container: String = "iCloud.dev.nacre.e2e") async throws {
        self.server = server
        self.container = container
        _ = try await Self.admin(server, "containers", ["name": container])
        let token = try await Self.admin(server, "tokens", ["container": container, "environment": "development", "kind": "api"])
        apiToken = try Self.member("token", of: token)
    }

    static let password = "correct horse battery"

    func addUser(_ email: String) async throws {
        _ = try await Self.admin(server, "users", ["email": email, "password": Self.password])
    }

    /// Makes an account, as anybody may where sign-up is open.
    func signUp(_ email: String) async throws {
        _ = try await Self.post("\(server.url)/account/1/sign-up", ["email": email, "password": Self.password], bearer: nil)
    }

    /// Signs a user in on another device.
    /// - Returns: An account token.
    func device(of email: String) async throws -> String {
        try Self.member("token", of: try await signIn(email, kind: "account"))
    }

    /// Signs a user in.
    /// - Returns: The answer: `token` and `userRecordName`.
    func signIn(_ email: String, kind: String) async throws -> [String: String] {
        let asked = [
            "email": email, "password": Self.password, "apiToken": apiToken, "container": container, "environment": "development", "kind": kind,
        ]
        return try await Self.post("\(server.url)/account/1/sign-in", asked, bearer: nil)
    }

    func client(_ token: String, through url: String? = nil, keepsConnections: Bool = true) -> WebServicesClient {
        WebServicesClient(server: url ?? server.url, container: container, token: token, keepsConnections: keepsConnections)
    }

    static func admin(_ server: RunningServer, _ path: String, _ message: [String: String]) async throws -> [String: String] {
        let file = try server.admin
        return try await post("\(file.url)/admin/1/\(path)", message, bearer: file.token)
    }

    private static func post(_ url: String, _ message: [String: String], bearer: String?) async throws -> [String: String] {
        var request = URLRequest(url: try WebServicesClient.url(url))
        if let bearer { request.setValue("Bearer \(bearer)", forHTTPHeaderField: "Authorization") }
        let answer = try await WebServicesClient.send(request, try WebServicesClient.bytes(message), over: .shared)
        guard (200..<300).contains(answer.status) else {
            throw UnexpectedAnswer(status: answer.status, body: String(decoding: answer.body, as: UTF8.self))
        }
        let members = try JSONSerialization.jsonObject(with: answer.body) as? [String: Any]
        return (members ?? [:]).compactMapValues { $0 as? String }
    }

    private static func member(_ name: String, of answer: [String: String]) throws -> String {
        guard let value = answer[name] else { throw UnexpectedAnswer(status: 200, body: "no \(name)") }
        return value
    }
}

struct UnexpectedAnswer: Error {
    var status: Int
    var body: String
}
