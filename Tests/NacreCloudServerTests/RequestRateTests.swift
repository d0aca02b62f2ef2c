import Glibc
import NacreCloudWire
import NacreCrypto
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudServer
@testable import NacreCloudStorage
@testable import NacreCloudTasks
@testable import NacreHTTPServer

/// Tests of rates of work, on a clock that only the test moves.
@Suite struct RequestRateTests {
    private static let lookup = #"{"records":[\#((0..<200).map { #"{"recordName":"r\#($0)"}"# }.joined(separator: ","))]}"#

    private func ask(_ server: TestServer, _ path: String, _ body: String = "{}", as user: String = "ada") async -> Answer {
        await server.respond(
            Question(
                method: "POST", target: "/database/1/\(TestServer.container)/development/private/\(path)",
                headers: ["Authorization": "Bearer \(server.names[user + ".device"] ?? "")"], body: Array(body.utf8)))
    }

    @Test func `who asks for more than its rate hears when to come back, and others are answered meanwhile`() async throws {
        let server = try await TestServer(requestRate: 1)
        var count = 0
        var answer = await ask(server, "zones/list")
        while answer.status == 200, count < 100 {
            count += 1
            answer = await ask(server, "zones/list")
        }
        #expect(count >= 60 / (Limits.requestCost + 2) && count <= 60 / Limits.requestCost, "\(count): a minute of its rate at once")
        let seconds = try #require(answer.header("Retry-After").flatMap(Double.init))
        #expect(answer.status == 429 && seconds >= 1 && seconds <= Double(Limits.requestCost + 2), "no more than the last request costs: \(seconds)")
        #expect(answer.json?["serverErrorCode"] == .string("THROTTLED") && answer.json?["retryAfter"] == .number(seconds))
        #expect(answer.json?.at("nacre.code") == .number(Double(NativeErrorCode.requestRateLimited.rawValue)))
        #expect(await ask(server, "zones/list", as: "bob").status == 200)
        server.clock.advance(seconds + 1)
        #expect(await ask(server, "zones/list").status == 200)
    }

    @Test func `who waits as it is told never sees more than a pause`() async throws {
        let server = try await TestServer(requestRate: 10)
        var pauses = 0
        for round in 0..<60 {
            var answer = await ask(server, "records/lookup", Self.lookup)
            if answer.status == 429 {
                pauses += 1
                let seconds = try #require(answer.header("Retry-After").flatMap(Double.init))
                server.clock.advance(seconds)
                // Whole seconds; the debt within the last second is less than a request.
                server.clock.advance(0.1)
                answer = await ask(server, "records/lookup", Self.lookup)
            }
            #expect(answer.status == 200, "\(round)")
        }
        #expect(pauses > 10)
    }

