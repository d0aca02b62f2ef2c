import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer
import Testing

@testable import NacreCloudServer

/// Tests of every kind of error, as a client gets it.
@Suite struct ErrorAnswerTests {
    private struct Unforeseen: Error {
        var secret = "secret"
    }

    private let log = LogLines()

    private func answer(_ error: any Error, headers: [String: String] = [:]) -> Answer {
        let request = Question(method: "POST", target: "/x", headers: headers).inProcess
        return Answer(ErrorAnswer(logger: log.logger).response(to: error, request))
    }

    @Test(arguments: [
        (HTTPStatus.badRequest, "BAD_REQUEST", "said"), (.notFound, "NOT_FOUND", "could not find handler for endpoint"),
        (.methodNotAllowed, "BAD_REQUEST", "method not allowed"), (.contentTooLarge, "BAD_REQUEST", "request body is too large"),
        (.headersTooLarge, "BAD_REQUEST", "said"), (.requestTimeout, "BAD_REQUEST", "said"),
        (.serviceUnavailable, "TRY_AGAIN_LATER", "The server is busy"),
        (.internalServerError, "INTERNAL_ERROR", "Internal server error"), (.insufficientStorage, "INTERNAL_ERROR", "Internal server error"),
        (.notImplemented, "BAD_REQUEST", "said"), (.versionNotSupported, "BAD_REQUEST", "said"), (.unsupportedMediaType, "BAD_REQUEST", "said"),
    ])
    func `a refusal of the HTTP server keeps its status, and has a code`(_ status: HTTPStatus, _ code: String, _ reason: String) {
        let answer = answer(HTTPError(status, "said", headers: ["Allow": "GET"]))
        #expect(answer.status == status.rawValue)
        #expect(answer.header("Allow") == "GET")
        #expect(answer.json?["serverErrorCode"] == .string(code))
        #expect(answer.json?["reason"] == .string(reason))
        #expect(answer.json?["nacre"] == nil)
    }

    @Test func `an error answer says in headers what to do and where more is told`() {
        let answer = answer(ServerError(.conflict, "record to insert already exists", remedy: "Fetch “it”\r\nX-Evil: 1"))
        #expect(answer.header("X-Nacre-Help") == "/errors#CONFLICT")
        #expect(answer.header("X-Nacre-Remedy") == "Fetch ???it?????X-Evil: 1")
        #expect(answer.header("X-Evil") == nil)
        #expect(answer.json?["nacre"] == nil)
        let long = self.answer(ServerError(.badRequest, "said", remedy: String(repeating: "x", count: 10_000)))
        #expect(long.header("X-Nacre-Remedy")?.count == 500)
    }

    @Test func `an answer with refused items says in headers which item and field came first, and what to do`() {
        func answer(_ items: [RefusedItem]) -> Answer {
            var response = HTTPResponse()
            ErrorAnswer(logger: log.logger).tell(items, in: &response, Question(method: "POST", target: "/x").inProcess)
            return Answer(response)
        }
        let other = RefusedItem(name: "a", error: ServerError(.atomicError, "another failed", remedy: "Mend the other."))
        let told = answer([other, RefusedItem(name: "b", error: ServerError(.badRequest, "said", field: "f", remedy: "Mend it."))])
        #expect(told.header("X-Nacre-Remedy") == "b: field 'f': Mend it." && told.header("X-Nacre-Help") == "/errors#BAD_REQUEST")
        #expect(answer([other]).header("X-Nacre-Remedy") == "a: Mend the other.")
        #expect(answer([]).header("X-Nacre-Remedy") == nil && answer([]).header("X-Nacre-Help") == nil)
    }

    @Test func `a refused share is named by its short GUID, without the secret of a one-time URL`() {
        let error = ServerError(.accessDenied, "said")
        let shares = SharesResponse(results: [.failure(shortGUID: "A~123", error), .failure(shortGUID: "B", error)])
        #expect(shares.refused.map(\.name) == ["A", "B"])
    }

    @Test func `a busy HTTP server says when to come again, once`() {
        let answer = answer(HTTPError(.serviceUnavailable, "busy", headers: ["Retry-After": "7"]))
        #expect(answer.json?["retryAfter"] == .number(7))
        #expect(answer.headers.filter { $0.name == "Retry-After" }.map(\.value) == ["7"])
    }

