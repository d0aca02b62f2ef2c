import NacreCloudTestSupport
import NacreLocks
import NacreTelemetry
import Testing

@testable import NacreHTTPServer

/// Tests that bytes in memory, idle connections and waits are bounded, and that clients within the bounds are
/// answered meanwhile. Bytes, answers and connections are counted; nothing is timed.
@Suite(.timeLimit(.minutes(5))) struct BudgetTests {
    private static let megabyte = 1024 * 1024
    private static let few = Budget.Parts(stranger: 4, guest: 4, user: 4)
    private static let small = Budget.Parts(stranger: 128 * 1024, guest: 4 * megabyte, user: 8 * megabyte)

    /// A router in which clients that name a user in a header are users, and others guests.
    private func router() -> Router {
        routing { router in
            router.post("/count") { request, _ in
                guard request.header("Credential") != nil else { throw HTTPError(.unauthorized, "no") }
                try request.ledger.belong(
                    to: Holder(request.header("Credential") == "guest" ? .guest : .user, request.header("Credential") ?? ""))
                return .text("\(try await request.body.collect().count)")
            }
            router.get("/large") { request, _ in
                try request.ledger.belong(to: Holder(.user, request.header("Credential") ?? ""))
                try request.ledger.requireAnswerRoom()
                var response = HTTPResponse.text(String(repeating: "x", count: 2 * Self.megabyte))
                response.mayCompress = false
                return response
            }
            router.post("/read") { request, _ in
                if let user = request.header("Credential") { try request.ledger.belong(to: Holder(.user, user)) }
                return .text("\(try await request.body.collect().count)")
            }
            router.get("/stream") { _, _ in
                HTTPResponse(
                    body: .stream { writer in
                        for _ in 0..<64 { try await writer.write([UInt8](repeating: 65, count: 64 * 1024)) }
                    })
            }
        }
    }

    private func post(_ server: ServerUnderTest, _ length: Int, as credential: String?, sending count: Int) async throws -> RawClient {
        let client = try await server.client()
        let header = credential.map { "Credential: \($0)\r\n" } ?? ""
        try await client.send("POST /count HTTP/1.1\r\nHost: a\r\n\(header)Content-Length: \(length)\r\n\r\n")
        if count > 0 { try? await client.send([UInt8](repeating: 65, count: count)) }
        return client
    }

    @Test func `a share is what would still be left for all others`() {
        for (bytes, held, free, isTaken) in [
            (8, 0, 8, true), (8, 0, 7, false), (8, 8, 16, true), (8, 9, 16, false), (1, 4, 4, false), (1, 3, 4, true), (0, 0, 0, true),
        ] {
            #expect(Budget.mayTake(bytes, held: held, free: free) == isTaken, "\(bytes) \(held) \(free)")
        }
        let budget = Budget(Budget.Parts(stranger: 10, guest: 10, user: 64))
        let greedy = Holder(.user, "greedy")
        var count = 0
        while budget.take(8, for: greedy) { count += 1 }
        #expect(count == 4, "half of the part")
        #expect(budget.take(8, for: Holder(.user, "late")), "the next one finds room")
        #expect(budget.take(8, for: Holder(.user, "later")))
        #expect(
            budget.take(10, for: Holder(.guest, "g")) && budget.take(10, for: Holder(.stranger, "s")), "other kinds have parts of their own")
        budget.give(32, for: greedy)
        #expect(budget.take(8, for: greedy))
        #expect(budget.taken == 8 + 8 + 8 + 20)
    }

    @Test func `room for answers is taken before they are made, and what they did not need is given back`() throws {
        let budgets = Budgets(bodies: Self.small, answers: Self.small)
        let ann = (0..<16).map { _ in RequestLedger(budgets, Holder(.user, "ann")) }
        let taken = ann.filter { (try? $0.takeAnswer(Self.megabyte)) != nil }
        #expect(taken.count == 4, "half of the part, whatever comes together")
        #expect(budgets.answers.taken == 4 * Self.megabyte)
        try RequestLedger(budgets, Holder(.user, "bob")).takeAnswer(Self.megabyte)
        taken.first?.countAnswer(Self.megabyte / 2)
        #expect(budgets.answers.taken == 4 * Self.megabyte + Self.megabyte / 2)
        #expect(throws: HTTPError.self) { try ann.last?.takeAnswer(Self.megabyte) }
        for account in ann { account.endAnswer() }
        #expect(budgets.answers.taken == Self.megabyte)
        #expect(throws: Never.self) { try RequestLedger(budgets, Holder(.user, "ann")).takeAnswer(3 * Self.megabyte) }
    }

    @Test func `an answer larger than all room is made alone`() throws {
        let budgets = Budgets(bodies: Self.small, answers: Self.small)
        let (ann, bob) = (RequestLedger(budgets, Holder(.user, "ann")), RequestLedger(budgets, Holder(.user, "bob")))
        try ann.takeAnswer(9 * Self.megabyte)
        let refusal = #expect(throws: HTTPError.self) { try bob.takeAnswer(8192) }
        #expect(refusal?.status == .serviceUnavailable && refusal?.headers["Retry-After"] == "1")
        ann.endAnswer()
        try bob.takeAnswer(8192)
    }

    @Test func `bodies whose last byte is withheld fill the share of who sends them, and no other`() async throws {
        let budgets = Budgets(bodies: Self.small, answers: Self.small)
        let lines = Lines()
        let length = Self.megabyte
        try await withServer(configured { $0.budgets = budgets }, logger: lines.logger, routes: router()) { server in
            var waiting: [RawClient] = []
            var refused = 0
            for _ in 0..<12 {
                let client = try await post(server, length, as: "guest", sending: 0)
                try await server.settle()
                // An answer before any byte of the body is a refusal.
                if budgets.bodies.taken == (waiting.count + 1) * length {
                    waiting.append(client)
                } else {
                    let response = try await client.response()
                    #expect(response.status == 503 && response.header("Retry-After") == "1")
                    refused += 1
                }
            }
            #expect(waiting.count == 2 && refused == 10, "half of the guests' part")
            for client in waiting { try? await client.send([UInt8](repeating: 65, count: length - 1)) }
            #expect(budgets.bodies.taken == 2 * length)
            let user = try await post(server, length, as: "ada", sending: length)
            #expect(try await user.response().text == "\(length)", "a user has a part of its own")
            for client in waiting { try await client.send([65]) }
            for client in waiting { #expect(try await client.response().text == "\(length)") }
            try await server.settle()
            #expect(budgets.bodies.taken == 0)
            let again = try await post(server, length, as: "guest", sending: length)
            #expect(try await again.response().status == 200)
        }
        let told = lines.all.filter { $0.contains("bodies that are being received") }
        #expect(told.count == 1 && told.allSatisfy { $0.contains("\"level\":\"notice\"") && $0.contains("\"remedy\":") }, "\(lines.all)")
    }

    @Test func `bodies of strangers are gathered up to their share, then who they are comes first`() async throws {
        let budgets = Budgets(bodies: Self.small, answers: Self.small)
        try await withServer(configured { $0.budgets = budgets }, routes: router()) { server in
            let length = 60 * 1024
            var silent: [RawClient] = []
            for _ in 0..<20 {
                silent.append(try await post(server, length, as: nil, sending: length - 1))
                try await server.settle()
                #expect(budgets.bodies.taken <= Self.small.stranger)
            }
            #expect(budgets.bodies.taken == length, "one of them is all that leaves as much for others")
            let user = try await post(server, length, as: "ada", sending: length)
            #expect(try await user.response().text == "\(length)")
            for client in silent { client.hangUp() }
        }
        #expect(budgets.bodies.taken == 0, "whoever goes gives back")
    }

    @Test func `a body that is refused by its length costs no memory, and is not read beyond a bound`() async throws {
        let budgets = Budgets(bodies: Self.small, answers: Self.small)
        try await withServer(configured { $0.budgets = budgets }, routes: router()) { server in
            let client = try await post(server, 1_000_000_000, as: "ada", sending: 0)
            #expect(try await client.response().status == 413)
            var sent = 0
            while (try? await client.send([UInt8](repeating: 65, count: 256 * 1024))) != nil { sent += 256 * 1024 }
            // The buffers of the two sockets are added.
            #expect(sent < ServerLimits.lingeringBytesMax + 16 * Self.megabyte)
            #expect(budgets.bodies.taken == 0)
        }
    }

    @Test func `a chunked body takes from the budget as it comes`() async throws {
        let budgets = Budgets(bodies: Self.small, answers: Self.small)
        try await withServer(configured { $0.budgets = budgets }, routes: router()) { server in
            let client = try await server.client()
            try await client.send("POST /count HTTP/1.1\r\nHost: a\r\nCredential: guest\r\nTransfer-Encoding: chunked\r\n\r\n")
            let size = 5 * Self.megabyte
            try? await client.send(Array("\(String(size, radix: 16))\r\n".utf8) + [UInt8](repeating: 65, count: size))
            #expect(try await client.response().status == 503, "more than the part")
        }
        #expect(budgets.bodies.taken == 0)
    }

    @Test func `answers that nobody reads fill the share of who asked, who then gets no more, and others do`() async throws {
        let budgets = Budgets(bodies: Self.small, answers: Self.small)
        let request = "GET /large HTTP/1.1\r\nHost: a\r\nCredential: "
        try await withServer(
            configured {
                $0.budgets = budgets
                $0.pieceDeadline = .seconds(600)
                $0.shortPieceDeadline = .seconds(600)
            }, routes: router()
        ) {
            server in
            var deaf: [RawClient] = []
            for _ in 0..<30 {
                let client = try await RawClient(port: server.port, receiveBuffer: 1)
                try await client.send(request + "eve\r\n\r\n")
                deaf.append(client)
                try await server.settle()
                // One answer may begin while there is room for less than it.
                #expect(budgets.answers.taken <= Self.small.user / 2 + 2 * Self.megabyte)
            }
            #expect(budgets.answers.taken > 0)
            let another = try await server.client()
            try await another.send(request + "ada\r\n\r\n")
            #expect(try await another.response().body.count == 2 * Self.megabyte)
            let last = try await server.client()
            try await last.send(request + "eve\r\n\r\n")
            let refused = try await last.response()
            #expect(refused.status == 503 && refused.header("Retry-After") == "1")
            // A client that reads after all gets everything, and frees the budget piece by piece.
            #expect(try await deaf[0].response().body == [UInt8](repeating: UInt8(ascii: "x"), count: 2 * Self.megabyte))
            for client in deaf { client.hangUp() }
        }
        #expect(budgets.answers.taken == 0)
    }

    @Test func `what a client does not read is kept where it is counted, but for what its connection needs`() async throws {
        let budgets = Budgets(bodies: Self.small, answers: Budget.Parts(stranger: 8_000_000, guest: 8_000_000, user: 8_000_000))
        try await withServer(configured { $0.budgets = budgets }, routes: router()) { server in
            let deaf = try await RawClient(port: server.port, receiveBuffer: 1)
            try await deaf.send("GET /large HTTP/1.1\r\nHost: a\r\nCredential: eve\r\n\r\n")
            while budgets.answers.taken == 0 { try await server.settle() }
            // The kernel alone would take all of it.
            for _ in 0..<100 { try await server.settle() }
            #expect(budgets.answers.taken > Self.megabyte)
            deaf.hangUp()
        }
    }

    @Test func `a client that takes a byte now and then misses the deadline of a piece`() async throws {
        let telemetry = Telemetry()
        let budgets = Budgets(bodies: Self.small, answers: Self.small)
        try await withServer(
            configured {
                $0.budgets = budgets
                $0.pieceDeadline = .milliseconds(200)
            }, telemetry: telemetry, routes: router()
        ) { server in
            let client = try await RawClient(port: server.port, receiveBuffer: 1)
            try await client.send("GET /large HTTP/1.1\r\nHost: a\r\nCredential: eve\r\n\r\n")
            try await server.settle()
            while telemetry.counter(.httpLate).value == 0 { try await server.settle() }
            while budgets.answers.taken > 0 { try await server.settle() }
            #expect(try await client.rest().count < 2 * Self.megabyte)
        }
    }

    @Test func `where connections are short, those that are awaited longest make room, and one line says so`() async throws {
        let lines = Lines()
        try await withServer(configured { $0.connectionsMax = 32 }, logger: lines.logger, routes: routing { _ in }) { server in
            var idle: [RawClient] = []
            for _ in 0..<100 {
                // More than three times as many as there are places: each new client is let in and answered.
                let client = try await server.client()
                try await client.send("GET /ping HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(try await client.response().text == "pong")
                idle.append(client)
            }
            #expect(try await idle[0].rest() == [], "the oldest is closed")
            try await idle[99].send("GET /ping HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await idle[99].response().text == "pong", "the newest is not")
        }
        let told = lines.all.filter { $0.contains("Connections are short") }
        #expect(told.count == 1 && told[0].contains("LimitNOFILE"), "\(told)")
    }

    private static func halfSent(as credential: String = "") -> String {
        "POST /read HTTP/1.1\r\nHost: a\r\n\(credential)Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"
    }

    @Test func `requests whose bodies are awaited have no place among those under way, and all are answered when the rest comes`() async throws {
        let budgets = Budgets(slots: Self.few)
        let telemetry = Telemetry()
        try await withServer(configured { $0.budgets = budgets }, telemetry: telemetry, routes: router()) { server in
            var silent: [RawClient] = []
            for _ in 0..<12 {
                silent.append(try await server.client())
                try await silent[silent.count - 1].send(Self.halfSent())
                try await server.settle()
            }
            #expect(telemetry.gauge(.httpWaiting).value == 12 && budgets.slots.taken == 0)
            #expect(try await server.get("/ping").text == "pong")
            #expect(try await server.exchange(Self.halfSent() + "0\r\n\r\n").text == "1")
            for client in silent {
                try await client.send("0\r\n\r\n")
                #expect(try await client.response().text == "1")
            }
            try await server.settle()
            #expect(telemetry.gauge(.httpWaiting).value == 0 && budgets.slots.taken == 0)
        }
    }

    @Test func `a streamed answer that nobody reads has no place among those under way`() async throws {
        let budgets = Budgets(slots: Budget.Parts(stranger: 2, guest: 0, user: 0))
        let telemetry = Telemetry()
        try await withServer(configured { $0.budgets = budgets }, telemetry: telemetry, routes: router()) { server in
            let deaf = try await RawClient(port: server.port, receiveBuffer: 1)
            try await deaf.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
            while telemetry.gauge(.httpWaiting).value == 0 { try await server.settle() }
            #expect(budgets.slots.taken == 0)
            #expect(try await server.get("/ping").text == "pong")
            #expect(try await deaf.response().body.count == 64 * 64 * 1024)
        }
        #expect(budgets.slots.taken == 0)
    }

    @Test func `a user, or an address before a trusted proxy, has the places that leave as many for others`() async throws {
        let gate = Gate()
        let budgets = Budgets(slots: Self.few)
        var proxies = TrustedProxies()
        let isProxy = proxies.add("127.0.0.1")
        #expect(isProxy)
        try await withServer(
            configured { [proxies] in ($0.budgets, $0.trustedProxies) = (budgets, proxies) },
            routes: routing { router in
                router.get("/work") { request, _ in
                    if let user = request.header("Credential") { try request.ledger.belong(to: Holder(.user, user)) }
                    await gate.pass()
                    return .text("worked")
                }
            }
        ) { server in
            var working: [RawClient] = []
            for (header, isLet) in [
                ("Credential: eve", true), ("Credential: eve", true), ("Credential: eve", false), ("Credential: ada", true),
                ("X-Forwarded-For: 192.0.2.1", true), ("X-Forwarded-For: 192.0.2.1", true), ("X-Forwarded-For: 192.0.2.1", false),
                ("X-Forwarded-For: 192.0.2.2", true),
            ] {
                let before = budgets.slots.taken
                let client = try await server.client()
                try await client.send("GET /work HTTP/1.1\r\nHost: a\r\n\(header)\r\n\r\n")
                if isLet {
                    while budgets.slots.taken == before { await Task.yield() }
                    working.append(client)
                } else {
                    #expect(try await client.response().status == 503, "\(header)")
                }
            }
            await gate.open()
            for client in working { #expect(try await client.response().text == "worked") }
            try await server.settle()
            #expect(budgets.slots.taken == 0)
        }
    }

    @Test func `where connections are short, those whose bodies are awaited make room, too`() async throws {
        try await withServer(configured { $0.connectionsMax = 32 }, routes: router()) { server in
            var silent: [RawClient] = []
            for number in 0..<60 {
                silent.append(try await server.client())
                let gathered = "POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx"
                try await silent[silent.count - 1].send(number % 2 == 0 ? gathered : Self.halfSent())
                #expect(try await server.get("/ping").text == "pong")
            }
            #expect(try await silent[0].rest() == [], "the oldest is closed")
            try await silent[59].send("0\r\n\r\n")
            #expect(try await silent[59].response().text == "1", "the newest is not")
        }
    }

    @Test func `of requests that wait for their clients no more are kept than may be under way, and those of users go last`() async throws {
        let budgets = Budgets(slots: Self.few)
        let telemetry = Telemetry()
        try await withServer(
            configured {
                $0.budgets = budgets
                // This makes the ticks short.
                $0.stallTimeout = .milliseconds(40)
            }, telemetry: telemetry, routes: router()
        ) { server in
            let user = try await server.client()
            try await user.send(Self.halfSent(as: "Credential: ada\r\n"))
            try await server.settle()
            var silent: [RawClient] = []
            for _ in 0..<12 {
                silent.append(try await server.client())
                try await silent[silent.count - 1].send(Self.halfSent())
            }
            for _ in 0..<1000 where telemetry.counter(.httpAbandoned).value == 0 { try await server.settle() }
            #expect(telemetry.gauge(.httpWaiting).value <= 9)
            #expect(try await silent[0].rest() == [])
            try await user.send("0\r\n\r\n")
            #expect(try await user.response().text == "1", "although it is awaited longest")
        }
    }

    @Test func `who waits is none of the requests under way, and what is always answered is`() async throws {
        let gate = Gate()
        let busy = Gate()
        let telemetry = Telemetry()
        try await withServer(
            configured { $0.budgets = Budgets(slots: Budget.Parts(stranger: 1, guest: 0, user: 0)) }, telemetry: telemetry,
            routes: routing { router in
                router.get("/wait") { request, _ in
                    await request.ledger.whileWaiting { await gate.pass() }
                    return .text("waited")
                }
                router.get("/work") { _, _ in
                    await busy.pass()
                    return .text("worked")
                }
                router.get("/health", isAlwaysAnswered: true) { _, _ in .text("ok") }
            }
        ) { server in
            var waiting: [RawClient] = []
            for _ in 0..<20 {
                waiting.append(try await server.client())
                try await waiting[waiting.count - 1].send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
                try await server.settle()
            }
            #expect(telemetry.gauge(.httpWaiting).value == 20)
            #expect(try await server.get("/ping").text == "pong")
            let working = try await server.client()
            try await working.send("GET /work HTTP/1.1\r\nHost: a\r\n\r\n")
            while telemetry.gauge(.httpInFlight).value == 0 { await Task.yield() }
            #expect(try await server.get("/ping").status == 503)
            #expect(try await server.get("/health").text == "ok")
            waiting[0].hangUp()
            await busy.open()
            #expect(try await working.response().text == "worked")
            await gate.open()
            for client in waiting.dropFirst() { #expect(try await client.response().text == "waited") }
            try await server.settle()
            #expect(telemetry.gauge(.httpWaiting).value == 0)
        }
    }

    @Test func `the client of a trusted proxy is the last address that the proxy did not make itself`() {
        var proxies = TrustedProxies()
        #expect(proxies.add("10.0.0.0/8") && proxies.add("::1") && proxies.add("192.168.1.7"))
        for text in ["", "10.0.0.0/33", "10.0.0.0/-1", "example.com", "10.0.0", "::1/129", "10.0.0.0/"] {
            var other = TrustedProxies()
            #expect(!other.add(text) && other.isEmpty, "\(text)")
        }
        for (peer, headers, client) in [
            ("203.0.113.9", ["198.51.100.1"], "203.0.113.9"), ("10.1.2.3", [], "10.1.2.3"), ("10.1.2.3", ["198.51.100.1"], "198.51.100.1"),
            ("10.1.2.3", ["6.6.6.6, 198.51.100.1"], "198.51.100.1"), ("::1", ["6.6.6.6", "198.51.100.1 , 10.9.9.9"], "198.51.100.1"),
            ("192.168.1.7", ["nonsense, 10.9.9.9"], "10.9.9.9"), ("192.168.1.8", ["198.51.100.1"], "192.168.1.8"),
            ("10.1.2.3", ["2001:db8::1"], "2001:db8::1"), ("10.1.2.3", [""], "10.1.2.3"),
        ] as [(String, [String], String)] {
            #expect(proxies.client(of: peer, forwardedFor: headers) == client, "\(peer) \(headers)")
        }
        #expect(IPAddress.customer("2001:db8:0:1:ffff::9") == IPAddress.customer("2001:db8:0:1::1"))
        #expect(IPAddress.customer("2001:db8:0:2::1") != IPAddress.customer("2001:db8:0:1::1"))
        #expect(IPAddress.customer("203.0.113.9") == "203.0.113.9")
        #expect(IPAddress.isLoopback("127.8.9.1") && IPAddress.isLoopback("::1"))
        #expect(!IPAddress.isLoopback("::2") && !IPAddress.isLoopback("10.0.0.1") && !IPAddress.isLoopback(""))
    }

    @Test(
        arguments: [
            (["10.0.0.0/8"], "10.255.0.1", true), (["10.0.0.0/8"], "11.0.0.0", false), (["10.0.0.0/8"], "::ffff:10.1.2.3", true),
            (["10.0.0.128/25"], "10.0.0.128", true), (["10.0.0.128/25"], "10.0.0.127", false), (["192.0.2.7"], "192.0.2.7", true),
            (["192.0.2.7"], "192.0.2.8", false), (["192.0.2.7", "2001:db8::/33"], "2001:db8:7fff::1", true),
            (["2001:db8::/33"], "2001:db8:8000::1", false),
            (["0.0.0.0/0"], "203.0.113.9", true), (["0.0.0.0/0"], "2001:db8::1", false), (["::/0"], "203.0.113.9", false),
            (["::/0"], "", false), (["::/0"], "localhost", false), ([], "10.0.0.1", false),
        ] as [([String], String, Bool)])
    func `an address is in a network by the bits that the network names, and its family`(
        _ names: [String], _ address: String, _ isIn: Bool
    ) {
        var networks = AddressNetworks()
        for name in names {
            let isAdded = networks.add(name)
            #expect(isAdded)
        }
        #expect(networks.contains(address) == isIn)
    }

    @Test func `an IPv4 address is the same in each form that it is written in`() {
        var proxies = TrustedProxies()
        #expect(proxies.add("10.0.0.0/8") && proxies.add("::ffff:192.168.0.0/112") && !proxies.add("::ffff:10.0.0.0/8"))
        for (peer, header, client) in [
            ("10.1.2.3", "::ffff:198.51.100.1", "198.51.100.1"), ("10.1.2.3", "::FFFF:c633:6401", "198.51.100.1"),
            ("10.1.2.3", "198.51.100.1, ::ffff:10.9.9.9", "198.51.100.1"), ("192.168.1.7", "::ffff:198.51.100.1", "198.51.100.1"),
        ] {
            #expect(proxies.client(of: peer, forwardedFor: [header]) == client, "\(peer) \(header)")
        }
        #expect(IPAddress.customer("::ffff:203.0.113.9") == "203.0.113.9" && IPAddress.customer("64:ff9b::203.0.113.9") == "203.0.113.9")
        #expect(IPAddress.isLoopback("::ffff:127.0.0.1") && !IPAddress.isLoopback("::ffff:10.0.0.1"))
        #expect(IPAddress.isLiteral("[::ffff:10.0.0.1]") && !IPAddress.isLiteral("::1") && !IPAddress.isLiteral("[10.0.0.1]"))
    }
}

/// Keeps the lines of a server's log.
final class Lines: LogSink {
    private let kept = Locked<[String]>([])
    func write(_ line: [UInt8]) { kept.withLock { $0.append(String(decoding: line, as: UTF8.self)) } }
    var all: [String] { kept.withLock { $0 } }
    var logger: Logger { Logger(level: .notice, format: .json, sink: self) }
}