    @Test func `addresses that a user looks others up by are paid for, whoever has them`() async throws {
        let server = try await TestServer(requestRate: 1000)
        func discover(_ infos: [String], as user: String = "ada") async -> Answer {
            await server.respond(
                Question(
                    method: "POST", target: "/database/1/\(TestServer.container)/development/public/users/discover",
                    headers: ["Authorization": "Bearer \(server.names[user + ".device"] ?? "")"],
                    body: Array(#"{"lookupInfos":[\#(infos.joined(separator: ","))]}"#.utf8)))
        }
        let names = (0..<200).map { #"{"userRecordName":"_\#($0)"}"# }
        for _ in 0..<20 { #expect(await discover(names).status == 200) }
        // A minute's rate is 60,000, of which names took 200 a request: 100 addresses are more than the rest.
        let addresses = (0..<100).map { #"{"emailAddress":"\#($0)@example.com"}"# }
        #expect(await discover(addresses).status == 200)
        let refused = await discover(Array(addresses.prefix(1)))
        #expect(refused.status == 429 && refused.json?["users"] == nil)
        let seconds = try #require(refused.header("Retry-After").flatMap(Double.init))
        #expect(seconds > 35 && seconds < 50)
        #expect(await discover(names).status == 429)
        #expect(await discover(addresses, as: "bob").status == 200)
        server.clock.advance(seconds)
        #expect(await discover(Array(addresses.prefix(1))).status == 200)
    }

    /// The hash of a password costs more than everything besides.
    @Test func `an address that is taken or none is told before a password is hashed`() async throws {
        let server = try await TestServer()
        func cost(_ email: String) async -> (refusal: ServerErrorCode?, cost: Int) {
            let meter = WorkMeter()
            let refusal = await WorkMeter.$current.withValue(meter) { () -> ServerErrorCode? in
                do {
                    _ = try await AccountAPI.createAccount(
                        email: email, password: TestServer.password, in: server.cloud.registry, PasswordHasher(cost: .least))
                    return nil
                } catch { return (error as? ServerError)?.code }
            }
            return (refusal, meter.cost)
        }
        #expect(await cost("ada@example.com") == (.exists, Limits.requestCost))
        #expect(await cost("nobody") == (.badRequest, Limits.requestCost))
        #expect(await cost("carol@example.com") == (nil, Limits.requestCost + Limits.passwordCost))
        #expect(await cost("carol@example.com") == (.exists, Limits.requestCost))
    }

    @Test func `a query pays for what it looks at and does not answer`() async throws {
        let server = try await TestServer()
        let target = DatabaseTarget(container: TestServer.container, environment: .development, scope: .private)
        let ada = Caller(.user(server.names["ada.name"] ?? ""), client: .framework)
        let text = FieldValue.string(String(repeating: "x", count: 100_000))
        let save = RecordOperation(
            .create, RecordChange(recordName: "large", recordType: "Large", set: RecordFields([.init("text", text), .init("number", .int64(1))])))
        _ = try await server.cloud.modifyRecords(RecordsModifyRequest(operations: [save]), in: target, by: ada, digest: [])
        let filters = [QueryFilter(.equals, fieldName: "number", value: .int64(1)), QueryFilter(.notEquals, fieldName: "text", value: text)]
        let meter = WorkMeter()
        let answer = try await WorkMeter.$current.withValue(meter) {
            try await server.cloud.queryRecords(RecordsQueryRequest(query: Query(recordType: "Large", filters: filters)), in: target, by: ada)
        }
        #expect(answer.records.isEmpty && meter.cost > 100, "\(meter.cost)")
    }

    @Test func `a change pays for the records that it looks at, and not only for what it brings`() async throws {
        let server = try await TestServer()
        let target = DatabaseTarget(container: TestServer.container, environment: .development, scope: .private)
        let ada = Caller(.user(server.names["ada.name"] ?? ""), client: .framework)
        let large = RecordFields([.init("text", .string(String(repeating: "x", count: 400_000))), .init("number", .int64(1))])
        for number in 0..<3 {
            let save = RecordOperation(.create, RecordChange(recordName: "large\(number)", recordType: "Large", set: large))
            _ = try await server.cloud.modifyRecords(RecordsModifyRequest(operations: [save]), in: target, by: ada, digest: [])
        }
        func cost(of count: Int, _ type: OperationType) async throws -> Int {
            let small = RecordFields([.init("number", .int64(2))])
            let changes = (0..<count).map { RecordOperation(type, RecordChange(recordName: "large\($0)", recordType: "Large", set: small)) }
            let meter = WorkMeter()
            _ = try await WorkMeter.$current.withValue(meter) {
                try await server.cloud.modifyRecords(RecordsModifyRequest(operations: changes), in: target, by: ada, digest: [])
            }
            return meter.cost
        }
        #expect((400..<410).contains(try await cost(of: 1, .forceUpdate)))
        // Values over the writer's limit are read three times: until that shows, beside the writer, and by the
        // writer.
        #expect((3600..<3610).contains(try await cost(of: 3, .forceUpdate)))
        // Nothing of it is done: a conflict.
        #expect((400..<410).contains(try await cost(of: 1, .create)))
    }

    @Test func `a save pays for the rows of indexes that it writes and takes away`() async throws {
        let server = try await TestServer()
        let target = DatabaseTarget(container: TestServer.container, environment: .development, scope: .private)
        let ada = Caller(.user(server.names["ada.name"] ?? ""), client: .framework)
        func cost(of numbers: Int, _ type: OperationType) async throws -> Int {
            let change = RecordChange(
                recordName: "large", recordType: "Large", set: RecordFields([.init("numbers", .int64List((0..<numbers).map(Int64.init)))]))
            let meter = WorkMeter()
            _ = try await WorkMeter.$current.withValue(meter) {
                try await server.cloud.modifyRecords(
                    RecordsModifyRequest(operations: [RecordOperation(type, change)]), in: target, by: ada, digest: [])
            }
            return meter.cost
        }
        #expect(try await cost(of: 5000, .forceReplace) < 5000, "no query needed an index")
        _ = try await server.cloud.schemas.setIndexes(.queryable, of: "Large", field: "numbers", isNow: true, in: TestServer.container)
        while try await server.cloud.runDueTasks().taken > 0 {}
        #expect(try await cost(of: 1, .forceReplace) > 4990, "what goes")
        #expect(try await cost(of: 5000, .forceReplace) > 4990)
        #expect(try await cost(of: 1, .forceReplace) > 4990, "what goes, too")
    }

    @Test func `who has devices told of many changes pays for it, as for what its requests do, and nobody else`() async throws {
        let server = try await TestServer(requestRate: 100)
        try await server.prepareTypes(for: Body.modify("create", Body.note("n")), in: TestServer.container)
        func save(_ prefix: String, as user: String) async -> Int {
            await ask(server, "records/modify", Body.modify((0..<30).map { ("create", Body.note("\(prefix)\($0)")) }), as: user).status
        }
        for user in ["ada", "bob"] {
            for round in ["a", "b"] { #expect(await save(round, as: user) == 200) }
        }
        let subscriptions = (0..<50).map {
            let filter = #"{"fieldName":"title","comparator":"NOT_EQUALS","fieldValue":{"value":"\#($0)"}}"#
            let query = #""subscriptionType":"query","query":{"recordType":"Note","filterBy":\#(filter)},"firesOn":["create"]"#
            return #"{"operationType":"create","subscription":{"subscriptionID":"s\#($0)",\#(query)}}"#
        }
        let answer = await ask(server, "subscriptions/modify", #"{"operations":[\#(subscriptions.joined(separator: ","))]}"#)
        #expect(answer.status == 200 && !answer.text.contains("serverErrorCode"), "\(answer.text)")
        #expect(await save("c", as: "ada") == 200)
        #expect(await save("c", as: "bob") == 200)
        while try await server.cloud.runDueTasks().taken > 0 {}
        // Thirty changes against fifty subscriptions each time.
        #expect(await save("d", as: "ada") == 200)
        while try await server.cloud.runDueTasks().taken > 0 {}
        #expect(await save("e", as: "ada") == 429)
        #expect(await save("e", as: "bob") == 200)
        server.clock.advance(60)
        #expect(await save("f", as: "ada") == 200)
    }

    @Test func `who makes accounts or signs in pays for the work of a password`() async throws {
        let server = try await TestServer(opensSignUp: true, requestRate: 1)
        func ask(_ name: String, at address: String) async -> Answer {
            let body = #"{"email":"\#(name)@example.com","password":"\#(TestServer.password)"}"#
            return await Self.ask(server, Question(method: "POST", target: "/account/1/sign-up", body: Array(body.utf8)), at: address)
        }
        #expect(await ask("one", at: "192.0.2.1").status == 200)
        let refused = await ask("two", at: "192.0.2.1")
        #expect(refused.status == 429 && refused.json?["serverErrorCode"] == .string("THROTTLED"))
        #expect(await ask("three", at: "192.0.2.2").status == 200)
        server.clock.advance(Double(Limits.passwordCost))
        #expect(await ask("two", at: "192.0.2.1").status == 200)
    }

    @Test func `where no rate is set nobody is kept to one`() async throws {
        let server = try await TestServer(requestRate: nil)
        for _ in 0..<5 { #expect(await ask(server, "records/lookup", Self.lookup).status == 200) }
        let rates = RequestRates(perSecond: nil, clock: server.clock.serverClock)
        #expect(rates.payers(of: "192.0.2.1").isEmpty)
        #expect(rates.payers(of: Caller(.world), at: "192.0.2.1", in: Self.target, RateEntry()).isEmpty)
    }

    private static let target = DatabaseTarget(container: TestServer.container, environment: .development, scope: .public)

    /// Sends a request from an address.
    static func ask(_ server: TestServer, _ question: Question, at address: String) async -> Answer {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        inet_pton(AF_INET, address, &name.sin_addr)
        let peer = withUnsafePointer(to: &name) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { PeerAddress($0) } }
        return Answer(
            await server.router.respond(
                to: HTTPRequest(
                    head: question.inProcess.head, body: HTTPBody(question.body), peer: peer, identity: RequestID.random(),
                    ledger: RequestLedger(nil, Holder(.stranger, address)), proxies: TrustedProxies())))
    }

    /// Looks records up, as a guest with an API token, and as a user where one is named.
    private static func lookup(_ server: TestServer, token: String? = nil, user: String? = nil, at address: String, names: Int = 1) async -> Answer {
        var question = Question(
            method: "POST", target: "/database/1/\(TestServer.container)/development/public/records/lookup",
            body: Array(#"{"records":[\#((0..<names).map { #"{"recordName":"r\#($0)"}"# }.joined(separator: ","))]}"#.utf8))
        if let token { question.target += "?ckAPIToken=\(token)" }
        if let user { question.headers["Authorization"] = "Bearer \(server.names[user + ".device"] ?? "")" }
        return await ask(server, question, at: address)
    }

    @Test func `guests of an address spend its part, those of many addresses the part of guests, and users pay for themselves`() async throws {
        let server = try await TestServer(requestRate: 1)
        let token = try #require(server.names["api"])
        func spend(at address: String) async -> Int {
            var count = 0
            while await Self.lookup(server, token: token, at: address).status == 200, count < 2000 { count += 1 }
            return count
        }
        // A minute of 2 a second; a request is six.
        let first = await spend(at: "192.0.2.1")
        #expect((10...20).contains(first), "\(first)")
        #expect(await Self.lookup(server, token: token, at: "192.0.2.2").status == 200)
        var all = first
        for number in 2..<20 { all += await spend(at: "192.0.2.\(number)") }
        // A minute of 20 a second.
        #expect((100...208).contains(all), "\(all)")
        #expect(await Self.lookup(server, token: token, at: "192.0.2.200").status == 429)
        for address in ["192.0.2.1", "192.0.2.200"] {
            #expect(await Self.lookup(server, user: "ada", at: address).status == 200)
        }
        server.clock.advance(60)
        #expect(await Self.lookup(server, token: token, at: "192.0.2.200").status == 200)
    }

    @Test func `a made-up token is the key of nothing, and is paid for by its address as what it costs`() async throws {
        let server = try await TestServer(requestRate: 1)
        let most = 60 * Limits.requestRateOfAddress / (Limits.requestCost + Limits.unknownCredentialCost)
        var count = 0
        while await Self.lookup(server, token: "made-up-\(count)", at: "192.0.2.1").status != 429, count < 1000 { count += 1 }
        #expect((most - 1...most + 1).contains(count), "\(count)")
        #expect(await Self.lookup(server, token: "another", at: "192.0.2.2").status == 401)
        let rates = RequestRates(perSecond: 1, clock: TestClock().serverClock)
        #expect(rates.payers(of: "192.0.2.1").map(\.name) == ["192.0.2.1"])
    }

    @Test func `absent names are paid for with a tenth of what records are`() async throws {
        let server = try await TestServer(requestRate: 10)
        var count = 0
        // A minute of 20 a second for an address's guests. 200 records would cost 200 each time; names cost 20, and
        // request and answer as much again.
        let token = try #require(server.names["api"])
        while await Self.lookup(server, token: token, at: "192.0.2.1", names: 200).status == 200, count < 100 { count += 1 }
        #expect((20...40).contains(count), "\(count)")
    }

    @Test func `who pays is an address before anything is known, then a user, or those who have an API token alone, and the container`() throws {
        let clock = TestClock()
        let rates = RequestRates(perSecond: 1, clock: clock.serverClock)
        typealias Payer = RequestRates.Payer
        #expect(rates.payers(of: "192.0.2.1") == [Payer(kind: .address, name: "192.0.2.1", rate: 10)])
        for address in ["127.0.0.1", "::1", ""] { #expect(rates.payers(of: address).isEmpty) }
        let (here, container) = ("192.0.2.1", TestServer.container)
        func payers(_ caller: Caller, at address: String, _ own: RateEntry = RateEntry()) -> [Payer] {
            rates.payers(of: caller, at: address, in: Self.target, own)
        }
        let all = Payer(kind: .container, container: container, rate: 40)
        let user = Payer(kind: .user, container: container, name: "_a", rate: 1)
        let guests = Payer(kind: .guests, container: container, rate: 20)
        #expect(payers(Caller(.user("_a")), at: here) == [user, all])
        #expect(payers(Caller(.world), at: here) == [Payer(kind: .guest, container: container, name: here, rate: 2), guests, all])
        #expect(payers(Caller(.world), at: "127.0.0.1") == [guests, all], "this machine is everybody")
        #expect(payers(Caller(.world), at: here, RateEntry(containerRate: 0)).isEmpty)
        #expect(payers(Caller(.world), at: here, RateEntry(containerRate: 100)).map(\.rate) == [5, 50, 100])
        for (kind, rate) in [(Payer.Kind.user, 1), (.address, 10), (.guest, 2), (.guests, 20), (.container, 40)] {
            func payer(_ name: String) -> Payer { Payer(kind: kind, name: name, rate: rate) }
            rates.take(60 * rate - 1, from: [payer("x")])
            #expect(throws: Never.self) { try rates.require([payer("x")]) }
            rates.take(1, from: [payer("x")])
            #expect(throws: ServerError.tooManyRequests(seconds: 1)) { try rates.require([payer("x")]) }
            #expect(throws: Never.self) { try rates.require([payer("y")]) }
        }
        let debtor = Payer(kind: .user, name: "z", rate: 1)
        rates.take(600, from: [debtor])
        #expect(throws: ServerError.tooManyRequests(seconds: 540)) {
            try rates.require([Payer(kind: .address, name: "x", rate: 10), debtor])
        }
    }

    @Test func `strangers without end are forgotten, those who owe last`() {
        let rates = RequestRates(perSecond: 1, clock: TestClock().serverClock)
        let debtor = RequestRates.Payer(kind: .user, name: "debtor", rate: 1)
        rates.take(1000, from: [debtor])
        for number in 0..<50_001 { rates.take(0, from: [RequestRates.Payer(kind: .user, name: "\(number)", rate: 1)]) }
        #expect(throws: ServerError.self) { try rates.require([debtor]) }
    }
}