    @Test(
        arguments: [
            (StoreError.Code.full, 503, "TRY_AGAIN_LATER", "30"), (.unavailable, 503, "TRY_AGAIN_LATER", "5"), (.closed, 503, "TRY_AGAIN_LATER", "5"),
            (.readOnly, 503, "TRY_AGAIN_LATER", "30"), (.collision, 503, "TRY_AGAIN_LATER", "1"),
            (.corrupt, 500, "INTERNAL_ERROR", nil), (.inUse, 500, "INTERNAL_ERROR", nil), (.newerVersion, 500, "INTERNAL_ERROR", nil),
        ] as [(StoreError.Code, Int, String, String?)])
    func `an error of the store is told by what a client can do`(_ code: StoreError.Code, _ status: Int, _ text: String, _ retry: String?) {
        let answer = answer(StoreError(code, "secret", ["path": "secret"]))
        #expect(answer.status == status)
        #expect(answer.json?["serverErrorCode"] == .string(text))
        #expect(answer.header("Retry-After") == retry)
        #expect(!answer.text.contains("secret"))
        let line = log.objects("A request failed").first
        #expect(line?["error"] == .string("secret, path secret"))
        #expect(line?["level"] == .string(status == 500 ? "error" : "warning"))
    }

    @Test(arguments: [Unforeseen(), CryptoError(.libraryFailure), NotReadable()] as [any Error])
    func `an error that nobody foresaw is internal, and said in the log`(_ error: any Error) {
        let answer = answer(error)
        #expect(answer.status == 500)
        #expect(answer.json?["reason"] == .string("Internal server error"))
        #expect(!answer.text.contains("secret"))
        #expect(answer.json?.count == 3)
        #expect(log.objects("A request failed").count == 1)
    }

    private struct NotReadable: Error {}

    @Test func `details go to who asked for them, and to the framework where its question was not read`() {
        let error = ServerError(.conflict, "x", internalCode: 2004, field: "f", remedy: "r")
        #expect(answer(error).json?["nacre"] == nil)
        #expect(answer(DetailedError(error: error, wantsDetails: true)).json?.at("nacre.code") == .number(14))
        #expect(answer(DetailedError(error: error, wantsDetails: false), headers: ["Authorization": "Bearer x"]).json?["nacre"] == nil)
        #expect(answer(error, headers: ["Authorization": "Bearer x"]).json?.at("nacre.remedy") == .string("r"))
        #expect(answer(DetailedError(error: StoreError.closed, wantsDetails: true)).json?.at("nacre.internalCode") == .number(2022))
    }

    @Test func `what a client did wrong is told at info outside of development, and as no failure`() {
        let codes = ServerErrorCode.allCases.filter { $0 != .internalError && $0 != .tryAgainLater }
        for code in codes { _ = answer(ServerError(code, "x")) }
        let lines = log.objects("A request was refused")
        #expect(lines.map { $0["code"]?.text } == codes.map(\.rawValue) && lines.allSatisfy { $0["level"]?.text == "info" })
        #expect(log.texts.count == lines.count)
    }

    @Test func `a client that went away is no failure`() async throws {
        let server = try await TestServer()
        let question = Question(
            method: "POST", target: "/database/1/\(TestServer.container)/development/private/changes/database",
            headers: ["Authorization": "Bearer \(server.names["ada.device"] ?? "")"], body: Array(#"{"nacre":{"waitSeconds":30}}"#.utf8))
        let task = Task { await server.respond(question) }
        await server.clock.sleeps(1)
        task.cancel()
        #expect(await task.value.status < 500)
        #expect(server.clock.sleeperCount == 0)
        #expect(server.log.objects("A request failed").isEmpty)
    }

    @Test func `where too many passwords wait the sign-in is put off`() async throws {
        // One hash at a time and no queue: of many requests during the first one's 70 ms, most are put off.
        let server = try await TestServer(passwords: PasswordHasher(threadsMaximum: 1, waitingMaximum: 0))
        let body =
            #"{"email":"ada@example.com","password":"\#(TestServer.password)","apiToken":"\#(server.names["api"] ?? "")","#
            + #""container":"\#(TestServer.container)","environment":"development"}"#
        let answers = await withTaskGroup(of: Answer.self) { group in
            for _ in 0..<8 {
                group.addTask { await server.respond(Question(method: "POST", target: "/account/1/sign-in", body: Array(body.utf8))) }
            }
            return await group.reduce(into: [Answer]()) { $0.append($1) }
        }
        let putOff = answers.filter { $0.status != 200 }
        #expect(!putOff.isEmpty && putOff.count < 8)
        for answer in putOff {
            #expect(answer.status == 503)
            #expect(answer.header("Retry-After") == "2")
            #expect(answer.json?["reason"] == .string("too many sign-ins are under way"))
        }
    }
}
