import Foundation
import NacreCloudContainer
import NacreCloudServer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTasks
import NacreCloudTestSupport
import NacreLocks
import Testing

@testable import NacreHTTPServer

/// Short forms of the attacks of `make soak`: requests are counted in each stage, and others are answered meanwhile.
/// Nothing is timed.
@Suite(.timeLimit(.minutes(5))) struct AbuseTests {
    private struct Running {
        let server: TestServer
        let port: Int

        init(over store: any Store = MemoryStore()) async throws {
            server = try await TestServer(requestRate: nil, over: store)
            port = try await server.startListening()
        }

        func post(_ endpoint: String, _ body: String, as user: String) async throws -> Answer {
            try await ask(question(endpoint, body, user), port: port)
        }

        func question(_ endpoint: String, _ body: String, _ user: String) -> Question {
            AbuseTests.question(server, "private/\(endpoint)", body, user)
        }

        /// Returns once the loop has processed all earlier bytes.
        func settle() async throws {
            for _ in 0..<2 { #expect(try await ask(Question(method: "GET", target: "/healthz"), port: port).status == 200) }
        }
    }

    /// Holds the reads of one lane until they are released, so that a test can count them.
    private final class ReadHold: LayeredStore {
        private struct State {
            var isHolding = true
            var inside = 0
            var most = 0
            var held: [CheckedContinuation<Void, Never>] = []
        }

        let below: any Store = MemoryStore()
        private let kind: Turn.Kind
        private let state = Locked(State())

        init(_ kind: Turn.Kind) {
            self.kind = kind
        }

        /// The most reads held at the same time.
        var most: Int { state.withLock { $0.most } }

        func release() {
            let held = state.withLock { state in
                state.isHolding = false
                defer { state.held = [] }
                return state.held
            }
            for continuation in held { continuation.resume() }
        }

        func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
            guard Turn.current.kind == kind else { return try await below.read(body) }
            state.withLock { state in
                state.inside += 1
                state.most = max(state.most, state.inside)
            }
            defer { state.withLock { $0.inside -= 1 } }
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state in
                    if state.isHolding { state.held.append(continuation) }
                    return !state.isHolding
                }
                if goesOn { continuation.resume() }
            }
            for _ in 0..<20 { await Task.yield() }
            return try await below.read(body)
        }
    }

    @Test func `of 16 costly queries of one user four are worked on, and another's lookup, save and query are answered before them`() async throws {
        let store = ReadHold(.query)
        let running = try await Running(over: store)
        for user in ["ada", "bob"] {
            #expect(try await running.post("records/modify", Body.modify("create", Body.note("n")), as: user).status == 200)
        }
        let filters = [String](repeating: Body.filter("title", "NOT_EQUALS", #"{"value":"a"}"#), count: 49)
        let query = Body.query("Note", filters: [Body.filter("title", "EQUALS", #"{"value":"One"}"#)] + filters)
        let greedy = try await Self.sixteen("records/query", query, of: running)
        try await running.settle()
        while store.most < 4 { try await running.settle() }
        #expect(try await running.post("records/lookup", Body.lookup("n"), as: "ada").json?.at("records[0].recordName")?.text == "n")
        #expect(try await running.post("records/modify", Body.modify("create", Body.note("z")), as: "ada").status == 200)
        #expect(store.most == 4)
        async let another = running.post("records/query", query, as: "ada")
        while store.most < 5 { try await running.settle() }
        #expect(store.most == 5, "another's query does not wait for theirs")
        store.release()
        #expect(try await another.json?.at("records[0].recordName")?.text == "n")
        for client in greedy { #expect(try await client.response().status == 200) }
        #expect(store.most == 5)
        await running.server.server.shutdown()
    }

    /// Sends the same request as one user on 16 connections, and waits for no answer.
    private static func sixteen(_ path: String, _ body: String, of running: Running) async throws -> [RawClient] {
        var clients: [RawClient] = []
        for _ in 0..<16 {
            clients.append(try await RawClient(port: running.port))
            try await clients[clients.count - 1].send(running.question(path, body, "bob").bytes(port: running.port))
        }
        return clients
    }

    private static let inZone = #""zoneID":{"zoneName":"Z"}"#

    /// Returns a request with records of 700 KB each: two of them are more than the writer decides.
    private static func large(_ names: [String], _ type: String, tag: String? = nil) -> String {
        let title = String(repeating: "x", count: 700_000)
        let fields = type == "create" ? #""fields":{"title":{"value":"\#(title)"}}"# : #""fields":{"pages":{"value":1}}"#
        let tag = tag.map { #","recordChangeTag":"\#($0)""# } ?? ""
        return Body.modify(
            names.map { (type, #""recordName":"\#($0)","recordType":"Note",\#(fields)\#(tag)"#) }, #""nacre":{"details":true}"#)
    }

    @Test func `of 16 conflicts with large records of one user two are worked on, and another's lookup, save and conflict are answered before them`()
        async throws
    {
        let store = ReadHold(.bulk)
        let running = try await Running(over: store)
        for user in ["ada", "bob"] {
            for name in ["a", "b"] { #expect(try await running.post("records/modify", Self.large([name], "create"), as: user).status == 200) }
        }
        let conflict = Self.large(["a", "b"], "update", tag: "stale")
        let greedy = try await Self.sixteen("records/modify", conflict, of: running)
        try await running.settle()
        while store.most < 2 { try await running.settle() }
        #expect(try await running.post("records/lookup", Body.lookup("a"), as: "ada").json?.at("records[0].recordName")?.text == "a")
        #expect(try await running.post("records/modify", Body.modify("create", Body.note("z")), as: "ada").status == 200)
        #expect(store.most == 2)
        async let another = running.post("records/modify", conflict, as: "ada")
        while store.most < 3 { try await running.settle() }
        #expect(store.most == 3, "another's conflict does not wait for theirs")
        store.release()
        let answer = try await another.json
        #expect(answer?.at("records[1].serverErrorCode")?.text == "CONFLICT")
        #expect(answer?.at("records[1].nacre.serverRecord.recordName")?.text == "b")
        for client in greedy { #expect(try await client.response().status == 200) }
        #expect(store.most == 3)
        await running.server.server.shutdown()
    }

    @Test func `of 16 first syncs of one user two are worked on, and another's lookup, save and first sync are answered before them`() async throws {
        let store = ReadHold(.bulk)
        let running = try await Running(over: store)
        for user in ["ada", "bob"] {
            #expect(try await running.post("zones/modify", Body.zones("create", "Z"), as: user).status == 200)
            #expect(try await running.post("records/modify", Body.modify("create", Body.note("n"), Self.inZone), as: user).status == 200)
        }
        let greedy = try await Self.sixteen("changes/zone", Body.feed("Z"), of: running)
        try await running.settle()
        while store.most < 2 { try await running.settle() }
        let found = try await running.post("records/lookup", Body.lookup("n", more: Self.inZone), as: "ada")
        #expect(found.json?.at("records[0].recordName")?.text == "n")
        #expect(try await running.post("records/modify", Body.modify("create", Body.note("z"), Self.inZone), as: "ada").status == 200)
        #expect(store.most == 2)
        async let another = running.post("changes/zone", Body.feed("Z"), as: "ada")
        while store.most < 3 { try await running.settle() }
        store.release()
        #expect(try await another.json?.at("zones[0].records")?.count == 2)
        for client in greedy { #expect(try await client.response().status == 200) }
        #expect(store.most == 3)
        await running.server.server.shutdown()
    }

    @Test func `a save that is refused has room taken for the records in its answer, and one that is done is answered whatever room there is`()
        async throws
    {
        let server = try await TestServer(requestRate: nil)
        let part = 1_000_000
        let budgets = Budgets(answers: Budget.Parts(stranger: part, guest: part, user: part))
        func modify(_ body: String) async -> Answer {
            let account = RequestLedger(budgets, Holder(.stranger, ""))
            defer { account.endAnswer() }
            return await Self.answer(server, Self.question(server, "private/records/modify", body, "ada"), account)
        }
        let made = await modify(Self.large(["a"], "create"))
        let tag = try #require(made.json?.at("records[0].recordChangeTag")?.text)
        let stale = Self.large(["a"], "update", tag: "stale")
        #expect(await modify(stale).json?.at("records[0].serverErrorCode")?.text == "CONFLICT")
        let others = Holder(.user, "another")
        #expect(budgets.answers.take(400_000, for: others))
        let refused = await modify(stale)
        #expect(refused.status == 503 && refused.json?.at("serverErrorCode")?.text == "TRY_AGAIN_LATER")
        #expect(await modify(Self.large(["a"], "update", tag: tag)).json?.at("records[0].fields.pages.value") == .number(1))
        #expect(budgets.answers.taken == 400_000)
        budgets.answers.give(400_000, for: others)
        #expect(await modify(stale).status == 200)
    }

    /// Makes a request.
    /// - Parameter user: nil: the API token alone.
    private static func question(_ server: TestServer, _ path: String, _ body: String, _ user: String?) -> Question {
        var question = Question(
            method: "POST", target: "/database/1/\(TestServer.container)/development/\(path)", headers: [:], body: Array(body.utf8))
        if let user { question.headers["Authorization"] = "Bearer \(server.names[user + ".device"] ?? "")" }
        if user == nil { question.target += "?ckAPIToken=\(server.names["api"] ?? "")" }
        return question
    }

    /// Sends a request.
    /// - Parameter ledger: Is charged for the answer's bytes until `endAnswer`, as if the client had then read it.
    private static func answer(_ server: TestServer, _ question: Question, _ ledger: RequestLedger) async -> Answer {
        Answer(
            await server.router.respond(
                to: HTTPRequest(
                    head: question.inProcess.head, body: HTTPBody(question.body), peer: PeerAddress(), identity: RequestID.random(),
                    ledger: ledger, proxies: TrustedProxies())))
    }

    @Test func `30 guests who do not read large public records have their part of the room for answers, and a user is answered`() async throws {
        let server = try await TestServer(requestRate: nil)
        let part = 8_000_000
        let budgets = Budgets(answers: Budget.Parts(stranger: part, guest: part, user: part))
        func ask(_ path: String, _ body: String, _ user: String?) async -> (answer: Answer, account: RequestLedger) {
            let account = RequestLedger(budgets, Holder(.stranger, ""))
            return (await Self.answer(server, Self.question(server, path, body, user), account), account)
        }
        let names = (0..<4).map { "big\($0)" }
        for name in names {
            let saved = await ask("public/records/modify", Self.large([name], "create"), "ada")
            #expect(saved.answer.json?.at("records[0].recordName")?.text == name)
            saved.account.endAnswer()
        }
        var statuses: [Int: Int] = [:]
        var deaf: [RequestLedger] = []
        for _ in 0..<30 {
            let (answer, account) = await ask("public/records/lookup", Body.lookup(names[0], names[1], names[2], names[3]), nil)
            statuses[answer.status, default: 0] += 1
            deaf.append(account)
            #expect(budgets.answers.taken <= part)
        }
        #expect((statuses[200] ?? 0) >= 1 && statuses == [200: statuses[200] ?? 0, 503: 30 - (statuses[200] ?? 0)], "\(statuses)")
        let polite = await ask("public/records/lookup", Body.lookup(names[0]), "ada")
        #expect(polite.answer.json?.at("records[0].recordName")?.text == names[0])
        polite.account.endAnswer()
        for account in deaf { account.endAnswer() }
        #expect(budgets.answers.taken == 0)
    }
}
