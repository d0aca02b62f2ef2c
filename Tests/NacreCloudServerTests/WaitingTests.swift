import NacreCloudContainer
import NacreCloudServer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudWire
import NacreLocks
import Testing

/// Tests of `changes/database` with `waitSeconds`, over a socket, on a clock that only the test moves.
@Suite(.timeLimit(.minutes(5))) struct WaitingTests {
    private struct Waiter {
        let server: TestServer
        let port: Int
        let token: String

        init(queryScanRows: Int = Limits.queryScanRows, doesTasks: Bool = true) async throws {
            server = try await TestServer(queryScanRows: queryScanRows, doesTasks: doesTasks)
            port = try await server.startListening()
            token = try #require(try await Self.changes(server, port, "{}").json?.at("syncToken")?.text)
        }

        static func changes(_ server: TestServer, _ port: Int, _ body: String, as user: String = "ada") async throws -> Answer {
            try await ask(Self.question(server, "private/changes/database", body, user), port: port)
        }

        func changes(waiting seconds: Double, from token: String? = nil, as user: String = "ada") async throws -> Answer {
            let token = token.map { #""syncToken":"\#($0)","# } ?? ""
            return try await Self.changes(server, port, #"{\#(token)"nacre":{"waitSeconds":\#(seconds)}}"#, as: user)
        }

        func post(_ path: String, _ body: String, as user: String = "ada") async -> Answer {
            let question = Self.question(server, path, body, user)
            return (try? await ask(question, port: port)) ?? Answer(status: 0, headers: [], body: [])
        }

        private static func question(_ server: TestServer, _ path: String, _ body: String, _ user: String) -> Question {
            Question(
                method: "POST", target: "/database/1/\(TestServer.container)/development/\(path)",
                headers: ["Authorization": "Bearer \(server.names[user + ".device"] ?? "")"], body: Array(body.utf8))
        }

        /// Returns once a request waits: its timer sleeps, beside the constant sleepers.
        func hasWaiters(_ count: Int = 1) async {
            await server.clock.sleeps(TestServer.sleepers + count)
        }
    }

    @Test func `a later save answers who waits`() async throws {
        let waiter = try await Waiter()
        async let answer = waiter.changes(waiting: 30, from: waiter.token)
        await waiter.hasWaiters()
        #expect(await waiter.post("private/zones/modify", Body.zones("create", "Work")).status == 200)
        let json = try await answer.json
        #expect(json?.at("zones[0].zoneID.zoneName") == .string("Work"))
        await waiter.server.server.shutdown()
    }

    @Test func `who waits sleeps through what does not concern it`() async throws {
        let waiter = try await Waiter()
        async let answer = waiter.changes(waiting: 30, from: waiter.token)
        await waiter.hasWaiters()
        // Another user's zone, and a record of a zone without a feed.
        #expect(await waiter.post("private/zones/modify", Body.zones("create", "Bobs"), as: "bob").status == 200)
        #expect(await waiter.post("private/records/modify", Body.modify("create", Body.note("a"))).status == 200)
        waiter.server.clock.advance(29)
        #expect(await waiter.post("private/zones/modify", Body.zones("create", "Work")).status == 200)
        let zones = try await answer.json?.at("zones")
        #expect(zones?.count == 1)
        #expect(zones?.at("[0].zoneID.zoneName") == .string("Work"))
        await waiter.server.server.shutdown()
    }

    @Test func `a page whose order takes an index that nobody has made waits until it is there`() async throws {
        let waiter = try await Waiter(queryScanRows: 1)
        #expect(await waiter.post("private/records/modify", Body.notes(Limits.queryPortions + 5, titleBytes: 2)).status == 200)
        let query = Body.query("Note", filters: [Body.filter("title", "NOT_EQUALS", #"{"value":"z"}"#)], sorts: [#"{"fieldName":"title"}"#])
        let answer = await waiter.post("private/records/query", query)
        #expect(answer.status == 200)
        #expect((answer.json?["records"]?.count ?? 0) > 0, "\(String(decoding: answer.body, as: UTF8.self))")
        await waiter.server.server.shutdown()
    }

    @Test func `the first page of a query whose index is not there in time is empty, and says once what it waits for`() async throws {
        let waiter = try await Waiter(queryScanRows: 1, doesTasks: false)
        #expect(await waiter.post("private/records/modify", Body.notes(Limits.queryPortions + 5, titleBytes: 2)).status == 200)
        var marker = ""
        for page in 0..<2 {
            let query = Body.query(
                "Note", filters: [Body.filter("title", "NOT_EQUALS", #"{"value":"z"}"#)], sorts: [#"{"fieldName":"title"}"#], more: marker)
            let isAnswered = Locked(false)
            async let answer = {
                defer { isAnswered.withLock { $0 = true } }
                return await waiter.post("private/records/query", query)
            }()
            while !isAnswered.withLock(\.self) {
                waiter.server.clock.advance(Limits.indexWaitSeconds)
                await Task.yield()
            }
            let got = await answer
            #expect(got.status == 200 && got.json?["records"]?.count == 0, "\(got.text)")
            #expect((got.header("X-Nacre-Remedy")?.contains("nacre task list") == true) == (page == 0))
            marker = #""continuationMarker":"\#(try #require(got.json?["continuationMarker"]?.text))""#
        }
        await waiter.server.server.shutdown()
    }

    @Test func `who waits is answered with nothing when the time is up`() async throws {
        let waiter = try await Waiter()
        async let answer = waiter.changes(waiting: 10, from: waiter.token)
        await waiter.hasWaiters()
        waiter.server.clock.advance(10)
        let got = try await answer
        #expect(got.status == 200)
        #expect(got.json?["zones"]?.count == 0)
        #expect(got.json?["syncToken"]?.text == waiter.token)
        await waiter.server.server.shutdown()
    }

    @Test func `nobody waits longer than thirty seconds`() async throws {
        let waiter = try await Waiter()
        async let answer = waiter.changes(waiting: 1_000_000, from: waiter.token)
        await waiter.hasWaiters()
        waiter.server.clock.advance(30)
        #expect(try await answer.status == 200)
        await waiter.server.server.shutdown()
    }

    @Test func `what is there already is answered at once`() async throws {
        let waiter = try await Waiter()
        #expect(await waiter.post("private/zones/modify", Body.zones("create", "Work")).status == 200)
        #expect(try await waiter.changes(waiting: 30, from: waiter.token).json?["zones"]?.count == 1)
        // Without a time, and with an invalid one, no request waits.
        #expect(try await Waiter.changes(waiter.server, waiter.port, #"{"syncToken":"\#(waiter.token)"}"#).status == 200)
        for seconds in [0, -5] as [Double] {
            let token = try await waiter.changes(waiting: 0).json?["syncToken"]?.text
            #expect(try await waiter.changes(waiting: seconds, from: token).json?["zones"]?.count == 0)
        }
        await waiter.server.server.shutdown()
    }

    @Test func `a refusal does not wait`() async throws {
        let waiter = try await Waiter()
        let answer = try await waiter.changes(waiting: 30, from: "nonsense")
        #expect(answer.status == 400)
        #expect(answer.json?["reason"] == .string("Unknown sync continuation type"))
        await waiter.server.server.shutdown()
    }

    @Test func `a shutdown answers who waits, at once`() async throws {
        let waiter = try await Waiter()
        async let answer = waiter.changes(waiting: 30, from: waiter.token)
        await waiter.hasWaiters()
        // The clock stands still: only the shutdown itself can end the wait. Its grace would end the connection
        // without an answer.
        await waiter.server.server.shutdown(grace: .seconds(20))
        let got = try await answer
        #expect(got.status == 200)
        #expect(got.json?["zones"]?.count == 0)
        #expect(waiter.server.clock.sleeperCount == 0)
    }
}
