import Foundation
import NacreCloudContainer
import NacreCloudServer
import NacreCloudStore
import NacreCloudTestSupport
import NacreHTTPServer
import NacreLocks
import Testing

/// Short forms of attacks of `make soak`: who is where is counted, and others are answered meanwhile. Nothing is timed.
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
            Question(
                method: "POST", target: "/database/1/\(TestServer.container)/development/private/\(endpoint)",
                headers: ["Authorization": "Bearer \(server.names[user + ".device"] ?? "")"], body: Array(body.utf8))
        }

        /// Returns once the loop has looked at all that was sent before.
        func settle() async throws {
            for _ in 0..<2 { #expect(try await ask(Question(method: "GET", target: "/healthz"), port: port).status == 200) }
        }
    }

    /// Queries wait in it until they are let go, so that a test sees who is where.
    private final class QueryHold: LayeredStore {
        private struct State {
            var isHolding = true
            var inside = 0
            var most = 0
            var held: [CheckedContinuation<Void, Never>] = []
        }

        let below: any Store = MemoryStore()
        private let state = Locked(State())

        /// The most queries that were here at the same time.
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
            guard Turn.current.lane == .query else { return try await below.read(body) }
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
        let store = QueryHold()
        let running = try await Running(over: store)
        for user in ["ada", "bob"] {
            #expect(try await running.post("records/modify", Body.modify("create", Body.note("n")), as: user).status == 200)
        }
        let filters = [String](repeating: Body.filter("title", "NOT_EQUALS", #"{"value":"a"}"#), count: 49)
        let query = Body.query("Note", filters: [Body.filter("title", "EQUALS", #"{"value":"One"}"#)] + filters)
        var greedy: [RawClient] = []
        for _ in 0..<16 {
            greedy.append(try await RawClient(port: running.port))
            try await greedy[greedy.count - 1].send(running.question("records/query", query, "bob").bytes(port: running.port))
        }
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
}
