import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer
import NacreTelemetry
import Testing

@testable import NacreCloudServer

/// A server of one test with its admin listener's routes.
struct AdministeredServer {
    static let token = "secret"

    let server: TestServer
    let admin: Router
    private let described: DescribedEndpoints

    init(
        over store: any Store = MemoryStore(), requestRate: Int? = Limits.requestRate, pushServices: PushServices = PushServices(),
        isEmulator: Bool = false, mail: MailConfiguration? = nil, clock: TestClock = TestClock(), recorded: RecordedRequests? = nil,
        observing: [any RequestObserver] = []
    ) async throws {
        described = isEmulator ? .emulator : .administration
        server = try await TestServer(
            publicURL: mail.map { _ in "https://cloud.example" }, requestRate: requestRate, mail: mail, pushServices: pushServices,
            isEmulator: isEmulator, clock: clock, recorded: recorded, observing: observing, over: store)
        let api = server.server.adminAPI(
            server.cloud, server.authenticator, BackupRunner(folder: server.folder.path, nil), PasswordHasher(cost: .least), Self.token,
            ("http://127.0.0.1", "http://127.0.0.1"), server.observation)
        admin = server.server.adminRouter(api, Metrics(telemetry: Telemetry(), budgets: Budgets(), started: server.clock.now))
    }

    /// Sends a request, and checks the answer against the document of the admin API.
    func administrate(
        _ method: String, _ target: String, _ body: String = "", by bearer: String = token, _ headers: [String: String] = [:]
    ) async -> Answer {
        var question = Question(method: method, target: target, headers: ["Authorization": "Bearer \(bearer)"], body: Array(body.utf8))
        question.headers.merge(headers) { $1 }
        let answer = Answer(await admin.respond(to: question.inProcess))
        let fault = described.fault(method, target, answer)
        #expect(fault == nil, "\(method) \(target): \(fault ?? "") in \(answer.text.prefix(1000))")
        return answer
    }

    /// Makes another token for the schema of a container.
    func managementToken(of container: String, _ more: String = "") async throws -> String {
        let answer = await administrate("POST", "/admin/1/tokens", #"{"container":"\#(container)","kind":"management"\#(more)}"#)
        return try #require(answer.json?["token"]?.text, "\(answer.text)")
    }

    /// Sends a request to an endpoint of accounts.
    func post(_ path: String, _ body: String, headers: [String: String] = [:]) async -> Answer {
        await server.respond(Question(method: "POST", target: "/account/1/\(path)", headers: headers, body: Array(body.utf8)))
    }

    func signIn(_ password: String = TestServer.password, email: String = "ada@example.com") async -> Answer {
        await post(
            "sign-in",
            #"{"email":"\#(email)","password":"\#(password)","apiToken":"\#(server.names["api"] ?? "")","container":"\#(TestServer.container)","environment":"development"}"#
        )
    }

    /// Makes a request of a device of `ada` or `bob`.
    func question(_ user: String = "ada") -> Question {
        Question(
            method: "GET", target: "/database/1/\(TestServer.container)/development/private/users/caller",
            headers: ["Authorization": "Bearer \(server.names[user + ".device"] ?? "")"])
    }

    func deviceStatus(_ user: String = "ada") async -> Int { await server.respond(question(user)).status }

    func sessionStatus(_ session: String = "ada") async -> Int {
        let query = "ckAPIToken=\(server.names["api"] ?? "")&ckWebAuthToken=\(server.names[session] ?? "")"
        return await server.respond(
            Question(method: "GET", target: "/database/1/\(TestServer.container)/development/private/users/caller?\(query)")
        ).status
    }
}
