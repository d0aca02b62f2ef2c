import Foundation
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto
import NacreLocks
import Testing

@testable import NacreCloudServer

/// A server of one test with a request log in a folder, and administrators who read it.
final class RecordedServer: Sendable {
    private static let key = [UInt8](repeating: 7, count: SealingKey.keyLength)

    let folder: TemporaryFolder
    let recorded: RecordedRequests
    let administered: AdministeredServer
    var server: TestServer { administered.server }

    /// - Parameter observing: further observers of requests, on the server's clock.
    init(pushServices: PushServices = PushServices(), observing: (TestClock) -> [any RequestObserver] = { _ in [] }) async throws {
        folder = try TemporaryFolder()
        let clock = TestClock()
        let pseudonyms = Pseudonyms(key: Self.key)
        let ring = try RequestRing(
            folder: folder.path, server: pseudonyms.check, bounds: .usual, now: { clock.now.millisecondsSince1970 }, report: { _ in })
        recorded = RecordedRequests(log: ring, pseudonyms: pseudonyms)
        administered = try await AdministeredServer(
            requestRate: nil, pushServices: pushServices, clock: clock, recorded: recorded, observing: observing(clock))
        _ = try await administered.server.cloud.schemas.setJustInTime(.all, of: TestServer.container)
    }

    /// Runs a test, and ends the log's thread.
    static func with(
        pushServices: PushServices = PushServices(), observing: (TestClock) -> [any RequestObserver] = { _ in [] },
        _ body: (RecordedServer) async throws -> Void
    ) async throws {
        let server = try await RecordedServer(pushServices: pushServices, observing: observing)
        do { try await body(server) } catch {
            await server.recorded.log.close()
            throw error
        }
        await server.recorded.log.close()
    }

    /// Sends a request below the container's path in development.
    /// - Parameter user: `ada` or `bob` on the web, with `.device` in an app; nil: with an API token alone.
    func ask(
        _ path: String, _ body: String? = nil, as user: String? = "ada", environment: String = "development", headers: [String: String] = [:],
        root: String = "database"
    ) async -> Answer {
        var question = Question(
            method: body == nil ? "GET" : "POST", target: "/\(root)/1/\(TestServer.container)/\(environment)/\(path)", headers: headers,
            body: Array((body ?? "").utf8))
        if let user, user.hasSuffix(".device") {
            question.headers["Authorization"] = "Bearer \(server.names[user] ?? "")"
        } else {
            let api = server.names[environment == "production" ? "api.production" : "api"] ?? ""
            let token = user.map { "&ckWebAuthToken=\(server.names[$0 + (environment == "production" ? ".production" : "")] ?? "")" } ?? ""
            question.target += "\(path.contains("?") ? "&" : "?")ckAPIToken=\(api)\(token)"
        }
        return await server.respond(question)
    }

    /// The requests that the log admits, as an administrator reads them.
    func requests(_ query: String = "") async throws -> [AdminMessages.RequestLine] {
        let answer = await administered.administrate("GET", "/admin/1/requests?\(query)")
        #expect(answer.status == 200, "\(answer.text)")
        return try JSONDecoder().decode(AdminMessages.Requests.self, from: Data(answer.text.utf8)).requests
    }

    /// The row of an answered request.
    func line(of answer: Answer) async throws -> AdminMessages.RequestLine {
        let lines = try await requests("request=\(answer.header("X-Request-Id") ?? "")")
        return try #require(lines.first)
    }

    /// The bytes of all the log's files.
    func bytes() throws -> [UInt8] {
        let folder = folder.path + "/" + RequestRing.folderName
        return try FileManager.default.contentsOfDirectory(atPath: folder).flatMap {
            [UInt8](FileManager.default.contents(atPath: "\(folder)/\($0)") ?? Data())
        }
    }
}
