import Foundation
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto

@testable import NacreCloudServer

/// A server-to-server key of a test server, with the signatures of clients.
struct Signer {
    let server: TestServer
    let key: P256.PrivateKey
    let id: String

    init(
        _ server: TestServer, container: String = TestServer.container, _ environment: DatabaseKey.Environment = .development,
        isAdministrator: Bool = false
    ) async throws {
        self.server = server
        key = try P256.PrivateKey()
        id = try await server.cloud.registry.createServerKey(
            container: container, environment: environment, name: "nightly", publicKey: try key.publicKey().pem(),
            isAdministrator: isAdministrator)
    }

    /// Makes a signed request.
    /// - Parameters:
    ///   - hashesNothing: Whether an empty body is signed as empty, and not as its digest.
    ///   - signsQuery: Whether the path is signed with its query.
    func question(
        _ path: String, _ body: String = "", query: String = "", late seconds: Double = 0, hashesNothing: Bool = false, signsQuery: Bool = true,
        database: String = "public", change: (inout Question, [UInt8]) -> Void = { _, _ in }
    ) throws -> Question {
        let target = "/database/1/\(TestServer.container)/development/\(database)/\(path)"
        let question = Question(
            method: body.isEmpty ? "GET" : "POST", target: query.isEmpty ? target : "\(target)?\(query)", body: Array(body.utf8))
        return try signed(question, as: signsQuery ? question.target : target, late: seconds, hashesNothing: hashesNothing, change: change)
    }

    /// Signs a request to any path.
    /// - Parameter path: The signed path; nil: the request's, with its query.
    func signed(
        _ question: Question, as path: String? = nil, late seconds: Double = 0, hashesNothing: Bool = false,
        change: (inout Question, [UInt8]) -> Void = { _, _ in }
    ) throws -> Question {
        let date = Date(timeIntervalSinceReferenceDate: server.clock.now.secondsSince2001 + seconds).formatted(.iso8601)
        let hash = hashesNothing ? "" : Data(SHA256.digest(question.body)).base64EncodedString()
        let signature = try key.sign(Array("\(date):\(hash):\(path ?? question.target)".utf8))
        var question = question
        question.headers["X-Apple-CloudKit-Request-KeyID"] = id
        question.headers["X-Apple-CloudKit-Request-ISO8601Date"] = date
        question.headers["X-Apple-CloudKit-Request-SignatureV1"] = Data(signature).base64EncodedString()
        change(&question, signature)
        return question
    }

    func ask(_ question: Question) async -> Answer { await server.respond(question) }
}
